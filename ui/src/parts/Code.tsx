// Data from outside, as text: capped, with its size, to copy and to download byte by byte.
import { useMemo, useState } from 'react';
import { visible } from '@/lib/visible';
import styles from './Code.module.css';
import { useCopy } from './copy';

/** Characters that are drawn at once. */
const SHOWN_MAX = 20_000;

type Props = { value: unknown; name?: string; label?: string };

export function Code({ value, name = 'value.json', label }: Props) {
  const text = useMemo(() => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'null')), [value]);
  const [isWhole, setWhole] = useState(false);
  const [copied, copy] = useCopy();
  const isCut = text.length > SHOWN_MAX && !isWhole;
  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>
        <span className="soft">
          {label ? `${label}, ` : ''}
          {size(text)}
        </span>
        <button type="button" className="plain" onClick={() => copy(text)}>
          {copied ? 'Copied' : 'Copy'}
        </button>
        <button type="button" className="plain" onClick={() => download(name, text)}>
          Download
        </button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be within reach of the keyboard */}
      <pre className={styles.text} tabIndex={0} role="region" aria-label={label ?? 'Value'}>
        {visible(isCut ? text.slice(0, SHOWN_MAX) : text)}
      </pre>
      {isCut ? (
        <button type="button" className="plain" onClick={() => setWhole(true)}>
          Show all {size(text)}
        </button>
      ) : null}
    </figure>
  );
}

export function size(text: string): string {
  const bytes = new TextEncoder().encode(text).length;
  return bytes < 10_000 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(0)} KiB`;
}

function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text]));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
