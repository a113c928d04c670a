// Why an execution does not move: what it waits for, which actions are in its way, and what would help.
import { Link } from 'react-router';
import type { Schemas } from '@/api/client';
import { visible } from '@/lib/visible';
import { Prose } from '@/parts/Prose';
import { Mark, Status, type Tone } from '@/parts/Status';
import { Waits } from '@/parts/Waits';
import styles from './Explained.module.css';

type Explanation = Schemas['Explanation'];

export function Explained({ explanation }: { explanation: Explanation }) {
  const { status, waiting, failure, actions } = explanation;
  if (waiting.state === 'done' && actions.length === 0) return null;
  const isBad = status === 'failed' || actions.some(one => one.status === 'dead');
  const tone: Tone = isBad ? 'bad' : status === 'paused' ? 'warning' : 'busy';
  return (
    <section className={styles.banner} data-tone={tone} aria-label="Why it waits">
      <Mark tone={tone} />
      <div className="stack">
        <p>
          <Waits waiting={waiting} withRemedy />
        </p>
        {failure ? (
          <p>
            <Prose text={failure} />
          </p>
        ) : null}
        {actions.length > 0 ? (
          <ul className="stack">
            {actions.map(action => (
              <ExplainedAction key={action.id} action={action} />
            ))}
          </ul>
        ) : null}
      </div>
    </section>
  );
}

function ExplainedAction({ action }: { action: Explanation['actions'][number] }) {
  const isDead = action.status === 'dead';
  return (
    <li>
      <span className="row">
        <Link to={isDead ? `/dead-letters/${action.id}` : `/actions/${action.id}`}>{action.actionId}</Link>
        <Status status={action.status} word={isDead ? 'dead letter' : undefined} />
        {isDead ? null : (
          <span className="soft">
            <Waits waiting={action.waiting} />
          </span>
        )}
      </span>
      {action.lastError ? (
        <p>
          <code>{visible(action.lastError.type)}</code> {visible(action.lastError.message)}
        </p>
      ) : null}
      {action.suggestedFix ? (
        <p>
          <Prose text={action.suggestedFix} /> <Link to={`/dead-letters/${action.id}`}>Open the case file</Link>
        </p>
      ) : null}
    </li>
  );
}
