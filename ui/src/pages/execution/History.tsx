// The history of an execution as a list of sentences. An entry can be chosen: it opens its details and lights its states.
import { useEffect, useRef, useState } from 'react';
import { visible } from '@/lib/visible';
import { Code } from '@/parts/Code';
import { Show } from '@/parts/States';
import { Mark, type Tone } from '@/parts/Status';
import { Time } from '@/parts/Time';
import styles from './History.module.css';
import type { HistoryEntry, HistoryResult } from './past';

type Props = { history: HistoryResult; selected: number | null; onSelect: (sequence: number | null) => void };

/** Entries that are drawn at once. */
const DRAWN = 200;

export function History({ history, selected, onSelect }: Props) {
  const [drawn, setDrawn] = useState(DRAWN);
  return (
    <Show query={history}>
      {entries => {
        const newestFirst = entries.toReversed();
        const numbers = entries.map(entry => entry.sequence);
        return (
          <div className="stack">
            {entries.length > 2 ? <Slider numbers={numbers} selected={selected} onSelect={onSelect} /> : null}
            <ol className={styles.list} aria-label="History, newest first">
              {newestFirst.slice(0, drawn).map(entry => (
                <Entry
                  key={entry.sequence}
                  entry={entry}
                  isSelected={entry.sequence === selected}
                  onSelect={onSelect}
                />
              ))}
            </ol>
            {newestFirst.length > drawn ? (
              <button type="button" onClick={() => setDrawn(drawn + DRAWN)}>
                Show {Math.min(DRAWN, newestFirst.length - drawn)} more
              </button>
            ) : null}
            {history.hasNextPage ? (
              <button type="button" disabled={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
                {history.isNewestFirst ? 'Read older entries' : 'Read newer entries'}
              </button>
            ) : null}
          </div>
        );
      }}
    </Show>
  );
}

function Slider({
  numbers,
  selected,
  onSelect,
}: {
  numbers: number[];
  selected: number | null;
  onSelect: Props['onSelect'];
}) {
  const last = numbers.length - 1;
  const at = selected === null ? last : numbers.indexOf(selected);
  return (
    <input
      type="range"
      className={styles.slider}
      aria-label="Entry of the history"
      aria-valuetext={selected === null ? 'now' : `entry ${selected}`}
      min={0}
      max={last}
      value={at < 0 ? last : at}
      onChange={event => {
        const index = Number(event.target.value);
        onSelect(index === last ? null : (numbers[index] ?? null));
      }}
    />
  );
}

function Entry({
  entry,
  isSelected,
  onSelect,
}: {
  entry: HistoryEntry;
  isSelected: boolean;
  onSelect: Props['onSelect'];
}) {
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isSelected) place.current?.scrollIntoView?.({ block: 'nearest' });
  }, [isSelected]);
  const { tone, text } = told(entry);
  return (
    <li ref={place} className={styles.entry} data-selected={isSelected}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={isSelected}
        data-row-link
        onClick={() => onSelect(isSelected ? null : entry.sequence)}
      >
        <span className={styles.number}>{entry.sequence}</span>
        <Mark tone={tone} />
        <span className={styles.text}>{visible(text)}</span>
      </button>
      <span className={styles.time}>
        <Time at={entry.at} form="brief" />
      </span>
      {isSelected ? <Details entry={entry} /> : null}
    </li>
  );
}

function Details({ entry }: { entry: HistoryEntry }) {
  return (
    <div className={styles.details}>
      {entry.kind === 'step'
        ? entry.microsteps.map((step, index) => (
            <p key={index} className="soft">
              {step.event ? <code>{visible(step.event)}</code> : 'without an event'}
              {step.exited.length > 0 ? `, left ${step.exited.join(', ')}` : ''}
              {step.entered.length > 0 ? `, entered ${step.entered.join(', ')}` : ''}
            </p>
          ))
        : null}
      {entry.kind === 'step' && entry.variables ? (
        <Code value={entry.variables} label="Variables that changed" />
      ) : null}
      <Code value={entry} label="The whole entry" name={`entry-${entry.sequence}.json`} />
    </div>
  );
}

function told(entry: HistoryEntry): { tone: Tone; text: string } {
  switch (entry.kind) {
    case 'step': {
      const entered = entry.microsteps.flatMap(step => step.entered);
      const to = entered.length > 0 ? ` → ${entered.at(-1)}` : '';
      if (!entry.handled) return { tone: 'off', text: `${caused(entry.cause)}: ignored` };
      return { tone: toneOfCause(entry.cause), text: caused(entry.cause) + to };
    }
    case 'refused':
      return { tone: 'warning', text: `${caused(entry.cause)}: refused, ${entry.error}` };
    case 'stuck':
      return { tone: 'bad', text: `${caused(entry.cause)}: the decision failed, ${entry.error}` };
    case 'migrated':
      return { tone: 'good', text: `Migrated from version ${entry.from} to ${entry.to}` };
    case 'snapshot':
      return { tone: 'off', text: 'Older entries were removed; this is the state after them' };
    default:
      return { tone: entry.kind === 'resumed' ? 'good' : 'warning', text: sentenceOf(entry.kind) };
  }
}

function sentenceOf(kind: string): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}

type Cause = Extract<HistoryEntry, { kind: 'step' }>['cause'];

function caused(cause: Cause): string {
  switch (cause.cause) {
    case 'start':
      return 'Started';
    case 'message':
      return `Message ${cause.type}`;
    case 'timer':
      return 'A delay ended';
    case 'occurrence':
      return `The schedule of ${cause.action} was due`;
    case 'ended':
      return cause.how === 'failed' && cause.error
        ? `Action ${cause.actionId} failed: ${cause.error.type}`
        : `Action ${cause.actionId} ${cause.how === 'done' ? 'succeeded' : `was ${cause.how}`}`;
  }
}

function toneOfCause(cause: Cause): Tone {
  if (cause.cause === 'ended') return cause.how === 'failed' ? 'bad' : cause.how === 'done' ? 'good' : 'off';
  return 'busy';
}
