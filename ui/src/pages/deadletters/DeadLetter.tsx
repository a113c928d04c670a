// The case file of a dead letter: what failed, what would fix it, what was sent, and what to do: retry, fix, edit, archive.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { equals } from '@/lib/filter';
import { patched } from '@/lib/patch';
import { took } from '@/lib/time';
import { visible } from '@/lib/visible';
import { Attempts } from '@/parts/Attempts';
import { Code } from '@/parts/Code';
import { Diff } from '@/parts/Diff';
import { Facts, Page, Section } from '@/parts/Page';
import { Prose } from '@/parts/Prose';
import { Show } from '@/parts/States';
import { Mark, Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { RoleButton, Verb } from '@/parts/Verb';
import styles from './DeadLetter.module.css';
import { EditDialog } from './EditDialog';
import { RetryAll } from './RetryAll';

type CaseFile = Schemas['CaseFile'];

export const ABOUT = ['action', 'actions', 'dead-letters', 'execution'];
const RETRY = 'POST /v1/dead-letters/{id}/retry';

export default function DeadLetterPage() {
  const { id = '' } = useParams();
  const file = useQuery({
    queryKey: keys.deadLetter(id),
    queryFn: ({ signal }) => unwrap(api.GET('/v1/dead-letters/{id}', { params: { path: { id } }, signal })),
  });
  const { data } = file;
  return (
    <Page
      title={data ? `${data.machine}/${data.actionId}` : id}
      updatedAt={file.dataUpdatedAt}
      actions={data?.status === 'dead' ? <Verbs file={data} /> : null}
    >
      <Show query={file} rows={10}>
        {one => <Shown file={one} />}
      </Show>
    </Page>
  );
}

function Shown({ file }: { file: CaseFile }) {
  return (
    <div className="sections">
      {file.status === 'dead' ? null : (
        <p className="row">
          This is no dead letter any more: <Status status={file.status} />{' '}
          <Link to={`/actions/${file.id}`}>See the action</Link>
        </p>
      )}
      {file.failureReason ? <Cause file={file} /> : null}
      {file.suggestedFix ? <Fix file={file} /> : null}
      {file.others.count > 0 && file.status === 'dead' ? <Alike file={file} /> : null}
      <Facts
        of={[
          ['Died', <Time key="died" at={file.diedAt} />],
          ['Attempts', file.totalAttempts],
          [
            'Execution',
            <Link key="execution" className="mono" to={`/executions/${file.executionId}`}>
              {file.executionId}
            </Link>,
          ],
          ['Machine', `${file.machine} v${file.version}`],
          ['Type', file.type],
          ['Destination', file.request?.destination],
          ['Timeout', file.request ? took(file.request.timeout) : null],
          ['Secrets', file.request?.secrets.join(', ')],
          [
            'Id',
            <span key="id" className="mono">
              {file.id}
            </span>,
          ],
        ]}
      />
      <Section title="Attempts">
        <Attempts attempts={file.attempts} />
      </Section>
      {file.request ? (
        <Section title="Request">
          <Code value={file.request.config} name={`${file.id}-config.json`} label="Configuration of the last attempt" />
        </Section>
      ) : null}
    </div>
  );
}

function Cause({ file }: { file: CaseFile }) {
  const { failureReason, recoverable, manualReviewRequired } = file;
  if (!failureReason) return null;
  return (
    <section className={styles.cause} aria-label="Cause">
      <Mark tone="bad" />
      <div className="stack">
        <p>
          <code>{visible(failureReason.type)}</code> {visible(failureReason.message)}
        </p>
        {failureReason.details === undefined || failureReason.details === null ? null : (
          <Code value={failureReason.details} label="Details" />
        )}
        <p className="soft">
          {recoverable
            ? 'A retry can succeed once the cause outside is fixed.'
            : 'The same request would fail again: it must change.'}
          {manualReviewRequired ? ' Check first whether the effect has happened.' : ''}
        </p>
        <p>
          <Link to={`/help/${failureReason.type}`}>About {failureReason.type}</Link>
        </p>
      </div>
    </section>
  );
}

/** What a person may change of a dead letter, as a document. */
export function editable(request: NonNullable<CaseFile['request']>) {
  return { timeout: request.timeout, retryPolicy: request.retryPolicy, config: request.config };
}

function Fix({ file }: { file: CaseFile }) {
  const { id, suggestedFix, fixPatch, request, status } = file;
  const params = { path: { id } };
  return (
    <Section title="Suggested fix">
      <p>
        <Prose text={suggestedFix ?? ''} />
      </p>
      {fixPatch && request ? (
        <>
          <Diff label="What the fix changes" before={editable(request)} after={patched(editable(request), fixPatch)} />
          {status === 'dead' ? (
            <div>
              <Verb
                label="Apply the fix and retry"
                route={RETRY}
                about={ABOUT}
                kind="primary"
                send={headers =>
                  unwrap(api.POST('/v1/dead-letters/{id}/retry', { params, body: { patch: fixPatch }, headers }))
                }
              />
            </div>
          ) : null}
        </>
      ) : null}
    </Section>
  );
}

function Alike({ file }: { file: CaseFile }) {
  const [isOpen, setOpen] = useState(false);
  const { count, more } = file.others;
  const filter = equals('fingerprint', file.fingerprint) ?? '';
  return (
    <p className="row">
      <span>
        {count}
        {more ? '+' : ''} other {count === 1 ? 'dead letter has' : 'dead letters have'} the same cause.
      </span>
      <RoleButton route="POST /v1/dead-letters/retry" onClick={() => setOpen(true)}>
        Retry all alike
      </RoleButton>
      {isOpen ? <RetryAll filter={filter} fix={file.fixPatch} onClose={() => setOpen(false)} /> : null}
    </p>
  );
}

function Verbs({ file }: { file: CaseFile }) {
  const navigate = useNavigate();
  const [isEditing, setEditing] = useState(false);
  const params = { path: { id: file.id } };
  return (
    <>
      <Verb
        label="Retry"
        route={RETRY}
        about={ABOUT}
        kind={file.fixPatch ? undefined : 'primary'}
        effect={
          file.manualReviewRequired
            ? 'A person must check first whether the effect has happened. The retry repeats the request.'
            : undefined
        }
        send={headers => unwrap(api.POST('/v1/dead-letters/{id}/retry', { params, body: {}, headers }))}
      />
      {file.request ? (
        <RoleButton route={RETRY} onClick={() => setEditing(true)}>
          Edit and retry
        </RoleButton>
      ) : null}
      <Verb
        label="Archive"
        route="POST /v1/dead-letters/{id}/archive"
        about={ABOUT}
        kind="danger"
        effect="The action stays failed for good, and you can no longer retry it. Its case file stays."
        send={headers => unwrap(api.POST('/v1/dead-letters/{id}/archive', { params, headers }))}
        onDone={() => void navigate('/dead-letters')}
      />
      {isEditing && file.request ? (
        <EditDialog id={file.id} document={editable(file.request)} onClose={() => setEditing(false)} />
      ) : null}
    </>
  );
}
