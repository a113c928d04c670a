// Starts an execution: a machine, a key, and the variables of the start.
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api, unwrap } from '@/api/client';
import { useMachines } from '@/api/queries';
import { useWrite } from '@/api/write';
import { parseObject } from '@/lib/json';
import { Dialog } from '@/parts/Dialog';
import { ProblemNote } from '@/parts/States';
import { Field } from '@/parts/Verb';

type Start = { machine: string; key?: string; variables: Record<string, never> };

export function StartDialog({ machine: first, onClose }: { machine?: string; onClose: () => void }) {
  const machines = useMachines();
  const navigate = useNavigate();
  const [machine, setMachine] = useState(first ?? '');
  const [key, setKey] = useState('');
  const [variables, setVariables] = useState('{}');
  const parsed = parseObject(variables);
  const write = useWrite({
    send: (body: Start, headers) => unwrap(api.POST('/v1/executions', { body, headers })),
    about: ['executions'],
    onDone: execution => void navigate(`/executions/${execution.id}`),
  });
  return (
    <Dialog title="Start an execution" onClose={onClose}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          if (parsed.value)
            write.mutate({ machine, key: key || undefined, variables: parsed.value as Record<string, never> });
        }}
      >
        <Field label="Machine">
          {id => (
            <>
              <input
                id={id}
                required
                list={`${id}-known`}
                value={machine}
                onChange={event => setMachine(event.target.value)}
              />
              <datalist id={`${id}-known`}>
                {machines.data?.map(one => (
                  <option key={one.id} value={one.id} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <Field
          label="Key, if it has one"
          note="A key finds the execution again. One open execution of a machine has it."
        >
          {id => <input id={id} value={key} onChange={event => setKey(event.target.value)} />}
        </Field>
        <Field label="Variables, as JSON" note={parsed.error}>
          {id => (
            <textarea
              id={id}
              className="code"
              rows={6}
              spellCheck={false}
              value={variables}
              onChange={event => setVariables(event.target.value)}
            />
          )}
        </Field>
        {write.error ? <ProblemNote error={write.error} /> : null}
        <div>
          <button type="submit" className="primary" disabled={!parsed.value || write.isPending}>
            Start
          </button>
        </div>
      </form>
    </Dialog>
  );
}
