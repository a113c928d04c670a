// Runs a machine without effects: click an event, and see which states it leads to and what would act.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, newKey, type Schemas, unwrap } from '@/api/client';
import { accepted, runningDelays, type StateNode } from '@/lib/chart';
import { parseObject } from '@/lib/json';
import { visible } from '@/lib/visible';
import { Chart } from '@/parts/Chart';
import { Code } from '@/parts/Code';
import { Show } from '@/parts/States';
import { Mark } from '@/parts/Status';
import { Field } from '@/parts/Verb';
import styles from './Simulation.module.css';

type Input = Schemas['SimulatedInput'];
type Line = Schemas['SimulationLine'];
type Props = { of: { machine: string; version: number } | { definition: string }; chart: StateNode };

export function Simulation({ of, chart }: Props) {
  const [events, setEvents] = useState<Input[]>([]);
  const [typed, setTyped] = useState('{}');
  const [start, setStart] = useState<Record<string, unknown>>({});
  const simulation = useQuery<{ data: Line[] }>({
    queryKey: ['simulation', of, events, start],
    placeholderData: before => before,
    queryFn: ({ signal }) =>
      unwrap(
        api.POST('/v1/machines/simulate', {
          body: { ...of, events, key: 'example', variables: start as Record<string, never> },
          headers: { 'Idempotency-Key': newKey() },
          signal,
        }),
      ),
  });
  const add = (event: Input) => setEvents([...events, event]);
  const change = (text: string) => {
    setTyped(text);
    const { value } = parseObject(text);
    if (value) setStart(value);
  };
  return (
    <div className="stack">
      <details>
        <summary>Variables at the start</summary>
        <Field label="Variables, as JSON" note={parseObject(typed).error}>
          {id => (
            <textarea
              id={id}
              className="code"
              rows={4}
              spellCheck={false}
              value={typed}
              onChange={event => change(event.target.value)}
            />
          )}
        </Field>
      </details>
      <Show query={simulation}>
        {({ data }) => {
          const last = data.at(-1);
          if (!last) return null;
          return (
            <div className={styles.columns}>
              <div className="stack">
                <Inputs line={last} lines={data} chart={chart} onInput={add} />
                <Chart root={chart} configuration={last.configuration} />
              </div>
              <div className="stack">
                <div className="row">
                  <h2>What happened</h2>
                  <button type="button" disabled={events.length === 0} onClick={() => setEvents(events.slice(0, -1))}>
                    Back one
                  </button>
                  <button type="button" disabled={events.length === 0} onClick={() => setEvents([])}>
                    Begin again
                  </button>
                </div>
                <ol className={styles.lines}>
                  {data.map((line, index) => (
                    <li key={index}>
                      <Told line={line} />
                    </li>
                  ))}
                </ol>
                <Code value={last.variables} label="Variables" />
              </div>
            </div>
          );
        }}
      </Show>
    </div>
  );
}

function Told({ line }: { line: Line }) {
  return (
    <span>
      <Mark tone={line.error ? 'bad' : line.handled || line.event === null ? 'good' : 'off'} />{' '}
      <strong>{line.event === null ? 'Start' : visible(line.event)}</strong> → {line.configuration.join(', ')}
      {line.event !== null && !line.handled && !line.error ? ' (ignored)' : ''}
      {line.actions.length > 0 ? <span className="soft">, would run {line.actions.join(', ')}</span> : null}
      {line.error ? (
        <span className="bad">
          {' '}
          {line.error}: {visible(line.detail ?? '')}
        </span>
      ) : null}
    </span>
  );
}

/** Actions that were triggered and have not ended, as far as the lines tell. */
export function openActions(lines: Pick<Line, 'actions' | 'event'>[]): string[] {
  const open = new Set<string>();
  for (const { actions, event } of lines) {
    const ended = /^(?:done|failed)\.(.+)$/.exec(event ?? '')?.[1];
    if (ended) open.delete(ended);
    for (const action of actions) open.add(action);
  }
  return [...open];
}

type InputsProps = { line: Line; lines: Line[]; chart: StateNode; onInput: (input: Input) => void };

function Inputs({ line, lines, chart, onInput }: InputsProps) {
  const messages = accepted(chart, line.configuration).filter(one => one !== '*');
  const delays = runningDelays(chart, line.configuration);
  const actions = openActions(lines);
  if (line.output !== undefined) return <p>The execution is completed.</p>;
  return (
    <div className="row" role="group" aria-label="Events">
      {messages.map(type => (
        <button key={type} type="button" onClick={() => onInput({ type })}>
          {type}
        </button>
      ))}
      {delays.map(delay => (
        <button key={delay} type="button" onClick={() => onInput({ advance: delay })}>
          Wait {delay}
        </button>
      ))}
      {actions.map(action => (
        <span key={action} className={styles.pair}>
          <button type="button" onClick={() => onInput({ outcome: action, success: true })}>
            {action} succeeds
          </button>
          <button type="button" onClick={() => onInput({ outcome: action, success: false })}>
            {action} fails
          </button>
        </span>
      ))}
      {messages.length + delays.length + actions.length === 0 ? (
        <span className="soft">Nothing can happen here.</span>
      ) : null}
    </div>
  );
}
