// The picture lights what is active, and draws text as text.
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { type Drawing, pathOf } from '@/lib/drawing';
import { Diagram } from './Diagram';

const area = (x: number, y: number) => ({ x, y, width: 100, height: 40 });

const DRAWING: Drawing = {
  width: 400,
  height: 200,
  text: { name: 13, nameRow: 24, note: 11, noteRow: 16, label: 12, labelRow: 16, inset: 10 },
  states: [
    { id: 'order', shape: 'compound', area: { x: 0, y: 0, width: 400, height: 200 }, name: 'order' },
    {
      id: 'open',
      parent: 0,
      shape: 'compound',
      area: { x: 10, y: 30, width: 200, height: 160 },
      name: 'open',
      dot: { x: 5, y: 60 },
    },
    {
      id: 'open.asking',
      parent: 1,
      shape: 'atomic',
      area: area(20, 60),
      name: '<b>asking</b>',
      notes: [{ kind: 'action', text: 'ask' }],
    },
    { id: 'openly', parent: 0, shape: 'final', area: area(280, 60), name: 'openly' },
  ],
  lines: [
    {
      from: 2,
      to: 3,
      event: 'YES',
      points: [
        { x: 120, y: 80 },
        { x: 200, y: 80 },
        { x: 200, y: 90 },
        { x: 280, y: 90 },
      ],
      label: { area: area(150, 70), rows: ['YES'] },
    },
  ],
  separators: [],
};

afterEach(cleanup);

function lit(): (string | null)[] {
  return [...document.querySelectorAll('[data-active="true"]')].map(state => state.getAttribute('data-state'));
}

test('an active state and the states around it are lit, and no others', () => {
  const { rerender } = render(<Diagram drawing={DRAWING} name="order" configuration={['open.asking']} />);
  expect(lit()).toEqual(['open', 'open.asking']);
  expect(screen.getByRole('img').getAttribute('aria-label')).toBe('Diagram of order, active: open.asking');
  rerender(<Diagram drawing={DRAWING} name="order" configuration={['openly']} />);
  expect(lit()).toEqual(['openly']);
});

test('names that look like markup are text', () => {
  render(<Diagram drawing={DRAWING} name="order" configuration={[]} />);
  expect(screen.getByText('<b>asking</b>')).toBeTruthy();
  expect(screen.getByText('YES')).toBeTruthy();
});

test('the reader enlarges the picture, and fits it again', () => {
  render(<Diagram drawing={DRAWING} name="order" configuration={[]} />);
  const box = () => screen.getByRole('img').getAttribute('viewBox');
  fireEvent.click(screen.getByRole('button', { name: 'Enlarge' }));
  expect(box()).toBe('40 20 320 160');
  fireEvent.click(screen.getByRole('button', { name: 'Fit' }));
  expect(box()).toBe('0 0 400 200');
});

test('corners are rounded by at most half of a side', () => {
  const [line] = DRAWING.lines;
  expect(pathOf(line?.points ?? [])).toBe('M120 80L192 80Q200 80 200 85L200 85Q200 90 208 90L280 90');
});
