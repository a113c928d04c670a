// Bulk jobs, newest first; one beside the list.
import type { Schemas } from '@/api/client';
import { api, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { counted, PAGE, useList } from '@/api/list';
import { POLL_MS } from '@/api/queries';
import { useParam } from '@/lib/url';
import { visible } from '@/lib/visible';
import { Choice, FilterBar } from '@/parts/Filters';
import { Page, Split } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';
import { Progress } from './Progress';

type Job = Schemas['Job'];

const STATUSES = ['running', 'paused', 'completed', 'cancelled'] as const;

/** The types of jobs in words. */
const TYPES: Record<string, string> = { retryDeadLetters: 'Retry dead letters' };

export function nameOf(job: Job): string {
  return TYPES[job.type] ?? job.type;
}

const COLUMNS: Column<Job>[] = [
  { name: 'Job', width: 'minmax(120px, 1fr)', cell: nameOf },
  { name: 'Status', width: '104px', cell: row => <Status status={row.status} /> },
  { name: 'Progress', width: 'minmax(90px, 1fr)', cell: row => <Progress job={row} /> },
  { name: 'Filter', width: 'minmax(100px, 2fr)', isExtra: true, cell: row => <code>{visible(row.filter)}</code> },
  { name: 'Created', width: '150px', isExtra: true, cell: row => <Time at={row.createdAt} /> },
];

export default function Jobs() {
  const [status] = useParam('status');
  const query = status ? { status: status as Job['status'] } : {};
  const list = useList(
    keys.jobs(query),
    (cursor, signal) => unwrap(api.GET('/v1/jobs', { params: { query: { ...query, cursor, limit: PAGE } }, signal })),
    { refetchInterval: POLL_MS },
  );
  return (
    <Split pattern="/jobs/:id">
      <Page
        title="Jobs"
        isList
        updatedAt={list.dataUpdatedAt}
        toolbar={
          <FilterBar>
            <Choice name="status" label="Status" options={STATUSES} />
            <span className="soft">{list.data ? counted(list) : null}</span>
          </FilterBar>
        }
      >
        <Show query={list} rows={6}>
          {rows =>
            rows.length === 0 ? (
              <Empty title={status ? 'No job matches.' : 'No jobs yet.'}>
                A job applies one operation to many records, such as retrying dead letters.
              </Empty>
            ) : (
              <Table
                label="Jobs"
                rows={rows}
                columns={COLUMNS}
                keyOf={row => row.id}
                to={row => `/jobs/${row.id}${status ? `?status=${status}` : ''}`}
                hasMore={list.hasNextPage && !list.isFetchingNextPage}
                onMore={list.fetchNextPage}
              />
            )
          }
        </Show>
      </Page>
    </Split>
  );
}
