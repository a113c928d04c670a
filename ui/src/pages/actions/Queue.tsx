// The queues: how many actions are ready, how old the oldest is, how many run, and what a queue waits for.
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { POLL_MS } from '@/api/queries';
import { took } from '@/lib/time';
import { visible } from '@/lib/visible';
import { Page, Section } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Waits } from '@/parts/Waits';
import { ActionTabs } from './Actions';

type Queue = Schemas['Queue'];

export default function QueuePage() {
  const queue = useQuery({
    queryKey: keys.queue,
    refetchInterval: POLL_MS,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/actions/queue', { params: { query: {} }, signal })),
  });
  return (
    <Page title="Queues" updatedAt={queue.dataUpdatedAt} actions={<ActionTabs />}>
      <Show query={queue}>
        {data => (
          <div className="sections">
            <Section title="By type">
              {data.types.length === 0 ? (
                <Empty title="Nothing waits and nothing runs." />
              ) : (
                <Types types={data.types} />
              )}
              {data.held.ready > 0 ? <p>{data.held.ready} more actions are held by kill switches.</p> : null}
            </Section>
            {data.data.length > 0 ? (
              <Section title="By queue">
                <Lines lines={data.data} />
              </Section>
            ) : null}
          </div>
        )}
      </Show>
    </Page>
  );
}

function Types({ types }: { types: Queue['types'] }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col" className="number">
              Ready
            </th>
            <th scope="col" className="number">
              Oldest
            </th>
            <th scope="col" className="number">
              Running
            </th>
            <th scope="col" className="number">
              Started in a minute
            </th>
          </tr>
        </thead>
        <tbody>
          {types.map(one => (
            <tr key={one.type}>
              <th scope="row">{one.type}</th>
              <td className="number">{one.ready}</td>
              <td className="number">{one.oldestAge === null ? '–' : took(one.oldestAge)}</td>
              <td className="number">{one.running}</td>
              <td className="number">{one.startedLastMinute}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Lines({ lines }: { lines: Queue['data'] }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">Destination</th>
            <th scope="col">Limits</th>
            <th scope="col" className="number">
              Ready
            </th>
            <th scope="col" className="number">
              Oldest
            </th>
            <th scope="col">Waits</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <tr key={index}>
              <td>{line.runner ? `${line.type} (${line.runner})` : line.type}</td>
              <td>{visible(line.destination ?? '–')}</td>
              <td>{visible(line.limits.join(', '))}</td>
              <td className="number">{line.ready}</td>
              <td className="number">{line.oldestAge === null ? '–' : took(line.oldestAge)}</td>
              <td>{line.waiting ? <Waits waiting={line.waiting} withRemedy /> : null}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
