// One execution: why it waits and what would help, its states lit, its history, its variables, and what can be sent to it.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link, useParams } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { useExecution, useMachine } from '@/api/queries';
import { accepted, parseChart } from '@/lib/chart';
import { address, useParam } from '@/lib/url';
import { Code } from '@/parts/Code';
import { type Fact, Facts, Page, Section } from '@/parts/Page';
import { Statechart } from '@/parts/Statechart';
import { Show } from '@/parts/States';
import { Status } from '@/parts/Status';
import { Time } from '@/parts/Time';
import styles from './Execution.module.css';
import { ExecutionActions } from './ExecutionActions';
import { Explained } from './Explained';
import { History } from './History';
import { configurationAt, useHistory } from './past';
import { SendMessage } from './SendMessage';
import { Verbs } from './Verbs';

type Execution = Schemas['Execution'];

export default function ExecutionPage() {
  const { id = '' } = useParams();
  const execution = useExecution(id);
  return (
    <Page
      title={execution.data?.key ?? id}
      updatedAt={execution.dataUpdatedAt}
      actions={execution.data ? <Verbs execution={execution.data} /> : null}
    >
      <Show query={execution} rows={10}>
        {data => <Shown execution={data} />}
      </Show>
    </Page>
  );
}

function Shown({ execution }: { execution: Execution }) {
  const { id } = execution;
  const explanation = useQuery({
    queryKey: keys.explanation(id),
    queryFn: ({ signal }) => unwrap(api.GET('/v1/executions/{id}/explain', { params: { path: { id } }, signal })),
  });
  const history = useHistory(id);
  const [entry, setEntry] = useParam('entry');
  const at = entry ? Number(entry) : null;
  const past = at === null ? null : configurationAt(history.data ?? [], at);
  return (
    <div className="sections">
      <Facts of={factsOf(execution)} />
      <Show query={explanation} rows={1}>
        {data => <Explained explanation={data} />}
      </Show>
      <div className={styles.columns}>
        <Section
          title={at === null ? 'States' : `States after entry ${at}`}
          actions={
            at === null ? null : (
              <button type="button" className="plain" onClick={() => setEntry('')}>
                Back to now
              </button>
            )
          }
        >
          <Lit execution={execution} configuration={past ?? execution.configuration} />
        </Section>
        <Section title="History">
          <History
            history={history}
            selected={at}
            onSelect={sequence => setEntry(sequence === null ? '' : String(sequence))}
          />
        </Section>
      </div>
      <Section title="Actions">
        <ExecutionActions id={id} />
      </Section>
      <div className={styles.columns}>
        <Section title="Variables">
          <Code value={execution.variables} name={`${id}-variables.json`} label="Variables" />
        </Section>
        {execution.output === undefined ? null : (
          <Section title="Output">
            <Code value={execution.output} name={`${id}-output.json`} label="Output" />
          </Section>
        )}
      </div>
    </div>
  );
}

function Lit({ execution, configuration }: { execution: Execution; configuration: string[] }) {
  const machine = useMachine(execution.machine, execution.version);
  const chart = useMemo(() => (machine.data ? parseChart(machine.data.definition) : null), [machine.data]);
  const isOpen = execution.status === 'running' || execution.status === 'paused';
  return (
    <Show query={machine}>
      {() =>
        chart ? (
          <>
            <SendMessage id={execution.id} types={accepted(chart, execution.configuration)} isOpen={isOpen} />
            <Statechart
              machine={execution.machine}
              version={execution.version}
              chart={chart}
              configuration={configuration}
            />
          </>
        ) : null
      }
    </Show>
  );
}

function factsOf(execution: Execution): Fact[] {
  const { id, status, machine, version, configuration, createdAt, updatedAt, tags, sequence } = execution;
  return [
    ['Status', <Status key="status" status={status} />],
    ['State', configuration.join(', ')],
    [
      'Machine',
      <Link key="machine" to={address(`/machines/${encodeURIComponent(machine)}`, { version: String(version) })}>
        {machine} v{version}
      </Link>,
    ],
    ['Started', <Time key="created" at={createdAt} />],
    ['Updated', <Time key="updated" at={updatedAt} />],
    ['Entries', sequence],
    ['Tags', tags.join(', ')],
    [
      'Id',
      <span key="id" className="mono">
        {id}
      </span>,
    ],
  ];
}
