// One machine: its states, its source with live findings, a simulation by clicking events, and its versions.
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link, useParams } from 'react-router';
import { api, newKey, type Schemas, unwrap } from '@/api/client';
import { useMachine } from '@/api/queries';
import { parseChart } from '@/lib/chart';
import { address, useParam } from '@/lib/url';
import { visible } from '@/lib/visible';
import { toYaml } from '@/lib/yaml';
import { Diff } from '@/parts/Diff';
import { type Fact, Facts, Page, Section } from '@/parts/Page';
import { Statechart } from '@/parts/Statechart';
import { Empty, Show } from '@/parts/States';
import { Time } from '@/parts/Time';
import { RoleButton } from '@/parts/Verb';
import { StartDialog } from '../executions/StartDialog';
import { Apply } from './Apply';
import { Simulation } from './Simulation';
import { Tabs } from './Tabs';

type Machine = Schemas['Machine'];

const TABS = { states: 'States', source: 'Source', simulate: 'Simulate', versions: 'Versions' };

export default function MachinePage() {
  const { id = '' } = useParams();
  const [version, setVersion] = useParam('version');
  const newest = useMachine(id);
  const chosen = useMachine(id, version ? Number(version) : undefined);
  const [isStarting, setStarting] = useState(false);
  return (
    <Page
      title={id}
      updatedAt={chosen.dataUpdatedAt}
      actions={
        <>
          <Versions newest={newest.data?.version} chosen={version} onChange={setVersion} />
          <Link to={address('/executions', { machine: id })}>Executions</Link>
          <RoleButton route="POST /v1/executions" kind="primary" onClick={() => setStarting(true)}>
            Start
          </RoleButton>
        </>
      }
    >
      <Show query={chosen} rows={10}>
        {machine => <Shown key={machine.version} machine={machine} newest={newest.data?.version ?? machine.version} />}
      </Show>
      {isStarting ? <StartDialog machine={id} onClose={() => setStarting(false)} /> : null}
    </Page>
  );
}

type VersionsProps = { newest?: number; chosen: string; onChange: (version: string) => void };

function Versions({ newest = 0, chosen, onChange }: VersionsProps) {
  if (newest < 2) return null;
  const all = Array.from({ length: newest }, (_, index) => newest - index);
  return (
    <select aria-label="Version" value={chosen} onChange={event => onChange(event.target.value)}>
      <option value="">Newest version ({newest})</option>
      {all.map(one => (
        <option key={one} value={one}>
          Version {one}
        </option>
      ))}
    </select>
  );
}

function Shown({ machine, newest }: { machine: Machine; newest: number }) {
  const [tab, setTab] = useParam('tab', 'states');
  const chart = useMemo(() => parseChart(machine.definition), [machine]);
  const source = useMemo(() => toYaml(machine.definition), [machine]);
  return (
    <div className="sections">
      <Facts of={factsOf(machine)} />
      <Tabs label="Views of the machine" tabs={TABS} chosen={tab} onChoose={setTab}>
        {tab === 'source' ? <Apply source={source} /> : null}
        {tab === 'simulate' ? (
          <Simulation of={{ machine: machine.id, version: machine.version }} chart={chart} />
        ) : null}
        {tab === 'versions' ? <Compare machine={machine} newest={newest} /> : null}
        {tab === 'states' ? (
          <Statechart
            machine={machine.id}
            version={machine.version}
            chart={chart}
            linkTo={state => address('/executions', { machine: machine.id, state, status: 'running' })}
          />
        ) : null}
      </Tabs>
    </div>
  );
}

function factsOf({ version, description, createdAt, digest, permissions }: Machine): Fact[] {
  return [
    ['Description', description ? visible(description) : null],
    ['Version', version],
    ['Applied', <Time key="applied" at={createdAt} />],
    [
      'Actions need',
      [...new Set(permissions.flatMap(one => one.permissions.map(({ scope, object }) => `${scope} ${object}`)))].join(
        ', ',
      ),
    ],
    [
      'Digest',
      <span key="digest" className="mono">
        {digest}
      </span>,
    ],
  ];
}

/** What changed since an earlier version, in the words of a machine file. */
function Compare({ machine: { id, version }, newest }: { machine: Machine; newest: number }) {
  const [against, setAgainst] = useParam('against', String(Math.max(1, version - 1)));
  const before = Number(against);
  const difference = useQuery({
    queryKey: ['machine', id, 'diff', before, version],
    enabled: before !== version,
    queryFn: () =>
      unwrap(
        api.POST('/v1/machines/diff', {
          body: { before: { machine: id, version: before }, after: { machine: id, version } },
          headers: { 'Idempotency-Key': newKey() },
        }),
      ),
  });
  if (newest < 2) return <Empty title="There is one version." />;
  return (
    <Section
      title={`Version ${before} to ${version}`}
      actions={
        <select aria-label="Compare with" value={against} onChange={event => setAgainst(event.target.value)}>
          {Array.from({ length: newest }, (_, index) => String(newest - index)).map(one => (
            <option key={one} value={one}>
              Compare with version {one}
            </option>
          ))}
        </select>
      }
    >
      {before === version ? (
        <Empty title="This is the same version." />
      ) : (
        <Show query={difference}>
          {({ changes }) => (changes.length === 0 ? <Empty title="Nothing changed." /> : <Changes changes={changes} />)}
        </Show>
      )}
    </Section>
  );
}

function Changes({ changes }: { changes: Schemas['Difference']['changes'] }) {
  return (
    <ul className="stack">
      {changes.map((change, index) => (
        <li key={index} className="stack">
          <p>
            <strong>{visible(change.name)}</strong> <span className="soft">{change.what}</span> {change.change}
          </p>
          {change.fields?.map(field => (
            <div key={field.field}>
              <p className="mono">{visible(field.field)}</p>
              <Diff label={`Change of ${field.field}`} before={field.before ?? ''} after={field.after ?? ''} />
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}
