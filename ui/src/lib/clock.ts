// The time, as the server sees it: countdowns and ages must not depend on the clock of the computer that shows them.
import { useSyncExternalStore } from 'react';

/** A difference that may come from the way of the answer is none. */
const TOLERATED_MS = 2_000;
const TICK_MS = 1_000;

let offset = 0;
let tick = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** Learns the server's time from the header of an answer. */
export function noticeAnswer(date: string | null): void {
  const at = date ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(at)) return;
  const difference = at - Date.now();
  offset = Math.abs(difference) > TOLERATED_MS ? difference : 0;
}

export function now(): number {
  return Date.now() + offset;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    tick = now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time, again every second while the tab is visible. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => tick);
}
