// What surrounds every page: the rail, the bar on top, the state of the connection, keys, and signing in.
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { NavLink, useLocation } from 'react-router';
import { useMe } from '@/api/me';
import { needsToken } from '@/api/problem';
import { ConnectionBanner } from './ConnectionBanner';
import { NAV } from './nav';
import { QueryBox } from './QueryBox';
import styles from './Shell.module.css';
import { Shortcuts } from './Shortcuts';
import { SignIn } from './SignIn';
import { ThemeSwitch, ZoneSwitch } from './Switches';

export function Shell({ children }: { children: ReactNode }) {
  const me = useMe();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  // The dialog stays while a token is tried, so that no key typed into it is lost.
  useEffect(() => {
    if (needsToken(me.error)) setRefusal(me.error);
    else if (me.isSuccess) setRefusal(null);
  }, [me.error, me.isSuccess]);
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes whenever another page opens
  useEffect(() => setMenuOpen(false), [pathname]);
  return (
    <div className={styles.shell}>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header className={styles.bar}>
        <button
          type="button"
          className={`plain ${styles.menu}`}
          aria-expanded={isMenuOpen}
          aria-controls="rail"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          Menu
        </button>
        <NavLink to="/" className={styles.brand}>
          Sprag
        </NavLink>
        <QueryBox />
        <div className={styles.switches}>
          <ZoneSwitch />
          <ThemeSwitch />
        </div>
        {me.data?.authentication ? <span className={styles.who}>{me.data.principal}</span> : null}
      </header>
      <nav id="rail" className={styles.rail} data-open={isMenuOpen} aria-label="Pages">
        <ul>
          {NAV.map(({ to, name, icon }) => (
            <li key={to}>
              <NavLink to={to} end={to === '/'} className={styles.item}>
                <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
                  <path
                    d={icon}
                    fill="none"
                    stroke="currentColor"
                    strokeWidth="1.5"
                    strokeLinecap="round"
                    strokeLinejoin="round"
                  />
                </svg>
                {name}
              </NavLink>
            </li>
          ))}
          <li className={styles.apart}>
            <a href="/api" className={styles.item}>
              <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
                <path d="M5 4 1 8l4 4M11 4l4 4-4 4" fill="none" stroke="currentColor" strokeWidth="1.5" />
              </svg>
              API
            </a>
          </li>
        </ul>
      </nav>
      <div className={styles.content}>
        <ConnectionBanner />
        <main id="main" ref={main} className={styles.main} tabIndex={-1}>
          {children}
        </main>
      </div>
      <Shortcuts />
      {refusal ? <SignIn error={refusal} /> : null}
    </div>
  );
}
