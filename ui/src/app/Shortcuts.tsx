// Keys: `/` to the query box, `?` for this list, `g` and a letter to a page, `j` and `k` through a list. Letters typed into a
// control are text.
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { Dialog } from '@/parts/Dialog';
import { NAV } from './nav';

/** How long a `g` waits for its letter. */
const CHORD_MS = 1_500;

const KEYS: [string, string][] = [
  ['/', 'Search'],
  ['?', 'Show these keys'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['Esc', 'Close'],
  ...NAV.map(({ letter, name }): [string, string] => [`g ${letter}`, name]),
];

export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  if (!element?.closest) return false;
  return element.closest('input, select, textarea, [contenteditable], dialog, [data-takes-keys]') !== null;
}

function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row-link]')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}

export function Shortcuts() {
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    let chordUntil = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const page = performance.now() < chordUntil ? NAV.find(one => one.letter === event.key) : undefined;
      chordUntil = event.key === 'g' ? performance.now() + CHORD_MS : 0;
      if (page) void navigate(page.to);
      else if (event.key === '/') document.getElementById('query')?.focus();
      else if (event.key === '?') setOpen(true);
      else if (event.key === 'j') step(1);
      else if (event.key === 'k') step(-1);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate]);
  if (!isOpen) return null;
  return (
    <Dialog title="Keys" onClose={() => setOpen(false)}>
      <table>
        <tbody>
          {KEYS.map(([key, does]) => (
            <tr key={key}>
              <th scope="row">
                <kbd className="mono">{key}</kbd>
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
