// The tree of services: what each does, since when, its circuit, and the rules that restart it.
import type { Schemas } from '@/api/client';
import { codeOf } from '@/api/problem';
import { useWorkers } from '@/api/queries';
import { visible } from '@/lib/visible';
import { Page, Split } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { type Column, Table } from '@/parts/Table';
import { Time } from '@/parts/Time';
import styles from './Supervision.module.css';

type Worker = Schemas['Worker'];

/** The last name of a path, set in by its depth. */
function Name({ path }: { path: string }) {
  const names = path.split('/').filter(Boolean);
  return (
    <span style={{ paddingLeft: `${Math.max(0, names.length - 1) * 20}px` }} className={styles.name}>
      {names.at(-1) ?? '/'}
    </span>
  );
}

const COLUMNS: Column<Worker>[] = [
  { name: 'Service', width: 'minmax(120px, 1fr)', cell: row => <Name path={row.path} /> },
  { name: 'State', width: '104px', cell: row => <Status status={row.state} /> },
  { name: 'Why', width: 'minmax(120px, 2fr)', cell: row => visible(row.waiting ?? row.reason), isExtra: true },
  { name: 'Restarts', width: '64px', isNumber: true, cell: row => row.restarts },
  { name: 'Circuit', width: '90px', cell: row => <Status status={row.circuit} />, isExtra: true },
  { name: 'Since', width: '150px', cell: row => <Time at={row.since} />, isExtra: true },
];

export function pathTo(path: string): string {
  return `/supervision/${encodeURIComponent(path)}`;
}

export default function Supervision() {
  const workers = useWorkers();
  return (
    <Split pattern="/supervision/:path">
      <Page title="Supervision" isList updatedAt={workers.dataUpdatedAt}>
        {codeOf(workers.error) === 'supervision-off' ? (
          <Empty title="This server supervises no services.">
            Start it with <code>sprag up --services FILE</code>.
          </Empty>
        ) : (
          <Show query={workers} rows={6}>
            {({ data }) =>
              data.length === 0 ? (
                <Empty title="The file of services has no services." />
              ) : (
                <Table
                  label="Services"
                  rows={data}
                  columns={COLUMNS}
                  keyOf={row => row.path}
                  to={row => pathTo(row.path)}
                />
              )
            }
          </Show>
        )}
      </Page>
    </Split>
  );
}
