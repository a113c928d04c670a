// What changes: removed and added lines, with a sign, a word for screen readers, and a colour.
import { diffLines, hunks } from '@/lib/diff';
import { visible } from '@/lib/visible';
import styles from './Diff.module.css';

const SIGNS = { same: ' ', removed: '−', added: '+' } as const;

export function Diff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const lines = hunks(diffLines(asText(before), asText(after)));
  if (lines.every(line => line === null || line.kind === 'same')) return <p className="soft">Nothing changes.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be within reach of the keyboard
    <section className={styles.diff} aria-label={label} tabIndex={0}>
      {lines.map((line, index) =>
        line === null ? (
          <div key={index} className={styles.gap}>
            …
          </div>
        ) : (
          <div key={index} className={styles.line} data-kind={line.kind}>
            <span aria-hidden="true">{SIGNS[line.kind]}</span>
            {line.kind === 'same' ? null : <span className="hidden-text">{line.kind}: </span>}
            <span>{visible(line.text)}</span>
          </div>
        ),
      )}
    </section>
  );
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}
