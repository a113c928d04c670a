// What hurts most comes first, and what is fixed is not listed.
import { expect, test } from 'vitest';
import { type Found, problemsOf } from './problems';

const NOTHING: Found = { dead: [], failed: [], paused: [], approvals: [], switches: [], workers: [], notes: [] };

const worker = (path: string, state: string, circuit = 'closed') =>
  ({ path, state, circuit, reason: 'why', since: '2026-11-19T20:00:00Z', waiting: null }) as never;

test('a healthy server has no problems', () => {
  const healthy = { ...NOTHING, workers: [worker('broker', 'running')], switches: [{ status: 'released' } as never] };
  expect(problemsOf(healthy)).toEqual([]);
});

test('problems are ranked by what they hurt, and lead to their page', () => {
  const letter = {
    id: 'act_1',
    fingerprint: 'f',
    machine: 'm',
    actionId: 'a',
    lastError: { type: 'timeout', message: 'slow' },
    diedAt: 'x',
  };
  const found: Found = {
    ...NOTHING,
    dead: [letter, { ...letter, id: 'act_2' }] as never,
    paused: [{ id: 'exe_1', machine: 'm', key: 'k', updatedAt: 'x' }] as never,
    approvals: [{ id: 'wfl_1', name: 'drain', riskLevel: 'high', proposer: 'p', reason: 'r', createdAt: 'x' }] as never,
    switches: [{ id: 'swi_1', scope: 'all', reason: 'r', status: 'effective', since: 'x' }] as never,
    workers: [worker('a', 'degraded'), worker('b', 'failed'), worker('c', 'running', 'open')],
  };
  const problems = problemsOf(found);
  expect(problems.map(problem => problem.title)).toEqual([
    'b is failed',
    '2 dead letters of m/a',
    'a is degraded',
    'c is running',
    'The kill switch all is effective',
    'drain waits for approval',
    'm, k is paused',
  ]);
  expect(problems[1]).toMatchObject({ cause: 'timeout: slow', to: '/dead-letters/act_1', tone: 'bad' });
});
