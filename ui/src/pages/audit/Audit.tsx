// Who decided what, and why: the audit, newest first, with the heads of its chains.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { counted, PAGE, useList } from '@/api/list';
import { POLL_MS } from '@/api/queries';
import { all, equals } from '@/lib/filter';
import { pageOf } from '@/lib/ids';
import { useParam } from '@/lib/url';
import { visible } from '@/lib/visible';
import { Code } from '@/parts/Code';
import { Dialog } from '@/parts/Dialog';
import { FilterBar, Text } from '@/parts/Filters';
import { Page } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';

type Entry = Schemas['AuditEntry'];

function Target({ target }: { target: string }) {
  const to = pageOf(target);
  return to ? <Link to={to}>{target}</Link> : visible(target);
}

const COLUMNS: Column<Entry>[] = [
  { name: 'When', width: '150px', cell: row => <Time at={row.at} /> },
  { name: 'Who', width: 'minmax(80px, 0.8fr)', cell: row => visible(row.principal) },
  {
    name: 'Did',
    width: 'minmax(110px, 1fr)',
    cell: row => (row.refused ? <Status status="failed" word={`${row.verb}, refused`} /> : row.verb),
  },
  { name: 'To', width: 'minmax(110px, 1.4fr)', cell: row => <Target target={row.target} />, isExtra: true },
  { name: 'Why', width: 'minmax(100px, 1.4fr)', cell: row => visible(row.reason ?? row.refused ?? ''), isExtra: true },
  { name: 'Entry', width: '72px', isNumber: true, isExtra: true, cell: row => `${row.shard}:${row.sequence}` },
];

export default function Audit() {
  const [principal] = useParam('principal');
  const [verb] = useParam('verb');
  const [target] = useParam('target');
  const [typed] = useParam('filter');
  const filter = all([equals('principal', principal), equals('verb', verb), equals('target', target), typed]);
  const query = filter ? { filter } : {};
  const [isShowingHeads, setShowingHeads] = useState(false);
  const list = useList(
    keys.audit(query),
    (cursor, signal) => unwrap(api.GET('/v1/audit', { params: { query: { ...query, cursor, limit: PAGE } }, signal })),
    { refetchInterval: POLL_MS },
  );
  return (
    <Page
      title="Audit"
      isList
      updatedAt={list.dataUpdatedAt}
      actions={
        <button type="button" onClick={() => setShowingHeads(true)}>
          Heads of the chains
        </button>
      }
      toolbar={
        <FilterBar>
          <Text name="principal" label="Who" />
          <Text name="verb" label="Verb" placeholder="Verb, such as switch.on" />
          <Text name="target" label="Target" />
          <Text name="filter" label="Filter" placeholder='at > "2026-01-01"' isWide />
          <span className="soft">{list.data ? counted(list) : null}</span>
        </FilterBar>
      }
    >
      <Show query={list} rows={10}>
        {rows =>
          rows.length === 0 ? (
            <Empty title={filter ? 'No entry matches.' : 'No entries yet.'}>
              Every decision of a person leaves an entry.
            </Empty>
          ) : (
            <Table
              label="Audit"
              rows={rows}
              columns={COLUMNS}
              keyOf={row => `${row.shard}:${row.sequence}`}
              hasMore={list.hasNextPage && !list.isFetchingNextPage}
              onMore={list.fetchNextPage}
            />
          )
        }
      </Show>
      {isShowingHeads ? <Heads onClose={() => setShowingHeads(false)} /> : null}
    </Page>
  );
}

function Heads({ onClose }: { onClose: () => void }) {
  const heads = useQuery({
    queryKey: keys.heads,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/audit/heads', { signal })),
  });
  return (
    <Dialog title="Heads of the chains" onClose={onClose} isWide>
      <p>
        Keep them on another machine: <code>sprag audit verify --heads FILE</code> then shows a chain that was cut off
        or rolled back.
      </p>
      <Show query={heads}>{data => <Code value={data} name="heads.json" label="Heads" />}</Show>
    </Dialog>
  );
}
