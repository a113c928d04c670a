// A status is a shape, a colour and a word: never a colour alone.
import styles from './Status.module.css';

export type Tone = 'good' | 'busy' | 'waiting' | 'warning' | 'bad' | 'off';

const TONES: Record<string, Tone> = {
  // executions and jobs
  running: 'busy',
  paused: 'warning',
  completed: 'good',
  failed: 'bad',
  cancelled: 'off',
  // actions
  scheduled: 'waiting',
  queued: 'waiting',
  retrying: 'warning',
  succeeded: 'good',
  dead: 'bad',
  skipped: 'off',
  archived: 'off',
  // workflows
  pending: 'waiting',
  awaiting_approval: 'warning',
  in_progress: 'busy',
  rejected: 'bad',
  expired: 'off',
  // services
  starting: 'busy',
  stopping: 'waiting',
  stopped: 'off',
  degraded: 'warning',
  healthy: 'good',
  // switches and nodes
  arming: 'waiting',
  effective: 'warning',
  unmatched: 'off',
  releasing: 'busy',
  released: 'good',
  alive: 'good',
  leaving: 'waiting',
  gone: 'bad',
  // attempts and job items
  done: 'good',
  notDone: 'bad',
  unknown: 'warning',
  retried: 'good',
  passed: 'good',
  // risks and severities
  low: 'off',
  medium: 'waiting',
  high: 'warning',
  critical: 'bad',
  error: 'bad',
  // circuits
  closed: 'good',
  open: 'bad',
};

const WORDS: Record<string, string> = {
  awaiting_approval: 'awaiting approval',
  in_progress: 'in progress',
  notDone: 'not done',
};

export function toneOf(status: string): Tone {
  return TONES[status] ?? 'waiting';
}

/** One shape for each tone, in a box of 12. */
const SHAPES: Record<Tone, React.ReactNode> = {
  good: <path d="M2 6.5 5 9.5 10.5 3" fill="none" stroke="currentColor" strokeWidth="2" />,
  busy: <path d="M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1Zm0 2v6a3 3 0 0 0 0-6Z" fill="currentColor" />,
  waiting: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2" />,
  warning: <path d="M6 1 11.5 11H.5Z" fill="currentColor" />,
  bad: <path d="M3.5 1h5L11 3.5v5L8.5 11h-5L1 8.5v-5Z" fill="currentColor" />,
  off: <path d="M2 6h8" stroke="currentColor" strokeWidth="2" />,
};

export function Mark({ tone }: { tone: Tone }) {
  return (
    <svg className={styles.mark} data-tone={tone} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      {SHAPES[tone]}
    </svg>
  );
}

export function Status({ status, tone, word }: { status: string; tone?: Tone; word?: string }) {
  const shown = tone ?? toneOf(status);
  return (
    <span className={styles.status} data-tone={shown}>
      <Mark tone={shown} />
      {word ?? WORDS[status] ?? status}
    </span>
  );
}
