// Views of one thing, of which one is shown. The keys move as in every list of tabs: arrows choose, Tab leaves the list.
import { type KeyboardEvent, type ReactNode, useId } from 'react';
import styles from './Tabs.module.css';

type Props = {
  label: string;
  tabs: Record<string, string>;
  chosen: string;
  onChoose: (tab: string) => void;
  children: ReactNode;
};

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

export function Tabs({ label, tabs, chosen, onChoose, children }: Props) {
  const id = useId();
  const names = Object.keys(tabs);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length];
    if (!next) return;
    onChoose(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div className="stack">
      <div role="tablist" aria-label={label} className={styles.tabs} onKeyDown={onKeyDown}>
        {names.map(name => (
          <button
            key={name}
            id={`${id}-${name}`}
            type="button"
            role="tab"
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            className={styles.tab}
            onClick={() => onChoose(name)}
          >
            {tabs[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} className={styles.panel}>
        {children}
      </div>
    </div>
  );
}
