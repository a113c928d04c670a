// The log of a service: its last lines, and new ones while the page is seen. All of it is text.
import { useEffect, useRef, useState } from 'react';
import { api, unwrap } from '@/api/client';
import { visible } from '@/lib/visible';
import { Section } from '@/parts/Page';
import { ProblemNote } from '@/parts/States';
import styles from './Supervision.module.css';

const LINES = 200;
const AGAIN_MS = 2_000;
/** Characters that are kept; older ones go. */
const KEPT = 100_000;

/** Colours that programs write for a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

export function Log({ path }: { path: string }) {
  const [isFollowing, setFollowing] = useState(true);
  const { text, error } = useLog(path, isFollowing);
  const end = useRef<HTMLPreElement>(null);
  const [wanted, setWanted] = useState('');
  const lines = text.replace(ESCAPES, '').split('\n');
  const shown = wanted ? lines.filter(line => line.toLowerCase().includes(wanted.toLowerCase())) : lines;
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text moves to the end
  useEffect(() => {
    if (isFollowing && end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [text, isFollowing]);
  return (
    <Section
      title="Log"
      actions={
        <span className="row">
          <input
            aria-label="Find in the log"
            placeholder="Find"
            value={wanted}
            onChange={event => setWanted(event.target.value)}
          />
          <label>
            <input type="checkbox" checked={isFollowing} onChange={event => setFollowing(event.target.checked)} />{' '}
            Follow
          </label>
        </span>
      }
    >
      {error ? <ProblemNote error={error} /> : null}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be within reach of the keyboard */}
      <pre ref={end} className={styles.log} tabIndex={0} role="log" aria-label="Log">
        {visible(shown.join('\n')) || (wanted ? 'No line matches.' : 'Nothing yet.')}
      </pre>
    </Section>
  );
}

function useLog(path: string, isFollowing: boolean): { text: string; error: unknown } {
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>(null);
  const offset = useRef<number | undefined>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another service has another log
  useEffect(() => {
    setText('');
    offset.current = undefined;
  }, [path]);
  useEffect(() => {
    const abort = new AbortController();
    const read = async () => {
      if (document.hidden) return;
      const query = offset.current === undefined ? { lines: LINES } : { after: offset.current };
      const params = { path: { path }, query };
      const part = await unwrap(api.GET('/v1/workers/{path}/logs', { params, signal: abort.signal }));
      offset.current = part.offset;
      setText(before => (before + part.text).slice(-KEPT));
      setError(null);
    };
    const attempt = () => read().catch(failure => abort.signal.aborted || setError(failure));
    void attempt();
    const timer = isFollowing ? setInterval(attempt, AGAIN_MS) : undefined;
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [path, isFollowing]);
  return { text, error };
}
