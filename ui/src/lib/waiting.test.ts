// Why something waits, in words that name what it waits for.
import { expect, test } from 'vitest';
import { reasonOf, type Waiting } from './waiting';

const OWN = 'exe_01m7ts4jx5zyvsjnhzf5p8gfv3';

function reason(what: string, object: string) {
  return reasonOf({ state: 'waiting', for: what, object, since: 'x' } as Waiting);
}

test('every reason to wait has a sentence, and none repeats an id that says nothing', () => {
  const all = [
    'timer',
    'message',
    'permit',
    'rate',
    'runner',
    'dependency',
    'killSwitch',
    'pause',
    'circuit',
    'approval',
    'decision',
  ];
  for (const what of all) expect(reason(what, 'x')?.text.length, what).toBeGreaterThan(5);
  expect(reason('message', OWN)?.text).toBe('Waits for a message');
  expect(reason('circuit', 'shop.example')?.text).toContain('shop.example');
  expect(reason('permit', 'crm')?.to).toBe('/settings/limits');
  expect(reasonOf({ state: 'done' } as Waiting)).toBeNull();
});
