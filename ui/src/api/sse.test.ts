// Events come whole, wherever the pieces of a stream end.
import { expect, test } from 'vitest';
import { EventParser } from './sse';

const TEXT = ': alive\n\nevent: hint\ndata: {"kind":"execution"}\n\nid: 41\nevent: history\ndata: a\ndata: b\n\n';

test('a stream gives the same events wherever its pieces end', () => {
  const whole = new EventParser().feed(TEXT);
  expect(whole).toEqual([
    { event: 'hint', data: '{"kind":"execution"}', id: null },
    { event: 'history', data: 'a\nb', id: '41' },
  ]);
  for (let cut = 1; cut < TEXT.length; cut += 1) {
    const parser = new EventParser();
    expect([...parser.feed(TEXT.slice(0, cut)), ...parser.feed(TEXT.slice(cut))]).toEqual(whole);
  }
});

test('lines may end with a carriage return and a line feed', () => {
  expect(new EventParser().feed('data: x\r\n\r\n')).toEqual([{ event: 'message', data: 'x', id: null }]);
});
