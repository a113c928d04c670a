// The actions that an execution triggered, newest first.
import { Link } from 'react-router';
import { useActions } from '@/api/queries';
import { took } from '@/lib/time';
import { visible } from '@/lib/visible';
import { Empty, Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { Waits } from '@/parts/Waits';

export function ExecutionActions({ id }: { id: string }) {
  const actions = useActions({ executionId: id });
  return (
    <Show query={actions} rows={3}>
      {rows =>
        rows.length === 0 ? (
          <Empty title="It has triggered no actions yet." />
        ) : (
          <div className="scroll-x">
            <table>
              <thead>
                <tr>
                  <th scope="col">Action</th>
                  <th scope="col">Status</th>
                  <th scope="col" className="number">
                    Attempts
                  </th>
                  <th scope="col">What happened</th>
                  <th scope="col">Triggered</th>
                </tr>
              </thead>
              <tbody>
                {rows.map(action => (
                  <tr key={action.id}>
                    <td>
                      <Link to={action.status === 'dead' ? `/dead-letters/${action.id}` : `/actions/${action.id}`}>
                        {action.actionId}
                      </Link>{' '}
                      <span className="soft">{action.type}</span>
                    </td>
                    <td>
                      <Status status={action.status} />
                    </td>
                    <td className="number">{action.attempts.length}</td>
                    <td>{whatHappened(action)}</td>
                    <td>
                      <Time at={action.createdAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {actions.hasNextPage ? (
              <button type="button" onClick={() => void actions.fetchNextPage()}>
                Show older actions
              </button>
            ) : null}
          </div>
        )
      }
    </Show>
  );
}

type Action = NonNullable<ReturnType<typeof useActions>['data']>[number];

function whatHappened(action: Action) {
  if (action.waiting.state !== 'done') return <Waits waiting={action.waiting} />;
  if (action.lastError && action.status !== 'succeeded') {
    return (
      <>
        <code>{visible(action.lastError.type)}</code> {visible(action.lastError.message)}
      </>
    );
  }
  return action.duration === null ? null : `took ${took(action.duration)}`;
}
