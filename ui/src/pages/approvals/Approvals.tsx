// Plans that wait for a person, and all other workflows; the exact plan beside the list.
import type { Schemas } from '@/api/client';
import { api, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { counted, PAGE, useList } from '@/api/list';
import { POLL_MS, useApprovals } from '@/api/queries';
import { useParam } from '@/lib/url';
import { visible } from '@/lib/visible';
import { Choice, FilterBar } from '@/parts/Filters';
import { Page, Split } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';

type Workflow = Schemas['Workflow'];

const VIEWS = [
  'awaiting_approval',
  'all',
  'in_progress',
  'completed',
  'failed',
  'cancelled',
  'rejected',
  'expired',
] as const;

const COLUMNS: Column<Workflow>[] = [
  { name: 'Plan', width: 'minmax(120px, 1.4fr)', cell: row => visible(row.name) },
  { name: 'Risk', width: '88px', cell: row => <Status status={row.riskLevel} /> },
  { name: 'Status', width: '144px', cell: row => <Status status={row.status} />, isExtra: true },
  { name: 'Proposer', width: 'minmax(90px, 1fr)', cell: row => visible(row.proposer) },
  { name: 'Reason', width: 'minmax(100px, 1.6fr)', cell: row => visible(row.reason), isExtra: true },
  { name: 'Proposed', width: '150px', cell: row => <Time at={row.createdAt} />, isExtra: true },
];

export default function Approvals() {
  const [view] = useParam('view', 'awaiting_approval');
  return view === 'awaiting_approval' ? (
    <Waiting />
  ) : (
    <All status={view === 'all' ? undefined : (view as Workflow['status'])} />
  );
}

function Waiting() {
  return <Listed list={useApprovals()} empty="No plan waits for approval." />;
}

function All({ status }: { status?: Workflow['status'] }) {
  const query = status ? { status } : {};
  const list = useList(
    keys.workflows(query),
    (cursor, signal) =>
      unwrap(api.GET('/v1/workflows', { params: { query: { ...query, cursor, limit: PAGE } }, signal })),
    { refetchInterval: POLL_MS },
  );
  return <Listed list={list} empty="No workflow matches." />;
}

function Listed({ list, empty }: { list: ReturnType<typeof useApprovals>; empty: string }) {
  const [view] = useParam('view', 'awaiting_approval');
  return (
    <Split pattern="/approvals/:id">
      <Page
        title="Approvals"
        isList
        updatedAt={list.dataUpdatedAt}
        toolbar={
          <FilterBar>
            <Choice name="view" label="View" options={VIEWS} otherwise="awaiting_approval" />
            <span className="soft">{list.data ? counted(list) : null}</span>
          </FilterBar>
        }
      >
        <Show query={list} rows={6}>
          {rows =>
            rows.length === 0 ? (
              <Empty title={empty}>
                People, scripts and agents propose operations; risky ones wait here for another principal.
              </Empty>
            ) : (
              <Table
                label="Plans"
                rows={rows}
                columns={COLUMNS}
                keyOf={row => row.id}
                to={row => `/approvals/${row.id}${view === 'awaiting_approval' ? '' : `?view=${view}`}`}
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
