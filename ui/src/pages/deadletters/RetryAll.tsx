// Retries many dead letters as a job: first what would be retried, counted, with ten examples; then how. What dies after the
// preview is not part of it: the filter ends at the moment of the preview.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, newKey, type Schemas, unwrap } from '@/api/client';
import { useWrite } from '@/api/write';
import { now } from '@/lib/clock';
import type { PatchOperation } from '@/lib/patch';
import { visible } from '@/lib/visible';
import { Code } from '@/parts/Code';
import { Dialog } from '@/parts/Dialog';
import { Empty, ProblemNote, Show } from '@/parts/States';
import { Time } from '@/parts/Time';
import { Field } from '@/parts/Verb';

type Request = Schemas['RetryAllRequest'];
type Preview = Schemas['DryRun'];
type Props = { filter: string; fix?: PatchOperation[]; onClose: () => void };

/** The same letters, and none that die later. */
export function frozen(filter: string, at: number): string {
  return `(${filter}) AND diedAt <= "${new Date(at).toISOString()}"`;
}

export function RetryAll({ filter, fix, onClose }: Props) {
  const [exactly] = useState(() => frozen(filter, now()));
  const preview = useQuery({
    queryKey: ['dead-letters-preview', exactly],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () =>
      unwrap(
        api.POST('/v1/dead-letters/retry', {
          body: { filter: exactly, dryRun: true },
          headers: { 'Idempotency-Key': newKey() },
        }),
      ) as Promise<unknown> as Promise<Preview>,
  });
  return (
    <Dialog title="Retry all that match" onClose={onClose} isWide>
      <Code value={exactly} label="Filter, frozen at this moment" name="filter.txt" />
      <Show query={preview} rows={6}>
        {data =>
          data.expected.count === 0 ? (
            <Empty title="No dead letter matches." />
          ) : (
            <>
              <Examples preview={data} />
              <Options filter={exactly} expected={data.expected} fix={fix} />
            </>
          )
        }
      </Show>
    </Dialog>
  );
}

function Examples({ preview: { expected, sample } }: { preview: Preview }) {
  return (
    <div>
      <p>
        <strong>
          {expected.count}
          {expected.more ? '+' : ''}
        </strong>{' '}
        {expected.count === 1 ? 'dead letter' : 'dead letters'}, for example:
      </p>
      <div className="scroll-x">
        <table>
          <tbody>
            {sample.map(one => (
              <tr key={one.id}>
                <td>
                  {one.machine}/{one.actionId}
                </td>
                <td>{one.lastError ? visible(`${one.lastError.type}: ${one.lastError.message}`) : null}</td>
                <td>
                  <Time at={one.diedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Options({ filter, expected, fix }: { filter: string; expected: Preview['expected']; fix?: PatchOperation[] }) {
  const navigate = useNavigate();
  const [canary, setCanary] = useState(expected.count > 1 ? '1' : '');
  const [rate, setRate] = useState('');
  const [reason, setReason] = useState('');
  const [withFix, setWithFix] = useState(Boolean(fix));
  const write = useWrite({
    send: (body: Request, headers) =>
      unwrap(api.POST('/v1/dead-letters/retry', { body, headers })) as Promise<unknown> as Promise<Schemas['Job']>,
    about: ['jobs', 'dead-letters'],
    onDone: job => void navigate(`/jobs/${job.id}`),
  });
  const number = (text: string) => (text ? Number(text) : undefined);
  return (
    <form
      className="stack"
      onSubmit={event => {
        event.preventDefault();
        write.mutate({
          filter,
          canary: number(canary),
          rate: number(rate),
          reason: reason || undefined,
          patch: withFix ? fix : undefined,
        });
      }}
    >
      {fix ? (
        <label>
          <input type="checkbox" checked={withFix} onChange={event => setWithFix(event.target.checked)} /> Apply the
          suggested fix to each
        </label>
      ) : null}
      <Field label="Canary: retry so many first, and pause if one dies again">
        {id => <input id={id} type="number" min={1} value={canary} onChange={event => setCanary(event.target.value)} />}
      </Field>
      <Field label="At most so many a second">
        {id => (
          <input
            id={id}
            type="number"
            min={1}
            max={10_000}
            value={rate}
            onChange={event => setRate(event.target.value)}
          />
        )}
      </Field>
      <Field label="Reason, for the audit">
        {id => <input id={id} value={reason} maxLength={1000} onChange={event => setReason(event.target.value)} />}
      </Field>
      {write.error ? <ProblemNote error={write.error} /> : null}
      <div>
        <button type="submit" className="primary" disabled={write.isPending}>
          Retry {expected.count}
          {expected.more ? '+' : ''} as a job
        </button>
      </div>
    </form>
  );
}
