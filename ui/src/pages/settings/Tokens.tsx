// Tokens: who has which, until when; a new one is shown once.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { useWrite } from '@/api/write';
import { visible } from '@/lib/visible';
import { useCopy } from '@/parts/copy';
import { Dialog } from '@/parts/Dialog';
import { Section } from '@/parts/Page';
import { Empty, ProblemNote, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Field, RoleButton, Verb } from '@/parts/Verb';

type Token = Schemas['Token'];
type Role = Schemas['Role'];

const ABOUT = ['tokens'];
const ROLES: Role[] = ['viewer', 'proposer', 'operator', 'author', 'approver', 'runner', 'agent', 'admin'];

export function Tokens() {
  const tokens = useQuery({
    queryKey: keys.tokens,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/tokens', { signal })),
  });
  const [isCreating, setCreating] = useState(false);
  return (
    <Section
      title="Tokens"
      actions={
        <RoleButton route="POST /v1/tokens" onClick={() => setCreating(true)}>
          Create
        </RoleButton>
      }
    >
      <Show query={tokens}>
        {({ data }) => (data.length === 0 ? <Empty title="No tokens yet." /> : <Rows tokens={data} />)}
      </Show>
      {isCreating ? <CreateDialog onClose={() => setCreating(false)} /> : null}
    </Section>
  );
}

function Rows({ tokens }: { tokens: Token[] }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Principal</th>
            <th scope="col">Roles</th>
            <th scope="col">State</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span className="hidden-text">Change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map(token => (
            <tr key={token.id}>
              <td>{visible(token.name)}</td>
              <td>{visible(token.principal)}</td>
              <td>{token.roles.join(', ')}</td>
              <td>
                <State token={token} />
              </td>
              <td>
                <Time at={token.createdAt} />
              </td>
              <td>
                {token.revokedAt ? null : (
                  <Verb
                    label="Revoke"
                    route="POST /v1/tokens/{id}/revoke"
                    about={ABOUT}
                    kind="danger"
                    effect={`Requests with the token ${token.name} are refused at once. This cannot be undone.`}
                    send={headers =>
                      unwrap(api.POST('/v1/tokens/{id}/revoke', { params: { path: { id: token.id } }, headers }))
                    }
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ token: { revokedAt, expiresAt } }: { token: Token }) {
  if (revokedAt) return <Status status="cancelled" word="revoked" />;
  return (
    <>
      <Status status="succeeded" word="valid" />
      {expiresAt ? (
        <>
          {' until '}
          <Time at={expiresAt} />
        </>
      ) : null}
    </>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [principal, setPrincipal] = useState('');
  const [roles, setRoles] = useState<Role[]>(['viewer']);
  const write = useWrite({
    send: (body: Schemas['TokenRequest'], headers) => unwrap(api.POST('/v1/tokens', { body, headers })),
    about: ABOUT,
  });
  const [copied, copy] = useCopy();
  const created = write.data?.token;
  if (created) {
    return (
      <Dialog title="Token created" onClose={onClose}>
        <p>It is shown only now. Sprag keeps a hash of it.</p>
        <p className="mono">{created}</p>
        <div>
          <button type="button" className="primary" onClick={() => copy(created)}>
            {copied ? 'Copied' : 'Copy'}
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Create a token" onClose={onClose}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          write.mutate({ name, principal: principal || undefined, roles });
        }}
      >
        <Field label="Name">
          {id => <input id={id} required value={name} onChange={event => setName(event.target.value)} />}
        </Field>
        <Field label="Principal" note="The person, script or agent behind it. Without one, the name.">
          {id => <input id={id} value={principal} onChange={event => setPrincipal(event.target.value)} />}
        </Field>
        <fieldset>
          <legend className="soft">Roles</legend>
          {ROLES.map(role => (
            <label key={role} className="row">
              <input
                type="checkbox"
                checked={roles.includes(role)}
                onChange={event =>
                  setRoles(event.target.checked ? [...roles, role] : roles.filter(one => one !== role))
                }
              />
              {role}
            </label>
          ))}
        </fieldset>
        {write.error ? <ProblemNote error={write.error} /> : null}
        <div>
          <button type="submit" className="primary" disabled={roles.length === 0 || write.isPending}>
            Create
          </button>
        </div>
      </form>
    </Dialog>
  );
}
