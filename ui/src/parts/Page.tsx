// The frame of a page: its heading, what can be done, and how old its data is.
import { type ReactNode, useEffect } from 'react';
import { Outlet, useMatch } from 'react-router';
import { useNow } from '@/lib/clock';
import { relative } from '@/lib/time';
import styles from './Page.module.css';

type Props = {
  title: string;
  /** In the tab of the browser, if the heading is not a good name. */
  name?: string;
  updatedAt?: number;
  actions?: ReactNode;
  toolbar?: ReactNode;
  isList?: boolean;
  children: ReactNode;
};

export function Page({ title, name, updatedAt, actions, toolbar, isList, children }: Props) {
  useEffect(() => {
    document.title = `${name ?? title} · Sprag`;
  }, [name, title]);
  return (
    <div className={isList ? `${styles.page} ${styles.list}` : styles.page}>
      <header className={styles.header}>
        <h1 tabIndex={-1}>{title}</h1>
        {updatedAt ? <Age at={updatedAt} /> : null}
        {actions ? <div className={styles.actions}>{actions}</div> : null}
      </header>
      {toolbar}
      {children}
    </div>
  );
}

/** When the data was read, by this computer's clock. */
function Age({ at }: { at: number }) {
  useNow();
  return <span className={styles.age}>updated {relative(at, Date.now())}</span>;
}

/** A list with the details of one row beside it, or in its place where the screen is narrow. */
export function Split({ pattern, children }: { pattern: string; children: ReactNode }) {
  const isOpen = useMatch(pattern) !== null;
  return (
    <div className={styles.split} data-open={isOpen}>
      <div className={styles.master}>{children}</div>
      {isOpen ? (
        <section className={styles.detail} aria-label="Details">
          <Outlet />
        </section>
      ) : null}
    </div>
  );
}

export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={styles.section}>
      <header className={styles.sectionHeader}>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

export type Fact = [name: string, value: ReactNode];

/** Names with their values, side by side. Facts without a value are left out. */
export function Facts({ of }: { of: Fact[] }) {
  return (
    <dl className={styles.facts}>
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className={styles.fact}>
            <dt className="soft">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
