// The server and its store: version, notes, nodes with their leases, shards with their owners, and the bounds that hold.

import { Link } from 'react-router';
import type { Schemas } from '@/api/client';
import { useSystem } from '@/api/queries';
import { visible } from '@/lib/visible';
import { Facts, Page, Section } from '@/parts/Page';
import { Show } from '@/parts/States';
import { Mark, Status } from '@/parts/Status';
import { Time } from '@/parts/Time';

type System = Schemas['System'];
type Cluster = NonNullable<System['cluster']>;

export default function ClusterPage() {
  const system = useSystem();
  return (
    <Page title="Cluster" updatedAt={system.dataUpdatedAt}>
      <Show query={system}>
        {data => (
          <div className="sections">
            <Facts
              of={[
                ['Version', data.version],
                ['Store', visible(data.store)],
                ['Nodes', data.cluster ? data.cluster.nodes.length : 'one, on its own store'],
                ['Lag', data.cluster ? `${data.cluster.lag} ms` : null],
              ]}
            />
            {data.notes.length > 0 ? (
              <Section title="Notes">
                <ul className="stack">
                  {data.notes.map(note => (
                    <li key={note.code} className="row">
                      <Mark tone="warning" />
                      <span>
                        {visible(note.text)} <Link to={`/help/${note.code}`}>About {note.code}</Link>
                      </span>
                    </li>
                  ))}
                </ul>
              </Section>
            ) : null}
            {data.cluster ? <Nodes cluster={data.cluster} /> : null}
            <Section title="Bounds">
              <Facts of={Object.entries(data.limits).map(([name, value]) => [name, value.toLocaleString('en')])} />
            </Section>
          </div>
        )}
      </Show>
    </Page>
  );
}

function Nodes({ cluster: { node: own, nodes, shards } }: { cluster: Cluster }) {
  const free = shards.filter(shard => shard.owner === null).length;
  return (
    <Section title="Nodes">
      <div className="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col">Address</th>
              <th scope="col">Version</th>
              <th scope="col" className="number">
                Shards
              </th>
              <th scope="col">Lease until</th>
              <th scope="col">Joined</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map(node => (
              <tr key={node.id}>
                <td className="mono">
                  {node.id}
                  {node.id === own ? ' (answers you)' : ''}
                </td>
                <td>
                  <Status status={node.leaving ? 'leaving' : node.alive ? 'alive' : 'gone'} />
                </td>
                <td>{node.advertise}</td>
                <td>{node.version}</td>
                <td className="number">{node.shards}</td>
                <td>
                  <Time at={node.leaseUntil} />
                </td>
                <td>
                  <Time at={node.joinedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {free > 0 ? <p className="bad">{free} shards have no owner: their executions wait.</p> : null}
    </Section>
  );
}
