// Sends a message: the types that the active states accept are one click, with an optional payload.
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import { useWrite } from '@/api/write';
import { parseJson } from '@/lib/json';
import { Dialog } from '@/parts/Dialog';
import { ProblemNote } from '@/parts/States';
import { Field, RoleButton } from '@/parts/Verb';

const ROUTE = 'POST /v1/executions/{id}/messages';

type BarProps = { id: string; types: string[]; isOpen: boolean };

/** The answer stays on the screen if the message closes the execution. */
export function SendMessage({ id, types, isOpen }: BarProps) {
  const [type, setType] = useState<string | null>(null);
  const named = types.filter(one => one !== '*');
  if (!isOpen && type === null) return null;
  return (
    <div className="row">
      {isOpen ? (
        <>
          <span className="soft">Send</span>
          {named.map(one => (
            <RoleButton key={one} route={ROUTE} onClick={() => setType(one)}>
              {one}
            </RoleButton>
          ))}
          <RoleButton route={ROUTE} kind="plain" onClick={() => setType('')}>
            {named.length > 0 ? 'Another message' : 'A message'}
          </RoleButton>
        </>
      ) : null}
      {type === null ? null : <MessageDialog id={id} type={type} types={named} onClose={() => setType(null)} />}
    </div>
  );
}

type Props = { id: string; type: string; types: string[]; onClose: () => void };

function MessageDialog({ id, type: first, types, onClose }: Props) {
  const [type, setType] = useState(first);
  const [payload, setPayload] = useState('');
  const parsed = payload.trim() ? parseJson(payload) : { value: { of: undefined }, error: undefined };
  const write = useWrite({
    send: (body: { type: string; payload: unknown }, headers) =>
      unwrap(api.POST('/v1/executions/{id}/messages', { params: { path: { id } }, body: body as never, headers })),
    about: ['execution', 'executions'],
  });
  const { data } = write;
  return (
    <Dialog title="Send a message" onClose={onClose}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          if (parsed.value) write.mutate({ type, payload: parsed.value.of });
        }}
      >
        <Field label="Type" note={types.length > 0 ? `The active states accept ${types.join(', ')}.` : undefined}>
          {field => <input id={field} required value={type} onChange={event => setType(event.target.value)} />}
        </Field>
        <Field label="Payload, as JSON" note={parsed.error}>
          {field => (
            <textarea
              id={field}
              className="code"
              rows={5}
              spellCheck={false}
              value={payload}
              onChange={event => setPayload(event.target.value)}
            />
          )}
        </Field>
        {write.error ? <ProblemNote error={write.error} /> : null}
        {data ? <p role="status">{answered(data)}</p> : null}
        <div className="row">
          <button type="submit" className="primary" disabled={!parsed.value || write.isPending}>
            Send
          </button>
          <button type="button" className="push" onClick={onClose}>
            Close
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function answered({
  queued,
  handled,
  configuration,
  accepts,
}: {
  queued?: true;
  handled: boolean;
  configuration: string[];
  accepts?: string[];
}): string {
  if (queued) return 'The message waits: the execution is paused.';
  if (handled) return `Handled. The active state is ${configuration.join(', ')}.`;
  return `No active state handles it${accepts?.length ? `; they accept ${accepts.join(', ')}` : ''}.`;
}
