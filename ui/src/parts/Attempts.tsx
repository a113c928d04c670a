// The attempts of an action: when each began, how long it took, and how it ended.
import type { Schemas } from '@/api/client';
import { took } from '@/lib/time';
import { visible } from '@/lib/visible';
import { Empty } from './States';
import { Status } from './Status';
import { Time } from './Time';

export function Attempts({ attempts }: { attempts: Schemas['Attempt'][] }) {
  if (attempts.length === 0) return <Empty title="No attempt has begun." />;
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col" className="number">
              No.
            </th>
            <th scope="col">Began</th>
            <th scope="col" className="number">
              Took
            </th>
            <th scope="col">Outcome</th>
            <th scope="col">Error</th>
          </tr>
        </thead>
        <tbody>
          {attempts.toReversed().map(attempt => (
            <tr key={attempt.id}>
              <td className="number">{attempt.number}</td>
              <td>
                <Time at={attempt.startTime} />
              </td>
              <td className="number">{attempt.duration === null ? '–' : took(attempt.duration)}</td>
              <td>{attempt.outcome ? <Status status={attempt.outcome} /> : <Status status="running" />}</td>
              <td>
                {attempt.error ? (
                  <>
                    <code>{visible(attempt.error.type)}</code> {visible(attempt.error.message)}
                  </>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
