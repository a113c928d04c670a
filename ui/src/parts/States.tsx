// How a part of a page looks that is loading, empty, stale, refused or failed: each differently, each with what to do.
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiProblem, needsToken } from '@/api/problem';
import { useNow } from '@/lib/clock';
import { relative } from '@/lib/time';
import { visible } from '@/lib/visible';
import { Prose, sentence } from './Prose';
import styles from './States.module.css';
import { Mark } from './Status';

export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div className={styles.loading} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={styles.bar} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <p className={styles.title}>{title}</p>
      {children ? <div className="soft">{children}</div> : null}
    </div>
  );
}

/** A problem of the server with its fields, its findings, and the page that explains its code. */
export function ProblemNote({ error }: { error: unknown }) {
  if (!(error instanceof ApiProblem)) {
    return (
      <p className={styles.problem} role="alert">
        <Mark tone="bad" /> <span>{error instanceof Error ? sentence(error.message) : 'Something went wrong.'}</span>
      </p>
    );
  }
  const { title, detail, code, errors, findings } = error.problem;
  return (
    <div className={styles.problem} role="alert">
      <Mark tone="bad" />
      <div>
        <strong>{title}</strong>
        <p>
          <Prose text={detail} />
        </p>
        {errors.map(one => (
          <p key={one.pointer + one.detail}>
            <code>{visible(one.pointer || '/')}</code> <Prose text={one.detail} />
          </p>
        ))}
        {findings?.map(one => (
          <p key={one.pointer + one.code + one.line}>
            Line {one.line}: <Prose text={one.detail} /> <span className="soft">{visible(one.remedy)}</span>
          </p>
        ))}
        <Link to={`/help/${code}`}>About {code}</Link>
      </div>
    </div>
  );
}

type ShowProps<T> = {
  query: { data: T | undefined; error: unknown; isError: boolean; dataUpdatedAt: number; refetch: () => unknown };
  children: (data: T) => ReactNode;
  rows?: number;
};

/** The data of a query, or why there is none. */
export function Show<T>({ query, children, rows }: ShowProps<T>) {
  const { data, error, isError, dataUpdatedAt, refetch } = query;
  if (data !== undefined) {
    return (
      <>
        {isError ? <Stale since={dataUpdatedAt} error={error} onRetry={() => refetch()} /> : null}
        {children(data)}
      </>
    );
  }
  if (isError) return <Failed error={error} onRetry={() => refetch()} />;
  return <Loading rows={rows} />;
}

function Stale({ since, error, onRetry }: { since: number; error: unknown; onRetry: () => void }) {
  const age = relative(since, useNow());
  const why = error instanceof Error ? error.message : 'the server does not answer';
  return (
    <p className={styles.stale} role="status">
      <Mark tone="warning" />
      Shown as it was {age}: {why}.
      <button type="button" className="plain" onClick={onRetry}>
        Try again
      </button>
    </p>
  );
}

function Failed({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const status = error instanceof ApiProblem ? error.problem.status : 0;
  if (needsToken(error)) return <Empty title="Sign in to see this." />;
  if (status === 403) return <Refused error={error as ApiProblem} />;
  return (
    <div className="stack">
      <ProblemNote error={error} />
      {status === 404 ? null : (
        <div>
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

function Refused({ error }: { error: ApiProblem }) {
  return (
    <div className={styles.empty}>
      <p className={styles.title}>Your token may not see this.</p>
      <p className="soft">
        <Prose text={error.problem.detail} />
      </p>
      <Link to={`/help/${error.problem.code}`}>About {error.problem.code}</Link>
    </div>
  );
}
