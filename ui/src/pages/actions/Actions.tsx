// All actions, newest first; one of them beside the list.
import { NavLink } from 'react-router';
import type { Schemas } from '@/api/client';
import { counted } from '@/api/list';
import { useActions, useMachines } from '@/api/queries';
import { useParam } from '@/lib/url';
import { Choice, FilterBar, Text } from '@/parts/Filters';
import { Page, Split } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';
import { Waits } from '@/parts/Waits';

type Action = Schemas['Action'];

const STATUSES = [
  'scheduled',
  'queued',
  'running',
  'retrying',
  'succeeded',
  'dead',
  'cancelled',
  'skipped',
  'archived',
] as const;

const COLUMNS: Column<Action>[] = [
  { name: 'Action', width: 'minmax(110px, 1.2fr)', cell: row => row.actionId },
  { name: 'Status', width: '104px', cell: row => <Status status={row.status} /> },
  { name: 'Type', width: 'minmax(80px, 0.8fr)', cell: row => row.type, isExtra: true },
  { name: 'Machine', width: 'minmax(80px, 1fr)', cell: row => row.machine, isExtra: true },
  { name: 'Attempts', width: '64px', isNumber: true, cell: row => row.attempts.length },
  {
    name: 'Waits',
    width: 'minmax(120px, 1.6fr)',
    isExtra: true,
    cell: row => (row.waiting.state === 'done' ? (row.lastError?.type ?? null) : <Waits waiting={row.waiting} />),
  },
  { name: 'Triggered', width: '150px', isExtra: true, cell: row => <Time at={row.createdAt} /> },
];

/** The pages about actions. */
export function ActionTabs() {
  return (
    <nav className="row" aria-label="About actions">
      <NavLink to="/actions" end>
        Actions
      </NavLink>
      <NavLink to="/actions/queue">Queues</NavLink>
      <NavLink to="/actions/health">Health</NavLink>
    </nav>
  );
}

export default function Actions() {
  const [status] = useParam('status');
  const [machine] = useParam('machine');
  const [type] = useParam('type');
  const [actionId] = useParam('actionId');
  const [filter] = useParam('filter');
  const given = { status, machine, type, actionId, filter };
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  const list = useActions(query);
  const machines = useMachines();
  const search = new URLSearchParams(query).toString();
  return (
    <Split pattern="/actions/:id">
      <Page
        title="Actions"
        isList
        updatedAt={list.dataUpdatedAt}
        actions={<ActionTabs />}
        toolbar={
          <FilterBar>
            <Choice name="status" label="Status" options={STATUSES} />
            <Text name="machine" label="Machine" suggestions={machines.data?.map(one => one.id)} />
            <Text name="actionId" label="Action" />
            <Text name="type" label="Type" />
            <Text name="filter" label="Filter" placeholder='errorType = "timeout" AND priority > 50' isWide />
            <span className="soft">{list.data ? counted(list) : null}</span>
          </FilterBar>
        }
      >
        <Show query={list} rows={12}>
          {rows =>
            rows.length === 0 ? (
              <Empty title={search ? 'No action matches.' : 'No actions yet.'}>
                Machines trigger actions when they enter a state.
              </Empty>
            ) : (
              <Table
                label="Actions"
                rows={rows}
                columns={COLUMNS}
                keyOf={row => row.id}
                to={row => `/actions/${row.id}${search ? `?${search}` : ''}`}
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
