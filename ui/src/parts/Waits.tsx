// Why something waits, since when, and until when.
import { Link } from 'react-router';
import { visible } from '@/lib/visible';
import { reasonOf, type Waiting } from '@/lib/waiting';
import { Time } from './Time';

export function Waits({ waiting, withRemedy }: { waiting: Waiting; withRemedy?: boolean }) {
  const reason = reasonOf(waiting);
  if (!reason) return <span className="soft">Ended</span>;
  const next = waiting.state === 'retrying' ? waiting.nextAt : waiting.state === 'waiting' ? waiting.until : undefined;
  const since = waiting.state === 'retrying' ? undefined : 'since' in waiting ? waiting.since : undefined;
  return (
    <span>
      {reason.to ? <Link to={reason.to}>{visible(reason.text)}</Link> : visible(reason.text)}
      {next ? (
        <>
          {waiting.state === 'retrying' ? ' ' : ', until '}
          <Time at={next} />
        </>
      ) : null}
      {since ? (
        <span className="soft">
          , since <Time at={since} />
        </span>
      ) : null}
      {withRemedy && reason.remedy ? <span>. {reason.remedy}</span> : null}
    </span>
  );
}
