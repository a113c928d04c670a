// Dead letters: those that died for the same reason together, or one by one; the case file beside them.
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { counted } from '@/api/list';
import { useDeadLetters, useMachines } from '@/api/queries';
import { all, equals } from '@/lib/filter';
import { useParam } from '@/lib/url';
import { visible } from '@/lib/visible';
import { Choice, FilterBar, Text } from '@/parts/Filters';
import { Page, Split } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Mark } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';
import { RoleButton } from '@/parts/Verb';
import { type Group, grouped } from './groups';
import { RetryAll } from './RetryAll';

type Action = Schemas['Action'];

const VIEWS = ['alike', 'each'] as const;
const WINDOWS = ['15m', '1h', '24h', '7d'] as const;

const EACH: Column<Action>[] = [
  {
    name: 'Error',
    width: 'minmax(150px, 2fr)',
    cell: row => (
      <>
        <Mark tone="bad" />{' '}
        {row.lastError ? visible(`${row.lastError.type}: ${row.lastError.message}`) : 'without an error'}
      </>
    ),
  },
  { name: 'Action', width: 'minmax(110px, 1fr)', cell: row => `${row.machine}/${row.actionId}` },
  { name: 'Attempts', width: '64px', isNumber: true, isExtra: true, cell: row => row.attempts.length },
  { name: 'Died', width: '150px', isExtra: true, cell: row => <Time at={row.diedAt} /> },
];

const ALIKE: Column<Group>[] = [
  {
    name: 'Cause',
    width: 'minmax(150px, 2fr)',
    cell: group => (
      <>
        <Mark tone="bad" /> {visible(group.cause)}
      </>
    ),
  },
  { name: 'Action', width: 'minmax(110px, 1fr)', cell: group => group.action },
  { name: 'Alike', width: '56px', isNumber: true, cell: group => group.letters.length },
  { name: 'Newest', width: '150px', isExtra: true, cell: group => <Time at={group.newest.diedAt} /> },
];

export default function DeadLetters() {
  const [view] = useParam('view', 'alike');
  const [machine] = useParam('machine');
  const [error] = useParam('error');
  const [fingerprint] = useParam('fingerprint');
  const [newerThan] = useParam('newerThan');
  const [filter] = useParam('filter');
  const given = { machine, error, fingerprint, newerThan, filter };
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  const list = useDeadLetters(query);
  const machines = useMachines();
  const [isRetrying, setRetrying] = useState(false);
  const search = new URLSearchParams({ ...query, ...(view === 'alike' ? {} : { view }) }).toString();
  const to = (id: string) => `/dead-letters/${id}${search ? `?${search}` : ''}`;
  // A job takes a filter, and knows no ages.
  const asFilter = all([
    equals('machine', machine),
    equals('errorType', error),
    equals('fingerprint', fingerprint),
    filter,
  ]);
  const noFilter =
    asFilter && !newerThan ? null : 'Filter by machine, error or a condition first: a job never acts on everything.';
  return (
    <Split pattern="/dead-letters/:id">
      <Page
        title="Dead letters"
        isList
        updatedAt={list.dataUpdatedAt}
        actions={
          <RoleButton route="POST /v1/dead-letters/retry" disabled={noFilter} onClick={() => setRetrying(true)}>
            Retry all that match
          </RoleButton>
        }
        toolbar={
          <FilterBar>
            <Choice name="view" label="View" options={VIEWS} otherwise="alike" />
            <Text name="machine" label="Machine" suggestions={machines.data?.map(one => one.id)} />
            <Text name="error" label="Error type" />
            <Choice name="newerThan" label="Age" options={WINDOWS} />
            <Text name="filter" label="Filter" placeholder='tag = "critical" OR priority > 90' isWide />
            <span className="soft">{list.data ? counted(list) : null}</span>
          </FilterBar>
        }
      >
        <Show query={list} rows={10}>
          {rows => {
            if (rows.length === 0) {
              const title = Object.keys(query).length > 0 ? 'No dead letter matches.' : 'No dead letters.';
              return <Empty title={title}>An action that Sprag stops retrying waits here for a person.</Empty>;
            }
            const more = { hasMore: list.hasNextPage && !list.isFetchingNextPage, onMore: list.fetchNextPage };
            if (view !== 'alike') {
              return (
                <Table
                  label="Dead letters"
                  rows={rows}
                  columns={EACH}
                  keyOf={row => row.id}
                  to={row => to(row.id)}
                  {...more}
                />
              );
            }
            return (
              <>
                {list.hasNextPage ? <p className="soft">Counted among the newest {rows.length}.</p> : null}
                <Table
                  label="Dead letters by cause"
                  rows={grouped(rows)}
                  columns={ALIKE}
                  keyOf={group => group.fingerprint}
                  to={group => to(group.newest.id)}
                  {...more}
                />
              </>
            );
          }}
        </Show>
        {isRetrying ? <RetryAll filter={asFilter} onClose={() => setRetrying(false)} /> : null}
      </Page>
    </Split>
  );
}
