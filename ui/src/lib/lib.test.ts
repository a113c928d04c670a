// The small functions that pages are made of.
import { expect, test } from 'vitest';
import { changes } from '@/pages/deadletters/EditDialog';
import { grouped } from '@/pages/deadletters/groups';
import { frozen } from '@/pages/deadletters/RetryAll';
import { accepted, isActive, parseChart, runningDelays } from './chart';
import { diffLines, hunks } from './diff';
import { all, equals, quoted } from './filter';
import { pageOf } from './ids';
import { patched } from './patch';
import { absolute, brief, isZone, relative, took } from './time';
import { visible } from './visible';
import { parseDraft, toYaml } from './yaml';

const AT = Date.parse('2026-11-19T20:31:07Z');

test('an instant has one zone, which it names', () => {
  expect(absolute(AT, 'UTC')).toBe('2026-11-19 20:31:07 UTC');
  expect(absolute(AT, 'Asia/Kolkata')).toBe('2026-11-20 02:01:07 GMT+5:30');
  expect(absolute(AT, 'America/New_York')).toBe('2026-11-19 15:31:07 GMT-5');
});

test('the hour that a change of the clocks repeats has two names', () => {
  const first = Date.parse('2026-11-01T05:30:00Z');
  expect(absolute(first, 'America/New_York')).toBe('2026-11-01 01:30:00 GMT-4');
  expect(absolute(first + 3_600_000, 'America/New_York')).toBe('2026-11-01 01:30:00 GMT-5');
});

test('a time of today is short, and others have their date', () => {
  expect(brief(AT, AT + 1_000, 'UTC')).toBe('20:31:07');
  expect(brief(AT, AT + 86_400_000, 'UTC')).toBe('11-19 20:31:07');
  expect(brief(AT, AT + 400 * 86_400_000, 'UTC')).toBe('2026-11-19 20:31:07');
});

test('distances and durations are rounded to what matters', () => {
  expect(relative(AT, AT + 500)).toBe('now');
  expect(relative(AT, AT + 61_000)).toBe('1 min ago');
  expect(relative(AT + 7_200_000, AT)).toBe('in 2 h');
  expect([took(12), took(1_234), took(61_000), took(3_660_000)]).toEqual(['12 ms', '1.23 s', '1 min 1 s', '1 h 1 min']);
  expect([isZone('UTC'), isZone('Mars/Olympus'), isZone('')]).toEqual([true, false, false]);
});

test('a text in a filter cannot leave its quotes', () => {
  expect(quoted('a"b\\c\nd')).toBe('"a\\"b\\\\c\\nd"');
  expect(all([equals('machine', 'm'), 'a = 1 OR b = 2', '', null])).toBe('machine = "m" AND (a = 1 OR b = 2)');
});

test('a bulk action ends at the moment of its preview', () => {
  expect(frozen('a = 1 OR b = 2', AT)).toBe('(a = 1 OR b = 2) AND diedAt <= "2026-11-19T20:31:07.000Z"');
});

test('an id leads to its page, and other texts lead nowhere', () => {
  expect(pageOf('exe_01m7ts4jx5zyvsjnhzf5p8gfv3')).toBe('/executions/exe_01m7ts4jx5zyvsjnhzf5p8gfv3');
  expect(pageOf('order-1001')).toBeNull();
  expect(pageOf('exe_<script>')).toBeNull();
});

test('characters that hide or turn text are shown as their codes', () => {
  expect(visible('a\u202eb\u001b[31mc\u0000\u200bd\ne')).toBe('a⟨202e⟩b⟨1b⟩[31mc⟨00⟩⟨200b⟩d\ne');
});

const ORDER = parseDraft(`
id: order
initial: open
states:
  open:
    initial: asking
    on: { CANCEL: gone, done.pay: paid }
    after: { 3d: gone }
    states:
      asking: { on: { YES: { target: '#sure', guard: { '==': [1, 1] } }, NO: [gone] } }
      sure: { id: sure, always: paid }
  both:
    type: parallel
    states: { left: {}, right: {} }
  paid: { type: final }
  gone: { type: final }
`);

test('accepted messages are those of the active states and their parents', () => {
  const chart = parseChart(ORDER ?? {});
  expect(accepted(chart, ['open.asking'])).toEqual(['CANCEL', 'YES', 'NO']);
  expect(accepted(chart, ['paid'])).toEqual([]);
  expect(runningDelays(chart, ['open.asking'])).toEqual(['3d']);
  expect(isActive('open', ['open.asking'])).toBe(true);
  expect(isActive('ope', ['open.asking'])).toBe(false);
  expect(chart.children.map(child => child.kind)).toEqual(['compound', 'parallel', 'final', 'final']);
  expect(chart.children.map(child => child.isInitial)).toEqual([true, false, false, false]);
});

test('a machine as YAML says the same as its JSON', () => {
  expect(parseDraft(toYaml(ORDER))).toEqual(ORDER);
  expect(parseDraft('a: [')).toBeNull();
});

test('a patch is applied to a copy', () => {
  const before = { timeout: 1, retryPolicy: { errors: ['a'] } };
  const after = patched(before, [
    { op: 'replace', path: '/timeout', value: 2 as never },
    { op: 'add', path: '/retryPolicy/errors/-', value: 'b' as never },
    { op: 'add', path: '/a~1b', value: 3 as never },
  ]);
  expect(after).toEqual({ timeout: 2, retryPolicy: { errors: ['a', 'b'] }, 'a/b': 3 });
  expect(before.timeout).toBe(1);
});

test('an edit becomes a patch of the members that changed, and the patch makes the edit', () => {
  const before = { timeout: 1, config: { url: 'a', headers: { x: '[secret k]' }, gone: 1 } };
  const after = { timeout: 1, config: { url: 'b', headers: { x: '[secret k]' }, 'new/one': [1] } };
  const patch = changes(before, after);
  expect(patch.map(one => one.path)).toEqual(['/config/url', '/config/gone', '/config/new~1one']);
  expect(patched(before, patch)).toEqual(after);
});

test('a difference keeps what is common', () => {
  expect(diffLines('a\nb\nc', 'a\nx\nc').map(line => line.kind[0] + line.text)).toEqual(['sa', 'rb', 'ax', 'sc']);
  expect(diffLines('', '').every(line => line.kind === 'same')).toBe(true);
  const long = Array.from({ length: 50 }, (_, line) => `${line}`).join('\n');
  expect(hunks(diffLines(long, long.replace('\n25\n', '\nx\n'))).length).toBeLessThan(12);
});

test('dead letters with one cause are one group, the largest first', () => {
  const letter = (id: string, fingerprint?: string) =>
    ({ id, fingerprint, machine: 'm', actionId: 'a', lastError: null }) as never;
  const groups = grouped([letter('1', 'x'), letter('2', 'y'), letter('3', 'y'), letter('4')]);
  expect(groups.map(group => group.letters.length)).toEqual([2, 1, 1]);
  expect(groups[0]?.newest.id).toBe('2');
});
