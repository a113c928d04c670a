// One action with all its attempts.
import { Link, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { useAction } from '@/api/queries';
import { Attempts } from '@/parts/Attempts';
import { Code } from '@/parts/Code';
import { Facts, Page, Section } from '@/parts/Page';
import { Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Verb } from '@/parts/Verb';
import { Waits } from '@/parts/Waits';

type Action = Schemas['Action'];

const ABOUT = ['action', 'actions', 'execution'];

export default function ActionPage() {
  const { id = '' } = useParams();
  const action = useAction(id);
  return (
    <Page
      title={action.data?.actionId ?? id}
      updatedAt={action.dataUpdatedAt}
      actions={action.data ? <Verbs action={action.data} /> : null}
    >
      <Show query={action} rows={8}>
        {data => (
          <div className="sections">
            {data.waiting.state === 'done' ? null : (
              <p>
                <Waits waiting={data.waiting} withRemedy />
              </p>
            )}
            <Facts
              of={[
                ['Status', <Status key="status" status={data.status} />],
                [
                  'Execution',
                  <Link key="execution" className="mono" to={`/executions/${data.executionId}`}>
                    {data.executionId}
                  </Link>,
                ],
                ['Machine', `${data.machine} v${data.version}`],
                ['Type', data.type],
                ['Runner', data.runner],
                ['Priority', data.priority],
                ['Triggered', <Time key="created" at={data.createdAt} />],
                ['Due', <Time key="run" at={data.runAt} />],
                ['Cost', data.costEstimate],
                ['Tags', data.tags.join(', ')],
                ['Remark', data.remark ?? data.skipped],
                [
                  'Idempotency key',
                  <span key="key" className="mono">
                    {data.idempotencyKey}
                  </span>,
                ],
                [
                  'Id',
                  <span key="id" className="mono">
                    {data.id}
                  </span>,
                ],
              ]}
            />
            {data.status === 'dead' ? (
              <p>
                It is a dead letter. <Link to={`/dead-letters/${data.id}`}>Open its case file</Link>
              </p>
            ) : null}
            <Section title="Attempts">
              <Attempts attempts={data.attempts} />
            </Section>
            {data.result === null ? null : (
              <Section title="Result">
                <Code value={data.result} name={`${data.id}-result.json`} label="Result" />
              </Section>
            )}
            {data.config ? (
              <Section title="Configuration">
                <Code value={data.config} name={`${data.id}-config.json`} label="Configuration" />
              </Section>
            ) : null}
          </div>
        )}
      </Show>
    </Page>
  );
}

function Verbs({ action: { id, status, waiting } }: { action: Action }) {
  const params = { path: { id } };
  const isOpen = waiting.state !== 'done';
  return (
    <>
      {status === 'retrying' || status === 'scheduled' ? (
        <Verb
          label="Run now"
          route="POST /v1/actions/{id}/retry-now"
          about={ABOUT}
          kind="primary"
          send={headers => unwrap(api.POST('/v1/actions/{id}/retry-now', { params, headers }))}
        />
      ) : null}
      {isOpen && status !== 'dead' ? (
        <Verb
          label="Cancel"
          route="POST /v1/actions/{id}/cancel"
          about={ABOUT}
          kind="danger"
          effect="No further attempt begins, and a running attempt is asked to stop. The machine receives the end as a failure. This cannot be undone."
          send={headers => unwrap(api.POST('/v1/actions/{id}/cancel', { params, headers }))}
        />
      ) : null}
    </>
  );
}
