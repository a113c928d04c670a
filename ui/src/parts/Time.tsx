// An instant: absolute in the reader's zone, and how long ago. A click copies it as RFC 3339.
import { useNow } from '@/lib/clock';
import { useZone } from '@/lib/preferences';
import { absolute, brief, relative } from '@/lib/time';
import { useCopy } from './copy';
import styles from './Time.module.css';

type Props = { at: string | null | undefined; form?: 'both' | 'brief' | 'relative' };

export function Time({ at, form = 'both' }: Props) {
  const [zone] = useZone();
  const now = useNow();
  const [copied, copy] = useCopy();
  if (!at) return <span className="soft">–</span>;
  const instant = Date.parse(at);
  const title = `${absolute(instant, zone)}\n${at}\nClick to copy`;
  return (
    <time className={styles.time} dateTime={at} title={title}>
      {/* The text can be copied by hand as well, so the button is not a stop of the keyboard in every row. */}
      <button type="button" className={styles.button} tabIndex={-1} onClick={() => copy(at)}>
        {form === 'relative' ? null : brief(instant, now, zone)}
        {form === 'both' ? ' ' : null}
        {form === 'brief' ? null : <span className={form === 'both' ? 'soft' : ''}>{relative(instant, now)}</span>}
        {copied ? <span className="soft"> copied</span> : null}
      </button>
    </time>
  );
}
