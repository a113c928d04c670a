// The list of executions, newest first, narrowed by filters that the server applies.
import { useState } from 'react';
import { counted } from '@/api/list';
import { type ExecutionRow, useExecutions, useMachines } from '@/api/queries';
import { useParam } from '@/lib/url';
import { Choice, FilterBar, Text } from '@/parts/Filters';
import { Page } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';
import { RoleButton } from '@/parts/Verb';
import { Waits } from '@/parts/Waits';
import { StartDialog } from './StartDialog';

const STATUSES = ['running', 'paused', 'failed', 'completed', 'cancelled'] as const;

const COLUMNS: Column<ExecutionRow>[] = [
  { name: 'Execution', width: 'minmax(120px, 1.2fr)', cell: row => row.key ?? row.id },
  { name: 'Status', width: '104px', cell: row => <Status status={row.status} /> },
  { name: 'Machine', width: 'minmax(90px, 1fr)', cell: row => `${row.machine} v${row.version}`, isExtra: true },
  { name: 'State', width: 'minmax(90px, 1fr)', cell: row => row.configuration.join(', ') },
  {
    name: 'Waits',
    width: 'minmax(120px, 1.6fr)',
    cell: row => (row.waiting.state === 'done' ? null : <Waits waiting={row.waiting} />),
    isExtra: true,
  },
  { name: 'Updated', width: '150px', cell: row => <Time at={row.updatedAt} />, isExtra: true },
];

export default function Executions() {
  const [machine] = useParam('machine');
  const [status] = useParam('status');
  const [key] = useParam('key');
  const [state] = useParam('state');
  const [filter] = useParam('filter');
  const [isStarting, setStarting] = useState(false);
  const given = { machine, status, key, state, filter };
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  const list = useExecutions(query);
  const machines = useMachines();
  return (
    <Page
      title="Executions"
      isList
      updatedAt={list.dataUpdatedAt}
      actions={
        <RoleButton route="POST /v1/executions" kind="primary" onClick={() => setStarting(true)}>
          Start
        </RoleButton>
      }
      toolbar={
        <FilterBar>
          <Choice name="status" label="Status" options={STATUSES} />
          <Text name="machine" label="Machine" suggestions={machines.data?.map(one => one.id)} />
          <Text name="state" label="State" />
          <Text name="key" label="Key" />
          <Text name="filter" label="Filter" placeholder='tag = "vip" AND createdAt > "2026-01-01"' isWide />
          <span className="soft">{list.data ? counted(list) : null}</span>
        </FilterBar>
      }
    >
      <Show query={list} rows={12}>
        {rows =>
          rows.length === 0 ? (
            <Empty title={Object.keys(query).length > 0 ? 'No execution matches.' : 'No executions yet.'}>
              {Object.keys(query).length > 0 ? 'Change the filters.' : 'Start one of a machine.'}
            </Empty>
          ) : (
            <Table
              label="Executions"
              rows={rows}
              columns={COLUMNS}
              keyOf={row => row.id}
              to={row => `/executions/${row.id}`}
              hasMore={list.hasNextPage && !list.isFetchingNextPage}
              onMore={list.fetchNextPage}
            />
          )
        }
      </Show>
      {isStarting ? <StartDialog machine={machine} onClose={() => setStarting(false)} /> : null}
    </Page>
  );
}
