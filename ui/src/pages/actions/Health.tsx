// How actions do: rates and delays in a window, the reasons of failures, and what the server recommends.
import { Link } from 'react-router';
import type { Schemas } from '@/api/client';
import { useHealth } from '@/api/queries';
import { took } from '@/lib/time';
import { address, useParam } from '@/lib/url';
import { visible } from '@/lib/visible';
import { Choice, FilterBar, Text } from '@/parts/Filters';
import { Facts, Page, Section } from '@/parts/Page';
import { Empty, Show } from '@/parts/States';
import { Mark } from '@/parts/Status';
import { ActionTabs } from './Actions';

type Report = Schemas['HealthReport'];

const WINDOWS = ['15m', '1h', '24h', '7d'] as const;

export function percent(rate: number | null): string {
  return rate === null ? '–' : `${(rate * 100).toFixed(rate === 1 || rate === 0 ? 0 : 1)} %`;
}

export default function Health() {
  const [window] = useParam('window', '1h');
  const [actionId] = useParam('actionId');
  const known = WINDOWS.find(one => one === window) ?? '1h';
  const report = useHealth({ window: known, ...(actionId ? { actionId } : {}) });
  return (
    <Page
      title="Health of actions"
      updatedAt={report.dataUpdatedAt}
      actions={<ActionTabs />}
      toolbar={
        <FilterBar>
          <Choice name="window" label="Window" options={WINDOWS} otherwise="1h" />
          <Text name="actionId" label="Action" placeholder="Action, or machine/action" />
        </FilterBar>
      }
    >
      <Show query={report}>
        {data => (data.isEmpty ? <Empty title="No action ran in this window." /> : <Shown report={data} />)}
      </Show>
    </Page>
  );
}

function Shown({ report }: { report: Report }) {
  return (
    <div className="sections">
      <Facts
        of={[
          ['Succeeded', `${report.succeeded} of ${report.totalExecutions} (${percent(report.successRate)})`],
          ['Dead letters', report.dead],
          ['Open', report.open],
          ['Retried', percent(report.retryRate)],
          ['Time, p50 / p95 / p99', triple(report.latency)],
          ['Queue delay, p50 / p95 / p99', triple(report.queueDelay)],
          ['Cost', report.totalCost || null],
          [
            'Counted from',
            report.basis.sampled ? `a sample of ${report.basis.actions} actions` : `${report.basis.actions} actions`,
          ],
        ]}
      />
      {report.recommendations.length > 0 ? (
        <Section title="Advice">
          <ul className="stack">
            {report.recommendations.map(one => (
              <li key={one.code + one.machine + one.actionId} className="row">
                <Mark tone="warning" />
                <span>
                  {one.machine}/{one.actionId}: {visible(one.text)}
                </span>
              </li>
            ))}
          </ul>
        </Section>
      ) : null}
      {report.failureReasons.length > 0 ? (
        <Section title="Reasons of failures">
          <Reasons reasons={report.failureReasons} />
        </Section>
      ) : null}
      <Section title="By action">
        <ByAction rows={report.byAction} />
      </Section>
    </div>
  );
}

function triple(latency: Report['latency']): string {
  return latency ? `${took(latency.p50)} / ${took(latency.p95)} / ${took(latency.p99)}` : '–';
}

function Reasons({ reasons }: { reasons: Report['failureReasons'] }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Error</th>
            <th scope="col" className="number">
              Attempts
            </th>
            <th scope="col" className="number">
              Dead letters
            </th>
            <th scope="col">For example</th>
          </tr>
        </thead>
        <tbody>
          {reasons.map(one => (
            <tr key={one.errorType}>
              <td>
                <Link to={address('/dead-letters', { error: one.errorType })}>{visible(one.errorType)}</Link>
              </td>
              <td className="number">{one.attempts}</td>
              <td className="number">{one.deadLetters}</td>
              <td>
                <p>
                  {visible(one.example)}{' '}
                  {one.deadLetter ? <Link to={`/dead-letters/${one.deadLetter}`}>Case file</Link> : null}
                </p>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ByAction({ rows }: { rows: Report['byAction'] }) {
  return (
    <div className="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Action</th>
            <th scope="col">Type</th>
            <th scope="col" className="number">
              Runs
            </th>
            <th scope="col" className="number">
              Succeeded
            </th>
            <th scope="col" className="number">
              Dead
            </th>
            <th scope="col" className="number">
              Retried
            </th>
            <th scope="col" className="number">
              p95
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(one => (
            <tr key={`${one.machine}/${one.actionId}`}>
              <td>
                <Link to={address('/actions', { machine: one.machine, actionId: one.actionId })}>
                  {one.machine}/{one.actionId}
                </Link>
              </td>
              <td>{one.type}</td>
              <td className="number">{one.totalExecutions}</td>
              <td className="number">{percent(one.successRate)}</td>
              <td className="number">{one.dead}</td>
              <td className="number">{percent(one.retryRate)}</td>
              <td className="number">{one.latency ? took(one.latency.p95) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
