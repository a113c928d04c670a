// One box for everything: an id, a key or a name opens with Enter; anything else becomes a list.
import { useId, useState } from 'react';
import { useNavigate } from 'react-router';
import { api, unwrap } from '@/api/client';
import { pageOf } from '@/lib/ids';
import { NAV } from './nav';
import styles from './QueryBox.module.css';

type Choice = { name: string; hint: string; to: string };

/** Where a text may lead without asking the server. */
export function choicesFor(text: string): Choice[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const page = pageOf(wanted);
  if (page) return [{ name: text.trim(), hint: 'Open', to: page }];
  const pages = NAV.filter(one => one.name.toLowerCase().includes(wanted));
  return [
    ...pages.map(({ name, to }) => ({ name, hint: 'Page', to })),
    { name: text.trim(), hint: 'Executions with this key', to: `/executions?key=${encodeURIComponent(text.trim())}` },
    {
      name: text.trim(),
      hint: 'Executions of this machine',
      to: `/executions?machine=${encodeURIComponent(text.trim())}`,
    },
  ];
}

/** The page of a key or a machine, if the server knows one. */
async function found(text: string): Promise<string> {
  const byKey = unwrap(api.GET('/v1/executions', { params: { query: { key: text, limit: 2 } } }));
  const machine = unwrap(api.GET('/v1/machines/{id}', { params: { path: { id: text } } })).catch(() => null);
  const [executions, known] = await Promise.all([byKey, machine]);
  const [first, second] = executions.data;
  if (first && !second) return `/executions/${first.id}`;
  if (known && !first) return `/machines/${encodeURIComponent(text)}`;
  return `/executions?key=${encodeURIComponent(text)}`;
}

export function QueryBox() {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const list = useId();
  const navigate = useNavigate();
  const choices = isOpen ? choicesFor(text) : [];
  const go = (to: string) => {
    setText('');
    setOpen(false);
    void navigate(to);
  };
  const enter = () => {
    const wanted = text.trim();
    const choice = choices[chosen] ?? (pageOf(wanted) ? choices[0] : undefined);
    if (choice) go(choice.to);
    else if (wanted) found(wanted).then(go, () => go(`/executions?key=${encodeURIComponent(wanted)}`));
  };
  const onKeyDown = (event: React.KeyboardEvent<HTMLInputElement>) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(choices.length - 1, chosen + 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(-1, chosen - 1));
    else if (event.key === 'Enter') enter();
    else if (event.key === 'Escape') event.currentTarget.blur();
    else return;
    event.preventDefault();
  };
  return (
    <div className={styles.box}>
      <input
        id="query"
        className={styles.input}
        type="search"
        placeholder="Id, key or machine   /"
        aria-label="Search for an id, a key or a machine"
        role="combobox"
        aria-expanded={choices.length > 0}
        aria-controls={list}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={event => {
          setText(event.target.value);
          setChosen(-1);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setOpen(false)}
      />
      <div id={list} role="listbox" aria-label="Where to go" className={styles.list} hidden={choices.length === 0}>
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the input
          <div
            key={choice.to}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={styles.option}
            onPointerDown={event => event.preventDefault()}
            onClick={() => go(choice.to)}
          >
            <span className={styles.name}>{choice.name}</span>
            <span className="soft">{choice.hint}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
