// What an empty server shows: three steps to a first machine.
import { Link } from 'react-router';
import { Page } from '@/parts/Page';
import styles from './FirstVisit.module.css';

const STEPS: [title: string, text: string][] = [
  ['Write a machine', 'States, transitions and actions in one file. The server checks it while you write.'],
  ['Click through it', 'A simulation shows which states events lead to, and what would act. Nothing acts.'],
  ['Apply and start it', 'Sprag keeps every step, retries what fails, and shows you what waits for a person.'],
];

export function FirstVisit() {
  return (
    <Page title="Welcome to Sprag" name="Welcome">
      <p className={styles.lead}>
        Sprag runs state machines that act on the world, and never loses a step. This server is empty. A first machine
        takes three steps:
      </p>
      <ol className={styles.steps}>
        {STEPS.map(([title, text], index) => (
          <li key={title} className={styles.step}>
            <span className={styles.number} aria-hidden="true">
              {index + 1}
            </span>
            <div>
              <h2>{title}</h2>
              <p className="soft">{text}</p>
            </div>
          </li>
        ))}
      </ol>
      <p>
        <Link to="/machines/new" className={styles.begin}>
          Write your first machine
        </Link>
      </p>
      <p className="soft">
        To look around first, stop the server and start it with <code>sprag up --demo</code>. Programs begin at{' '}
        <a href="/api">the API</a>.
      </p>
    </Page>
  );
}
