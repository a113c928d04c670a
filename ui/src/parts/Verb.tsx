// A button that changes something. Friction grows with harm: what can be undone is one click; everything else asks first, names its
// effect, and takes a reason for the audit. Without the role it is disabled and says which role it needs.
import { type ReactNode, useId, useState } from 'react';
import { reasonHeader } from '@/api/client';
import { useWhyNot } from '@/api/me';
import type { RouteName } from '@/api/routes';
import { type Headers, useWrite } from '@/api/write';
import { Dialog } from './Dialog';
import { ProblemNote } from './States';

type Kind = 'primary' | 'danger' | 'plain';

type ButtonProps = {
  route: RouteName;
  kind?: Kind;
  disabled?: string | null;
  onClick: () => void;
  children: ReactNode;
};

/** A button for callers with the role of a route. A disabled one stays reachable and says why. */
export function RoleButton({ route, kind, disabled, onClick, children }: ButtonProps) {
  const refused = useWhyNot(route) ?? disabled ?? null;
  const why = useId();
  return (
    <>
      <button
        type="button"
        className={kind}
        aria-disabled={refused !== null}
        aria-describedby={refused ? why : undefined}
        title={refused ?? undefined}
        onClick={() => {
          if (refused === null) onClick();
        }}
      >
        {children}
      </button>
      {refused ? (
        <span id={why} className="hidden-text">
          {refused}
        </span>
      ) : null}
    </>
  );
}

type VerbProps<T> = {
  label: string;
  route: RouteName;
  /** First words of the keys that change with it. */
  about: string[];
  kind?: Kind;
  disabled?: string | null;
  /** What happens, for a change that cannot be undone by one click. Without it, one click is enough. */
  effect?: ReactNode;
  send: (headers: Headers, reason: string) => Promise<T>;
  onDone?: (answer: T) => void;
};

export function Verb<T>({ label, route, about, kind, disabled, effect, send, onDone }: VerbProps<T>) {
  const [isAsking, setAsking] = useState(false);
  const write = useWrite({
    send: (reason: string, headers) => send({ ...headers, ...reasonHeader(reason) }, reason),
    about,
    onDone: (answer: T) => {
      setAsking(false);
      onDone?.(answer);
    },
  });
  const isBusy = write.isPending ? 'The request is on its way.' : disabled;
  const begin = () => (effect === undefined ? write.mutate('') : setAsking(true));
  const close = () => {
    setAsking(false);
    write.reset();
  };
  return (
    <>
      <RoleButton route={route} kind={kind} disabled={isBusy} onClick={begin}>
        {label}
      </RoleButton>
      {isAsking ? (
        <Sure
          label={label}
          effect={effect}
          kind={kind}
          isBusy={write.isPending}
          error={write.error}
          onClose={close}
          onSure={write.mutate}
        />
      ) : null}
      {effect === undefined && write.error ? (
        <Dialog title={`${label} did not work`} onClose={close}>
          <ProblemNote error={write.error} />
        </Dialog>
      ) : null}
    </>
  );
}

type SureProps = {
  label: string;
  effect: ReactNode;
  kind?: Kind;
  isBusy: boolean;
  error: unknown;
  onClose: () => void;
  onSure: (reason: string) => void;
};

function Sure({ label, effect, kind, isBusy, error, onClose, onSure }: SureProps) {
  const [reason, setReason] = useState('');
  return (
    <Dialog title={label} onClose={onClose}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          onSure(reason);
        }}
      >
        <div>{effect}</div>
        <Field label="Reason, for the audit">
          {id => <input id={id} value={reason} maxLength={1000} onChange={event => setReason(event.target.value)} />}
        </Field>
        {error ? <ProblemNote error={error} /> : null}
        <div className="row">
          <button type="submit" className={kind === 'danger' ? 'danger sure' : 'primary'} disabled={isBusy}>
            {isBusy ? 'Sending…' : label}
          </button>
          <button type="button" className="push" onClick={onClose}>
            Keep as it is
          </button>
        </div>
      </form>
    </Dialog>
  );
}

type FieldProps = { label: string; note?: ReactNode; children: (id: string) => ReactNode };

/** A control with its name, and what to know about it. */
export function Field({ label, note, children }: FieldProps) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="soft">
        {label}
      </label>
      <div className="stack">{children(id)}</div>
      {note ? <p className="soft">{note}</p> : null}
    </div>
  );
}
