// What is wrong, ranked: the cause, since when, and what to do. Then what is under way. Health is one line.
import { Link } from 'react-router';
import { counted } from '@/api/list';
import { codeOf } from '@/api/problem';
import {
  useApprovals,
  useDeadLetters,
  useExecutions,
  useHealth,
  useMachines,
  useSwitches,
  useSystem,
  useWorkers,
} from '@/api/queries';
import { visible } from '@/lib/visible';
import { Facts, Page, Section } from '@/parts/Page';
import { Loading, ProblemNote } from '@/parts/States';
import { Mark } from '@/parts/Status';
import { Time } from '@/parts/Time';
import { percent } from '../actions/Health';
import { FirstVisit } from './FirstVisit';
import styles from './Overview.module.css';
import { type Problem, problemsOf } from './problems';

export default function Overview() {
  const machines = useMachines();
  if (machines.data?.length === 0) return <FirstVisit />;
  return <Shown />;
}

function Shown() {
  const dead = useDeadLetters({});
  const failed = useExecutions({ status: 'failed' });
  const paused = useExecutions({ status: 'paused' });
  const approvals = useApprovals();
  const switches = useSwitches();
  const workers = useWorkers();
  const system = useSystem();
  const health = useHealth({ window: '15m' });
  const queries = [dead, failed, paused, approvals, switches, system];
  const error = queries.find(query => query.isError && query.data === undefined)?.error;
  const isLoading = queries.some(query => query.data === undefined && !query.isError);
  const problems = problemsOf({
    dead: dead.data ?? [],
    failed: failed.data ?? [],
    paused: paused.data ?? [],
    approvals: approvals.data ?? [],
    switches: switches.data?.data ?? [],
    workers: workers.data?.data ?? [],
    notes: system.data?.notes ?? [],
    cluster: system.data?.cluster,
  });
  const running = useExecutions({ status: 'running' });
  return (
    <Page title="Overview" updatedAt={dead.dataUpdatedAt}>
      <div className="sections">
        <Section title="What is wrong">
          {error ? <ProblemNote error={error} /> : null}
          {isLoading && problems.length === 0 ? <Loading rows={5} /> : null}
          {!isLoading && !error && problems.length === 0 ? (
            <p className="row">
              <Mark tone="good" /> Nothing. No dead letters, no failed executions, no services in trouble.
            </p>
          ) : null}
          {problems.length > 0 ? (
            <ol className={styles.problems} aria-label="Problems, the worst first">
              {problems.map(problem => (
                <Row key={problem.id} problem={problem} />
              ))}
            </ol>
          ) : null}
        </Section>
        <Section title="Under way">
          <Facts
            of={[
              [
                'Running executions',
                <Link key="running" to="/executions?status=running">
                  {running.data ? counted(running) : '…'}
                </Link>,
              ],
              [
                'Dead letters',
                <Link key="dead" to="/dead-letters">
                  {dead.data ? counted(dead) : '…'}
                </Link>,
              ],
              [
                'Plans that wait',
                <Link key="plans" to="/approvals">
                  {approvals.data ? counted(approvals) : '…'}
                </Link>,
              ],
              [
                'Switches on',
                <Link key="switches" to="/settings/switches">
                  {switches.data?.data.length ?? '…'}
                </Link>,
              ],
              [
                'Services',
                codeOf(workers.error) ? null : (
                  <Link key="services" to="/supervision">
                    {workers.data?.data.length ?? '…'}
                  </Link>
                ),
              ],
              [
                'Actions that succeeded, 15 min',
                <Link key="health" to="/actions/health?window=15m">
                  {health.data ? percent(health.data.successRate) : '…'}
                </Link>,
              ],
            ]}
          />
        </Section>
      </div>
    </Page>
  );
}

function Row({ problem: { tone, title, cause, since, remedy, to } }: { problem: Problem }) {
  return (
    <li className={styles.problem}>
      <Mark tone={tone} />
      <div>
        <p>
          <Link to={to} className={styles.title} data-row-link>
            {visible(title)}
          </Link>
        </p>
        {cause ? <p className={styles.cause}>{visible(cause)}</p> : null}
        <p className="soft">{visible(remedy)}</p>
      </div>
      <div className={styles.since}>{since ? <Time at={since} /> : null}</div>
    </li>
  );
}
