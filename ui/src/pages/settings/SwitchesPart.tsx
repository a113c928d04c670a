// Kill switches: those that are on, what each holds, and the way to set and release one.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { POLL_MS, useSwitches } from '@/api/queries';
import { useWrite } from '@/api/write';
import { visible } from '@/lib/visible';
import { Dialog } from '@/parts/Dialog';
import { Facts, Section } from '@/parts/Page';
import { Empty, ProblemNote, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Field, RoleButton, Verb } from '@/parts/Verb';
import styles from './Settings.module.css';

type Switch = Schemas['Switch'];
type Held = Schemas['HeldBySwitch'];

const ABOUT = ['switches', 'actions', 'queue', 'execution'];

export function SwitchesPart() {
  const switches = useSwitches();
  const [isSetting, setSetting] = useState(false);
  return (
    <Section
      title="Kill switches"
      actions={
        <RoleButton route="POST /v1/kill-switches" kind="danger" onClick={() => setSetting(true)}>
          Stop effects
        </RoleButton>
      }
    >
      <Show query={switches}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No switch is on.">
              A kill switch stops effects while you find out what is wrong. Executions still receive messages.
            </Empty>
          ) : (
            <ul className="stack">
              {data.map(one => (
                <One key={one.id} of={one} />
              ))}
            </ul>
          )
        }
      </Show>
      {isSetting ? <SetDialog onClose={() => setSetting(false)} /> : null}
    </Section>
  );
}

function One({ of }: { of: Switch }) {
  const held = useQuery({
    queryKey: keys.held(of.id),
    refetchInterval: POLL_MS,
    queryFn: ({ signal }) =>
      unwrap(api.GET('/v1/kill-switches/{id}/held', { params: { path: { id: of.id } }, signal })),
  });
  const params = { path: { id: of.id } };
  const release = (how: 'run' | 'skip') => (headers: Record<string, string>, reason: string) =>
    unwrap(
      api.POST('/v1/kill-switches/{id}/release', { params, headers, body: { held: how, reason: reason || undefined } }),
    );
  const waiting = held.data ? count(held.data.queued) : '…';
  return (
    <li className={styles.switch}>
      <div className="row">
        <strong className="mono">{visible(of.scope)}</strong>
        <Status status={of.status} />
        <span className="push" />
        <Verb
          label="Release"
          route="POST /v1/kill-switches/{id}/release"
          about={ABOUT}
          kind="primary"
          effect={`${waiting} actions that wait start again in queue order, at the configured rate.`}
          send={release('run')}
        />
      </div>
      <Facts
        of={[
          ['Reason', visible(of.reason)],
          ['Mode', of.mode],
          ['By', visible(of.by)],
          ['Since', <Time key="since" at={of.since} />],
          ['Until', of.expiresAt ? <Time key="until" at={of.expiresAt} /> : null],
        ]}
      />
      <Show query={held} rows={1}>
        {data => <Holds held={data} />}
      </Show>
      <div>
        <Verb
          label="Release and skip"
          route="POST /v1/kill-switches/{id}/release"
          about={ABOUT}
          kind="danger"
          effect={`${waiting} actions that wait are cancelled. This cannot be undone.`}
          send={release('skip')}
        />
      </div>
    </li>
  );
}

function count({ total, more }: Held['queued']): string {
  return `${total}${more ? '+' : ''}`;
}

function Holds({ held: { queued, running } }: { held: Held }) {
  return (
    <details>
      <summary>
        {count(queued)} wait, {count(running)} run in its scope
      </summary>
      <ul>
        {[...queued.first, ...running.first].map(action => (
          <li key={action.id}>
            <Link to={`/actions/${action.id}`}>
              {action.machine}/{action.actionId}
            </Link>{' '}
            <span className="soft">
              due <Time at={action.runAt} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

const SCOPES = ['machine:', 'type:', 'actionId:', 'operation:', 'subject:', 'tag:', 'all'] as const;

function SetDialog({ onClose }: { onClose: () => void }) {
  const [kind, setKind] = useState<string>('machine:');
  const [name, setName] = useState('');
  const [mode, setMode] = useState<'hold' | 'cancel'>('hold');
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const scope = kind === 'all' ? 'all' : `${kind}${name.trim()}`;
  // Everything is wide enough to ask for its name.
  const isSure = kind === 'all' ? typed === 'all' : name.trim() !== '';
  const write = useWrite({
    send: (body: Schemas['SwitchRequest'], headers) => unwrap(api.POST('/v1/kill-switches', { body, headers })),
    about: ABOUT,
    onDone: onClose,
  });
  return (
    <Dialog title="Stop effects" onClose={onClose}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          if (isSure) write.mutate({ scope, mode, reason });
        }}
      >
        <Field label="Scope">
          {id => (
            <select id={id} value={kind} onChange={event => setKind(event.target.value)}>
              {SCOPES.map(one => (
                <option key={one} value={one}>
                  {one.replace(':', '')}
                </option>
              ))}
            </select>
          )}
        </Field>
        {kind === 'all' ? (
          <Field label="This stops every effect of this server. Type all to confirm">
            {id => <input id={id} value={typed} onChange={event => setTyped(event.target.value)} />}
          </Field>
        ) : (
          <Field label="Name" note={kind === 'actionId:' ? 'MACHINE/ACTION' : undefined}>
            {id => <input id={id} required value={name} onChange={event => setName(event.target.value)} />}
          </Field>
        )}
        <Field label="Effect">
          {id => (
            <select
              id={id}
              value={mode}
              onChange={event => setMode(event.target.value === 'cancel' ? 'cancel' : 'hold')}
            >
              <option value="hold">Hold: no attempt begins</option>
              <option value="cancel">Cancel: no attempt begins, and open actions are cancelled</option>
            </select>
          )}
        </Field>
        <Field label="Reason">
          {id => (
            <input id={id} required value={reason} maxLength={1000} onChange={event => setReason(event.target.value)} />
          )}
        </Field>
        {write.error ? <ProblemNote error={write.error} /> : null}
        <div>
          <button type="submit" className="danger sure" disabled={!isSure || write.isPending}>
            Stop {scope}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
