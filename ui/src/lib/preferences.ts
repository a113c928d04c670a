// What the reader chose for this browser: theme and time zone. All tabs follow a change at once.
import { useSyncExternalStore } from 'react';
import { isZone } from './time';

export type Theme = 'system' | 'light' | 'dark';
export const THEMES: Theme[] = ['system', 'light', 'dark'];

const THEME = 'sprag.theme';
const ZONE = 'sprag.zone';
const listeners = new Set<() => void>();

function changed(): void {
  for (const listener of listeners) listener();
}

function keep(key: string, value: string): void {
  localStorage.setItem(key, value);
  applyTheme();
  changed();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

window.addEventListener('storage', () => {
  applyTheme();
  changed();
});

function theme(): Theme {
  const kept = localStorage.getItem(THEME) as Theme | null;
  return kept && THEMES.includes(kept) ? kept : 'system';
}

/** The zone of this computer. */
export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
}

function zone(): string {
  const kept = localStorage.getItem(ZONE);
  return kept && isZone(kept) ? kept : localZone();
}

/** Puts the chosen theme onto the page; without a choice the style sheet follows the system. */
export function applyTheme(): void {
  const chosen = theme();
  if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = chosen;
}

export function useTheme(): [Theme, (value: Theme) => void] {
  return [useSyncExternalStore(subscribe, theme), value => keep(THEME, value)];
}

export function useZone(): [string, (value: string) => void] {
  return [useSyncExternalStore(subscribe, zone), value => keep(ZONE, value)];
}
