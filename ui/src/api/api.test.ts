// Requests that change something: sent again under one key, with their reason, by callers with the role.
import { afterEach, expect, test, vi } from 'vitest';
import { newKey, reasonHeader } from './client';
import { type Me, whyNot } from './me';
import { ApiProblem, NoAnswer, problemOf } from './problem';
import { has, rolesOf, takes } from './routes';
import { persist } from './write';

afterEach(() => vi.useRealTimers());

test('a request without an answer is sent again under the same key', async () => {
  vi.useFakeTimers();
  const keys: (string | undefined)[] = [];
  const sent = persist(async headers => {
    keys.push(headers['Idempotency-Key']);
    if (keys.length < 3) throw new NoAnswer('the server does not answer');
    return 'done';
  });
  await vi.runAllTimersAsync();
  expect(await sent).toBe('done');
  expect(new Set(keys).size).toBe(1);
  expect(keys.length).toBe(3);
});

test('a refusal is not sent again', async () => {
  let count = 0;
  const refused = problemOf({ code: 'conflict', detail: 'no' }, new Response(null, { status: 409 }));
  const sent = persist(async () => {
    count += 1;
    throw refused;
  });
  await expect(sent).rejects.toBe(refused);
  expect(count).toBe(1);
});

test('an answer without a problem document is a problem too', () => {
  const problem = problemOf('<html>', new Response(null, { status: 502, statusText: 'Bad Gateway' }));
  expect(problem).toBeInstanceOf(ApiProblem);
  expect(problem.problem).toMatchObject({ status: 502, title: 'Bad Gateway', retryable: true });
});

test('each key is another one, and a reason keeps its letters', () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(newKey()).not.toBe(newKey());
  const header = reasonHeader('Grüße €')['Sprag-Reason'] ?? '';
  const bytes = Uint8Array.from(header, character => character.charCodeAt(0));
  expect(new TextDecoder().decode(bytes)).toBe('Grüße €');
  expect(reasonHeader('  ')).toEqual({});
});

test('a caller without the role learns which one it needs', () => {
  const me = (roles: string[], authentication = true) =>
    ({ principal: 'p', roles, scopes: {}, authentication, demo: false }) as Me;
  const route = 'POST /v1/executions';
  expect(whyNot(me(['viewer']), route)).toBe('Needs the role operator.');
  for (const allowed of [me(['viewer', 'operator']), me(['admin']), me([], false), undefined])
    expect(whyNot(allowed, route)).toBeNull();
});

test('what the document does not name is left out', () => {
  expect(has('GET /v1/executions')).toBe(true);
  expect(has('GET /v1/nothing')).toBe(false);
  expect(takes('GET /v1/machines/{id}/diagram', 'format', 'svg')).toBe(true);
  expect(takes('GET /v1/machines/{id}/diagram', 'format', 'crayon')).toBe(false);
  expect(takes('GET /v1/executions', 'colour')).toBe(false);
  expect(rolesOf('POST /v1/workflows/{id}/cancel')).toEqual(['operator', 'proposer']);
});
