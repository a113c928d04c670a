// One plan: what exactly would run, its risk, what differs from the last run, and the decision. The digest that is approved is the
// digest of the plan that is shown.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { POLL_MS } from '@/api/queries';
import { visible } from '@/lib/visible';
import { Code } from '@/parts/Code';
import { Diff } from '@/parts/Diff';
import { Facts, Page, Section } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Verb } from '@/parts/Verb';
import { Waits } from '@/parts/Waits';
import { Decide } from './Decide';

type Workflow = Schemas['Workflow'];
type Plan = Schemas['WorkflowPlan'];

export const ABOUT = ['workflow', 'workflows', 'approvals', 'execution', 'actions'];

export default function WorkflowPage() {
  const { id = '' } = useParams();
  const params = { path: { id } };
  const workflow = useQuery({
    queryKey: keys.workflow(id),
    refetchInterval: POLL_MS,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/workflows/{id}', { params, signal })),
  });
  const plan = useQuery({
    queryKey: keys.plan(id),
    queryFn: ({ signal }) => unwrap(api.GET('/v1/workflows/{id}/plan', { params, signal })),
  });
  const { data } = workflow;
  return (
    <Page
      title={data ? visible(data.name) : id}
      updatedAt={workflow.dataUpdatedAt}
      actions={data ? <Verbs workflow={data} /> : null}
    >
      <Show query={workflow} rows={8}>
        {one => (
          <div className="sections">
            <Facts of={factsOf(one)} />
            {one.status === 'awaiting_approval' && plan.data ? (
              <Decide workflow={one} digest={plan.data.digest} />
            ) : null}
            <Section title="Steps">
              <Steps steps={one.steps} />
            </Section>
            <Show query={plan}>{exact => <Exact plan={exact} />}</Show>
            <Decisions workflow={one} />
          </div>
        )}
      </Show>
    </Page>
  );
}

function factsOf(workflow: Workflow): React.ComponentProps<typeof Facts>['of'] {
  const { approval } = workflow;
  return [
    ['Status', <Status key="status" status={workflow.status} />],
    ['Risk', <Status key="risk" status={workflow.riskLevel} />],
    ['Proposer', visible(workflow.proposer)],
    ['Reason', visible(workflow.reason)],
    ['Ticket', workflow.ticket],
    ['Urgency', workflow.urgency],
    ['Approvals', approval.required ? `${approval.given.length} of ${approval.needed}` : 'not needed'],
    [
      'Decide until',
      approval.expiresAt && workflow.status === 'awaiting_approval' ? (
        <Time key="until" at={approval.expiresAt} />
      ) : null,
    ],
    ['Proposed', <Time key="proposed" at={workflow.createdAt} />],
    [
      'Execution',
      workflow.executionId ? (
        <Link key="execution" to={`/executions/${workflow.executionId}`}>
          Open
        </Link>
      ) : null,
    ],
    [
      'Digest',
      <span key="digest" className="mono">
        {workflow.digest}
      </span>,
    ],
  ];
}

function Steps({ steps }: { steps: Workflow['steps'] }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Operation</th>
            <th scope="col">Risk</th>
            <th scope="col">Status</th>
            <th scope="col">Parameters</th>
          </tr>
        </thead>
        <tbody>
          {steps.map(step => (
            <tr key={step.name}>
              <td>
                {step.actionId ? (
                  <Link to={`/actions/${step.actionId}`}>{visible(step.name)}</Link>
                ) : (
                  visible(step.name)
                )}
                {step.dependsOn.length > 0 ? <div className="soft">after {step.dependsOn.join(', ')}</div> : null}
              </td>
              <td>
                {step.operation} v{step.version}
                {step.subject ? <div className="soft">on {step.subject}</div> : null}
              </td>
              <td>
                <Status status={step.riskLevel} />
              </td>
              <td>
                <Status status={step.status} />
                {step.overdue ? <div className="bad">overdue</div> : null}
                {step.waiting.state === 'done' ? null : (
                  <div className="soft">
                    <Waits waiting={step.waiting} />
                  </div>
                )}
                {step.lastError ? (
                  <div className="bad">{visible(`${step.lastError.type}: ${step.lastError.message}`)}</div>
                ) : null}
              </td>
              <td>
                <code>{visible(JSON.stringify(step.params))}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Exact({ plan }: { plan: Plan }) {
  return (
    <>
      {plan.lastRun ? (
        <Section
          title="What differs from the last run"
          actions={<Link to={`/approvals/${plan.lastRun}`}>Open the last run</Link>}
        >
          {plan.changes && plan.changes.length > 0 ? (
            <ul className="stack">
              {plan.changes.map(change => (
                <li key={change.path}>
                  <p className="mono">{visible(change.path)}</p>
                  <Diff label={`Change of ${change.path}`} before={change.before ?? ''} after={change.after ?? ''} />
                </li>
              ))}
            </ul>
          ) : (
            <Empty title="Nothing." />
          )}
        </Section>
      ) : null}
      <Section title="The exact plan">
        <Code
          value={plan.plan}
          name={`plan-${plan.digest.slice(0, 12)}.json`}
          label={`Plan ${plan.digest.slice(0, 12)}…`}
        />
      </Section>
    </>
  );
}

function Decisions({ workflow: { decisions, approval } }: { workflow: Workflow }) {
  const all = [
    ...approval.given.map(one => ({ what: one.selfApproval ? 'approved their own plan' : 'approved', ...one })),
    ...(decisions ?? []),
  ];
  if (all.length === 0) return null;
  return (
    <Section title="Decisions">
      <ul className="stack">
        {all.map((one, index) => (
          <li key={index}>
            {visible(one.by)} {one.what} <Time at={one.at} />
            {one.comment ? <span className="soft"> {visible(one.comment)}</span> : null}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Verbs({ workflow: { id, status, approval } }: { workflow: Workflow }) {
  const params = { path: { id } };
  const isOpen =
    status === 'pending' || status === 'awaiting_approval' || status === 'in_progress' || status === 'failed';
  return (
    <>
      {status === 'failed' ? (
        <Verb
          label="Resume"
          route="POST /v1/workflows/{id}/resume"
          about={ABOUT}
          kind="primary"
          effect="The failed steps run again; completed steps do not."
          send={(headers, reason) =>
            unwrap(
              api.POST('/v1/workflows/{id}/resume', {
                params,
                headers,
                body: { reason: reason || 'resumed in the web interface' },
              }),
            )
          }
        />
      ) : null}
      {status === 'in_progress' && approval.given.length > 0 ? (
        <Verb
          label="Revoke approval"
          route="POST /v1/workflows/{id}/revoke"
          about={ABOUT}
          effect="Steps that have not begun wait for a new approval. An attempt that runs comes to its end."
          send={(headers, reason) =>
            unwrap(api.POST('/v1/workflows/{id}/revoke', { params, headers, body: { comment: reason } }))
          }
        />
      ) : null}
      {isOpen ? (
        <Verb
          label="Cancel"
          route="POST /v1/workflows/{id}/cancel"
          about={ABOUT}
          kind="danger"
          effect="No further step begins. This cannot be undone."
          send={(headers, reason) =>
            unwrap(api.POST('/v1/workflows/{id}/cancel', { params, headers, body: { reason } }))
          }
        />
      ) : null}
    </>
  );
}
