// One job: its progress, its canary, why it waits, and what became of each dead letter.
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { PAGE, useList } from '@/api/list';
import { visible } from '@/lib/visible';
import { Code } from '@/parts/Code';
import { Facts, Page, Section } from '@/parts/Page';
import { Prose } from '@/parts/Prose';
import { Empty, Show } from '@/parts/States';
import { Mark, Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Verb } from '@/parts/Verb';
import { nameOf } from './Jobs';
import { Progress } from './Progress';

type Job = Schemas['Job'];

const ABOUT = ['job', 'jobs', 'dead-letters'];
/** While a job runs, its numbers move. */
const RUNNING_MS = 1_000;

export default function JobPage() {
  const { id = '' } = useParams();
  const job = useQuery<Job>({
    queryKey: keys.job(id),
    refetchInterval: query => (query.state.data?.status === 'running' ? RUNNING_MS : false),
    queryFn: ({ signal }) => unwrap(api.GET('/v1/jobs/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <Page
      title={job.data ? nameOf(job.data) : id}
      updatedAt={job.dataUpdatedAt}
      actions={job.data ? <Verbs job={job.data} /> : null}
    >
      <Show query={job} rows={6}>
        {data => (
          <div className="sections">
            {data.note ? (
              <p className="row" role="status">
                <Mark tone="warning" /> <Prose text={data.note} />
              </p>
            ) : null}
            <Facts of={factsOf(data)} />
            <Code value={data.filter} label="Filter" name="filter.txt" />
            {data.patch ? <Code value={data.patch} label="Changes to each" name="patch.json" /> : null}
            <Section title="Items">
              <Items id={id} isRunning={data.status === 'running'} />
            </Section>
          </div>
        )}
      </Show>
    </Page>
  );
}

function factsOf(job: Job): React.ComponentProps<typeof Facts>['of'] {
  const { counts, canary } = job;
  return [
    ['Status', <Status key="status" status={job.status} />],
    ['Progress', <Progress key="progress" job={job} />],
    ['Done, skipped, failed', `${counts.done}, ${counts.skipped}, ${counts.failed}`],
    [
      'Canary',
      canary ? (
        <Status
          key="canary"
          status={canary.state}
          word={`${canary.retried} of ${canary.size} retried, ${canary.state}`}
        />
      ) : null,
    ],
    ['Rate', job.rate ? `${job.rate} a second` : null],
    ['Waits', job.waiting.state === 'waiting' ? `for ${job.waiting.object}` : null],
    ['Reason', job.reason],
    ['Created', <Time key="created" at={job.createdAt} />],
    ['Finished', job.finishedAt ? <Time key="finished" at={job.finishedAt} /> : null],
    [
      'Id',
      <span key="id" className="mono">
        {job.id}
      </span>,
    ],
  ];
}

function Items({ id, isRunning }: { id: string; isRunning: boolean }) {
  const items = useList(
    keys.jobItems(id),
    (cursor, signal) =>
      unwrap(api.GET('/v1/jobs/{id}/items', { params: { path: { id }, query: { cursor, limit: PAGE } }, signal })),
    { refetchInterval: isRunning ? RUNNING_MS * 2 : false },
  );
  return (
    <Show query={items} rows={3}>
      {rows =>
        rows.length === 0 ? (
          <Empty title="Nothing is settled yet." />
        ) : (
          <>
            <table>
              <thead>
                <tr>
                  <th scope="col" className="number">
                    No.
                  </th>
                  <th scope="col">Action</th>
                  <th scope="col">Result</th>
                </tr>
              </thead>
              <tbody>
                {rows.map(item => (
                  <tr key={item.number}>
                    <td className="number">{item.number}</td>
                    <td>
                      <Link className="mono" to={`/actions/${item.action}`}>
                        {item.action}
                      </Link>
                    </td>
                    <td>
                      <Status status={item.result} /> {item.detail ? visible(item.detail) : null}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {items.hasNextPage ? (
              <button type="button" onClick={() => void items.fetchNextPage()}>
                Show more
              </button>
            ) : null}
          </>
        )
      }
    </Show>
  );
}

function Verbs({ job: { id, status } }: { job: Job }) {
  const params = { path: { id } };
  if (status === 'completed' || status === 'cancelled') return null;
  return (
    <>
      {status === 'paused' ? (
        <Verb
          label="Resume"
          route="POST /v1/jobs/{id}/resume"
          about={ABOUT}
          kind="primary"
          send={headers => unwrap(api.POST('/v1/jobs/{id}/resume', { params, headers }))}
        />
      ) : (
        <Verb
          label="Pause"
          route="POST /v1/jobs/{id}/pause"
          about={ABOUT}
          send={headers => unwrap(api.POST('/v1/jobs/{id}/pause', { params, headers }))}
        />
      )}
      <Verb
        label="Cancel"
        route="POST /v1/jobs/{id}/cancel"
        about={ABOUT}
        kind="danger"
        effect="The job ends after its current step. What it has done stays done."
        send={headers => unwrap(api.POST('/v1/jobs/{id}/cancel', { params, headers }))}
      />
    </>
  );
}
