// The machines, by their newest version. An empty server explains how to get a first one.
import { Link, useNavigate } from 'react-router';
import type { Schemas } from '@/api/client';
import { counted } from '@/api/list';
import { useMachines } from '@/api/queries';
import { visible } from '@/lib/visible';
import { Page } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';
import { RoleButton } from '@/parts/Verb';

type Machine = Schemas['MachineSummary'];

const COLUMNS: Column<Machine>[] = [
  { name: 'Machine', width: 'minmax(120px, 1fr)', cell: row => row.id },
  { name: 'Version', width: '64px', isNumber: true, cell: row => row.version },
  { name: 'Description', width: 'minmax(120px, 2fr)', isExtra: true, cell: row => visible(row.description ?? '') },
  { name: 'Applied', width: '150px', cell: row => <Time at={row.createdAt} /> },
];

export default function Machines() {
  const list = useMachines();
  const navigate = useNavigate();
  return (
    <Page
      title="Machines"
      isList
      updatedAt={list.dataUpdatedAt}
      actions={
        <RoleButton route="POST /v1/machines" kind="primary" onClick={() => void navigate('/machines/new')}>
          New machine
        </RoleButton>
      }
      toolbar={<span className="soft">{list.data ? counted(list) : null}</span>}
    >
      <Show query={list} rows={8}>
        {rows =>
          rows.length === 0 ? (
            <Empty title="No machines yet.">
              A machine says what happens, in which order, and what acts.{' '}
              <Link to="/machines/new">Write your first one</Link>
            </Empty>
          ) : (
            <Table
              label="Machines"
              rows={rows}
              columns={COLUMNS}
              keyOf={row => row.id}
              to={row => `/machines/${encodeURIComponent(row.id)}`}
              hasMore={list.hasNextPage && !list.isFetchingNextPage}
              onMore={list.fetchNextPage}
            />
          )
        }
      </Show>
    </Page>
  );
}
