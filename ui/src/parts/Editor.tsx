// The editor of machine files, loaded when it is first shown; and what the server says about the text.
import { lazy, Suspense, useEffect, useState } from 'react';
import { api, newKey, type Schemas, unwrap } from '@/api/client';
import { visible } from '@/lib/visible';
import styles from './Editor.module.css';
import { Loading } from './States';
import { Status } from './Status';

export type Finding = Schemas['Finding'];
export type EditorProps = {
  /** The text that it begins with. From then on the text belongs to the editor, so that no key is lost. */
  initial: string;
  label: string;
  findings?: Finding[];
  isReadOnly?: boolean;
  onChange?: (text: string) => void;
};

const CodeEditor = lazy(() => import('./editor/CodeEditor'));

export function Editor(props: EditorProps) {
  return (
    <div className={styles.editor}>
      <Suspense fallback={<Loading rows={8} />}>
        <CodeEditor {...props} />
      </Suspense>
    </div>
  );
}

/** How long the author pauses before the text is checked. */
const PAUSE_MS = 400;

export type Lint = { of: string; findings: Finding[]; isValid: boolean; isBusy: boolean; error: unknown };

/** A text as the body of a request: it is not JSON. */
export const AS_YAML = {
  headers: { 'Content-Type': 'application/yaml' },
  bodySerializer: (body: unknown) => body as string,
};

/** What the server finds in a machine file, again after every pause. */
export function useLint(text: string): Lint {
  const [lint, setLint] = useState<Lint>({ of: text, findings: [], isValid: false, isBusy: true, error: null });
  useEffect(() => {
    const abort = new AbortController();
    setLint(before => ({ ...before, isBusy: true }));
    const timer = setTimeout(() => {
      const headers = { ...AS_YAML.headers, 'Idempotency-Key': newKey() };
      unwrap(api.POST('/v1/machines/lint', { ...AS_YAML, headers, body: text as never, signal: abort.signal })).then(
        ({ findings, valid }) => setLint({ of: text, findings, isValid: valid, isBusy: false, error: null }),
        error => abort.signal.aborted || setLint({ of: text, findings: [], isValid: false, isBusy: false, error }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return lint;
}

export function Findings({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <ul className={styles.findings} aria-label="Findings">
      {findings.map((finding, index) => (
        <li key={index}>
          <Status status={finding.severity} /> <span className="soft">line {finding.line}</span>{' '}
          {visible(finding.detail)} <span className="soft">{visible(finding.remedy)}</span>
        </li>
      ))}
    </ul>
  );
}
