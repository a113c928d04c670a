// What can be done to an execution: pausing is one click, cancelling asks first.
import { api, type Schemas, unwrap } from '@/api/client';
import { Verb } from '@/parts/Verb';

type Execution = Schemas['Execution'];

const ABOUT = ['execution', 'executions', 'actions'];

export function Verbs({ execution: { id, status, key } }: { execution: Execution }) {
  const params = { path: { id } };
  const isClosed = status === 'completed' || status === 'cancelled';
  return (
    <>
      {status === 'paused' || status === 'failed' ? (
        <Verb
          label="Resume"
          route="POST /v1/executions/{id}/resume"
          about={ABOUT}
          kind="primary"
          send={headers => unwrap(api.POST('/v1/executions/{id}/resume', { params, headers }))}
        />
      ) : null}
      {status === 'running' ? (
        <Verb
          label="Pause"
          route="POST /v1/executions/{id}/pause"
          about={ABOUT}
          send={headers => unwrap(api.POST('/v1/executions/{id}/pause', { params, headers }))}
        />
      ) : null}
      {isClosed ? null : (
        <Verb
          label="Cancel"
          route="POST /v1/executions/{id}/cancel"
          about={ABOUT}
          kind="danger"
          effect={`Execution ${key ?? id} ends now. Its waiting actions are cancelled, and running attempts are asked to stop. This cannot be undone.`}
          send={headers => unwrap(api.POST('/v1/executions/{id}/cancel', { params, headers }))}
        />
      )}
    </>
  );
}
