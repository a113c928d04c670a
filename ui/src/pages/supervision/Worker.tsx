// One service: its state and goal, why it waits and what comes next, the rules around it, and its log.
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { visible } from '@/lib/visible';
import { Code } from '@/parts/Code';
import { Facts, Page, Section } from '@/parts/Page';
import { Prose } from '@/parts/Prose';
import { Show } from '@/parts/States';
import { Mark, Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Verb } from '@/parts/Verb';
import { Log } from './Log';

type Explanation = Schemas['WorkerExplanation'];

const ABOUT = ['worker', 'workers'];
const AGAIN_MS = 2_000;

export default function WorkerPage() {
  const { path = '' } = useParams();
  const worker = useQuery({
    queryKey: keys.worker(path),
    refetchInterval: AGAIN_MS,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/workers/{path}/explain', { params: { path: { path } }, signal })),
  });
  return (
    <Page title={path} updatedAt={worker.dataUpdatedAt} actions={worker.data ? <Verbs worker={worker.data} /> : null}>
      <Show query={worker} rows={8}>
        {data => (
          <div className="sections">
            <Facts of={factsOf(data)} />
            <Holds holds={data.holds} />
            <Escalations of={data.escalations} runbook={data.runbook} />
            <Rules rules={[...data.rules, ...data.restartedBy]} />
            {data.childErrors.length > 0 ? (
              <Section title="Children that were refused">
                <ul className="stack">
                  {data.childErrors.map(error => (
                    <li key={error}>{visible(error)}</li>
                  ))}
                </ul>
              </Section>
            ) : null}
            {data.pid === null && data.children.healthy + data.children.unhealthy > 0 ? null : <Log path={path} />}
            {data.observed === null ? null : (
              <Section title="Observed">
                <Code value={data.observed} label="Last observation" />
              </Section>
            )}
          </div>
        )}
      </Show>
    </Page>
  );
}

function factsOf(worker: Explanation): React.ComponentProps<typeof Facts>['of'] {
  const { healthy, unhealthy, stopped } = worker.children;
  return [
    ['State', <Status key="state" status={worker.state} />],
    ['Reason', visible(worker.reason)],
    ['Goal', worker.goal],
    ['Since', <Time key="since" at={worker.since} />],
    ['Restarts', worker.restarts],
    ['Circuit', <Status key="circuit" status={worker.circuit} />],
    ['Observation', visible(worker.observation)],
    ['Process', worker.pid],
    [
      'Children',
      healthy + unhealthy + stopped > 0 ? `${healthy} healthy, ${unhealthy} unhealthy, ${stopped} stopped` : null,
    ],
  ];
}

function Holds({ holds }: { holds: Explanation['holds'] }) {
  if (holds.length === 0) return null;
  return (
    <Section title="Why it waits">
      <ul className="stack">
        {holds.map(hold => (
          <li key={hold.what}>
            <Prose text={hold.what} /> Next: {visible(hold.next)}
            {hold.at ? (
              <>
                {' '}
                <Time at={hold.at} form="relative" />
              </>
            ) : null}
            {hold.givesUp ? (
              <>
                , gives up <Time at={hold.givesUp} form="relative" />
              </>
            ) : null}
            .{' '}
            <strong>
              <Prose text={hold.remedy} />
            </strong>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Escalations({ of, runbook }: { of: Explanation['escalations']; runbook: string | null }) {
  if (of.length === 0) return null;
  return (
    <Section title="Sprag gave up">
      <ul className="stack">
        {of.map(one => (
          <li key={one.child} className="row">
            <Mark tone="bad" />
            <span>
              {visible(one.child)}: {visible(one.cause)} <Time at={one.since} />
            </span>
          </li>
        ))}
      </ul>
      {runbook ? <p className="soft">Runbook: {visible(runbook)}</p> : null}
    </Section>
  );
}

function Rules({ rules }: { rules: Explanation['rules'] }) {
  if (rules.length === 0) return null;
  return (
    <Section title="Rules">
      <div className="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">Rule</th>
              <th scope="col">Circuit</th>
              <th scope="col" className="number">
                Detections
              </th>
              <th scope="col">Last check</th>
              <th scope="col">Next</th>
            </tr>
          </thead>
          <tbody>
            {rules.map(rule => (
              <tr key={`${rule.supervisor} ${rule.name}`}>
                <td>
                  {visible(rule.name)} <div className="soft">restarts {visible(rule.restart)}</div>
                </td>
                <td>
                  <Status status={rule.circuit} />
                </td>
                <td className="number">
                  {rule.detections} of {rule.detectionsMax}
                </td>
                <td>
                  {visible(rule.gaveUp ?? rule.cause ?? rule.reason ?? rule.lastCheck ?? '–')}{' '}
                  {rule.checkedAt ? <Time at={rule.checkedAt} form="relative" /> : null}
                </td>
                <td>
                  {visible(rule.next)} {rule.nextAt ? <Time at={rule.nextAt} form="relative" /> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function Verbs({ worker: { path, goal } }: { worker: Explanation }) {
  const params = { path: { path } };
  return (
    <>
      {goal === 'stopped' ? (
        <Verb
          label="Start"
          route="POST /v1/workers/{path}/start"
          about={ABOUT}
          kind="primary"
          send={headers => unwrap(api.POST('/v1/workers/{path}/start', { params, headers }))}
        />
      ) : null}
      <Verb
        label="Restart"
        route="POST /v1/workers/{path}/restart"
        about={ABOUT}
        effect={`${path} stops and starts again. Services that depend on it may fail meanwhile.`}
        send={headers => unwrap(api.POST('/v1/workers/{path}/restart', { params, headers }))}
      />
      {goal === 'running' ? (
        <Verb
          label="Stop"
          route="POST /v1/workers/{path}/stop"
          about={ABOUT}
          kind="danger"
          effect={`${path} stops, and stays stopped until a person starts it.`}
          send={headers => unwrap(api.POST('/v1/workers/{path}/stop', { params, headers }))}
        />
      ) : null}
    </>
  );
}
