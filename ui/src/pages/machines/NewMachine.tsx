// Three steps to a first machine: write it with the server's findings beside it, click through it, apply and start it.
import { useState } from 'react';
import { Link } from 'react-router';
import { Page, Section } from '@/parts/Page';
import { StartDialog } from '../executions/StartDialog';
import { Apply } from './Apply';
import { DraftSimulation } from './DraftSimulation';
import { FIRST_MACHINE } from './first';

export default function NewMachine() {
  const [text, setText] = useState(FIRST_MACHINE);
  const [applied, setApplied] = useState<string | null>(null);
  const [isStarting, setStarting] = useState(false);
  return (
    <Page title="New machine">
      <div className="sections">
        <Section title="1. Write it">
          <p className="soft">
            States, and what leads from one to the next. An action runs when its state is entered; its end comes back as
            an event.
          </p>
          <Apply
            source={FIRST_MACHINE}
            onValid={setText}
            onApplied={({ id }) => {
              setApplied(id);
            }}
          />
        </Section>
        <Section title="2. Try it">
          <p className="soft">Click events. Nothing acts: this is a simulation on the server.</p>
          <DraftSimulation text={text} />
        </Section>
        <Section title="3. Apply and start it">
          {applied ? (
            <p className="row">
              <Link to={`/machines/${encodeURIComponent(applied)}`}>{applied}</Link> is applied.
              <button type="button" className="primary" onClick={() => setStarting(true)}>
                Start an execution
              </button>
            </p>
          ) : (
            <p className="soft">Apply the text above. Then start an execution of it here.</p>
          )}
        </Section>
      </div>
      {isStarting && applied ? <StartDialog machine={applied} onClose={() => setStarting(false)} /> : null}
    </Page>
  );
}
