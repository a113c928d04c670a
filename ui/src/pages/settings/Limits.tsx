// Limits by key: what the definitions say, what an operator set instead, and what runs and waits under each.
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { useList } from '@/api/list';
import { POLL_MS } from '@/api/queries';
import { useWrite } from '@/api/write';
import { took } from '@/lib/time';
import { visible } from '@/lib/visible';
import { Dialog } from '@/parts/Dialog';
import { Section } from '@/parts/Page';
import { Empty, ProblemNote, Show } from '@/parts/States';
import { Field, RoleButton, Verb } from '@/parts/Verb';

type Limit = Schemas['Limit'];

const ABOUT = ['limits', 'queue'];

export function Limits() {
  const limits = useList(
    keys.limits,
    (cursor, signal) => unwrap(api.GET('/v1/limits', { params: { query: { cursor } }, signal })),
    { refetchInterval: POLL_MS },
  );
  const [edited, setEdited] = useState<Limit | null>(null);
  return (
    <Section title="Limits">
      <Show query={limits}>
        {rows =>
          rows.length === 0 ? (
            <Empty title="No limits.">An action can name limits; actions with the same key share them.</Empty>
          ) : (
            <div className="scroll-x">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Key</th>
                    <th scope="col">Definitions</th>
                    <th scope="col">Override</th>
                    <th scope="col" className="number">
                      Running
                    </th>
                    <th scope="col" className="number">
                      Waiting
                    </th>
                    <th scope="col">
                      <span className="hidden-text">Change</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map(limit => (
                    <tr key={limit.key}>
                      <td className="mono">{visible(limit.key)}</td>
                      <td>{limit.definitions.map(numbers).join('; ') || '–'}</td>
                      <td>{limit.override ? `${numbers(limit.override)}, by ${limit.override.by}` : '–'}</td>
                      <td className="number">{limit.running}</td>
                      <td className="number">
                        {limit.waiting}
                        {limit.more ? '+' : ''}
                      </td>
                      <td>
                        <span className="row">
                          <RoleButton route="PUT /v1/limits/{key}" onClick={() => setEdited(limit)}>
                            Set
                          </RoleButton>
                          {limit.override ? <Clear limit={limit} /> : null}
                        </span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Show>
      {edited ? <SetDialog limit={edited} onClose={() => setEdited(null)} /> : null}
    </Section>
  );
}

function numbers({ concurrency, rate }: Limit['definitions'][number]): string {
  const parts = [];
  if (concurrency !== undefined) parts.push(`${concurrency} at once`);
  if (rate) parts.push(`${rate.count} each ${took(rate.per)}`);
  return parts.join(', ') || 'none';
}

/** Only the revision that was shown is changed. */
function revision(limit: Limit): Record<string, string> {
  return { 'If-Match': `"${limit.override?.revision ?? 0}"` };
}

function Clear({ limit }: { limit: Limit }) {
  return (
    <Verb
      label="Clear"
      route="DELETE /v1/limits/{key}"
      about={ABOUT}
      effect={`The definitions of ${limit.key} hold again at once.`}
      send={headers =>
        unwrap(
          api.DELETE('/v1/limits/{key}', {
            params: { path: { key: limit.key } },
            headers: { ...headers, ...revision(limit) },
          }),
        )
      }
    />
  );
}

function SetDialog({ limit, onClose }: { limit: Limit; onClose: () => void }) {
  const [concurrency, setConcurrency] = useState(String(limit.override?.concurrency ?? ''));
  const [count, setCount] = useState(String(limit.override?.rate?.count ?? ''));
  const [per, setPer] = useState(limit.override?.rate ? `${limit.override.rate.per}ms` : '1s');
  const write = useWrite({
    send: (body: Schemas['LimitRequest'], headers) =>
      unwrap(
        api.PUT('/v1/limits/{key}', {
          params: { path: { key: limit.key } },
          body,
          headers: { ...headers, ...revision(limit) },
        }),
      ),
    about: ABOUT,
    onDone: onClose,
  });
  return (
    <Dialog title={`Limit ${limit.key}`} onClose={onClose}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          write.mutate({
            concurrency: concurrency === '' ? undefined : Number(concurrency),
            rate: count === '' ? undefined : { count: Number(count), per },
          });
        }}
      >
        <Field label="Attempts at once" note="0 starts none. Empty keeps what the definitions say.">
          {id => (
            <input
              id={id}
              type="number"
              min={0}
              value={concurrency}
              onChange={event => setConcurrency(event.target.value)}
            />
          )}
        </Field>
        <Field label="Attempts">
          {id => <input id={id} type="number" min={1} value={count} onChange={event => setCount(event.target.value)} />}
        </Field>
        <Field label="In each" note="A duration, such as 1s or 5m.">
          {id => <input id={id} value={per} onChange={event => setPer(event.target.value)} />}
        </Field>
        {write.error ? <ProblemNote error={write.error} /> : null}
        <div>
          <button type="submit" className="primary" disabled={(concurrency === '' && count === '') || write.isPending}>
            Set the limit
          </button>
        </div>
      </form>
    </Dialog>
  );
}
