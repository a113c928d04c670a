// What can be set: how pages look, kill switches with what they hold, limits, tokens, and who you are.
import type { ComponentType } from 'react';
import { NavLink, useParams } from 'react-router';
import { Page } from '@/parts/Page';
import NotFound from '../help/NotFound';
import { Display } from './Display';
import { Limits } from './Limits';
import styles from './Settings.module.css';
import { SwitchesPart } from './SwitchesPart';
import { Tokens } from './Tokens';

const PARTS: Record<string, [name: string, part: ComponentType]> = {
  display: ['Display', Display],
  switches: ['Kill switches', SwitchesPart],
  limits: ['Limits', Limits],
  tokens: ['Tokens', Tokens],
};

export default function Settings() {
  const { part = '' } = useParams();
  const [name, Part] = PARTS[part] ?? ['', null];
  if (!Part) return <NotFound />;
  return (
    <Page
      title="Settings"
      name={name}
      toolbar={
        <nav className={styles.tabs} aria-label="Settings">
          {Object.entries(PARTS).map(([path, [title]]) => (
            <NavLink key={path} to={`/settings/${path}`} className={styles.tab}>
              {title}
            </NavLink>
          ))}
        </nav>
      }
    >
      <Part />
    </Page>
  );
}
