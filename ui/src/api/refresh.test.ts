// Hints become refetches at a bounded rate.
import { expect, test } from 'vitest';
import { isAbout, keys } from './keys';
import { BURST, Bucket, RATE } from './refresh';

test('a page asks at most twice a second, after a first burst', () => {
  const bucket = new Bucket(0);
  let granted = 0;
  for (let ms = 0; ms < 10_000; ms += 10) if (bucket.take(ms)) granted += 1;
  expect(granted).toBeLessThanOrEqual(BURST + RATE * 10);
  expect(granted).toBeGreaterThan(RATE * 10 - 1);
});

test('a hint concerns its record, the lists of its kind, and the execution that it names', () => {
  const action = { kind: 'action', id: 'act_1', executionId: 'exe_1' };
  for (const key of [
    keys.action('act_1'),
    keys.deadLetter('act_1'),
    keys.actions({}),
    keys.queue,
    keys.explanation('exe_1'),
  ]) {
    expect(isAbout(key, action), JSON.stringify(key)).toBe(true);
  }
  for (const key of [keys.action('act_2'), keys.execution('exe_2'), keys.machines, keys.executions({})]) {
    expect(isAbout(key, action), JSON.stringify(key)).toBe(false);
  }
  expect(isAbout(keys.executions({ status: 'running' }), { kind: 'execution', id: 'exe_9' })).toBe(true);
});
