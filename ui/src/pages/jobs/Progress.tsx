// How far a job is: a bar where the number to expect is known, and the counts in words.
import type { Schemas } from '@/api/client';
import styles from './Progress.module.css';

type Job = Schemas['Job'];

export function Progress({ job: { counts, expected } }: { job: Job }) {
  const settled = counts.done + counts.skipped + counts.failed;
  const total = expected && !expected.more ? expected.count : undefined;
  return (
    <span className={styles.progress}>
      {total ? <progress className={styles.bar} max={total} value={settled} aria-label="Progress" /> : null}
      <span>
        {settled}
        {total === undefined ? '' : ` of ${total}`}
      </span>
    </span>
  );
}
