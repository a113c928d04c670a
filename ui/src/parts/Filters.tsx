// The bar of filters over a list: a few common choices, and the full grammar for the rest. All of it is in the address.
import { type ReactNode, useEffect, useState } from 'react';
import { useParam } from '@/lib/url';
import styles from './Filters.module.css';

export function FilterBar({ children }: { children: ReactNode }) {
  return (
    <div className={styles.bar} role="search">
      {children}
    </div>
  );
}

type ChoiceProps = { name: string; label: string; options: readonly string[]; any?: string; otherwise?: string };

export function Choice({ name, label, options, any = `Any ${label.toLowerCase()}`, otherwise }: ChoiceProps) {
  const [value, setValue] = useParam(name, otherwise);
  return (
    <select aria-label={label} value={value} onChange={event => setValue(event.target.value)}>
      {otherwise === undefined ? <option value="">{any}</option> : null}
      {options.map(option => (
        <option key={option} value={option}>
          {option.replaceAll('_', ' ')}
        </option>
      ))}
    </select>
  );
}

type TextProps = { name: string; label: string; placeholder?: string; suggestions?: string[]; isWide?: boolean };

/** A text that counts once it is entered. */
export function Text({ name, label, placeholder, suggestions, isWide }: TextProps) {
  const [value, setValue] = useParam(name);
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return (
    <form
      className={isWide ? styles.wide : undefined}
      onSubmit={event => {
        event.preventDefault();
        setValue(typed.trim());
      }}
    >
      <input
        className={styles.text}
        aria-label={label}
        placeholder={placeholder ?? label}
        value={typed}
        spellCheck={false}
        list={suggestions ? `${name}-known` : undefined}
        onChange={event => setTyped(event.target.value)}
        onBlur={() => setValue(typed.trim())}
      />
      {suggestions ? (
        <datalist id={`${name}-known`}>
          {suggestions.map(one => (
            <option key={one} value={one} />
          ))}
        </datalist>
      ) : null}
    </form>
  );
}
