// Time zone and theme of this browser, and whose token this tab shows.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMe } from '@/api/me';
import { dropToken } from '@/api/session';
import { ThemeSwitch } from '@/app/Switches';
import { useZone } from '@/lib/preferences';
import { isZone } from '@/lib/time';
import { Facts, Section } from '@/parts/Page';
import { Show } from '@/parts/States';
import { Field } from '@/parts/Verb';
import styles from './Settings.module.css';

const ZONES = Intl.supportedValuesOf('timeZone');

export function Display() {
  const me = useMe();
  const client = useQueryClient();
  return (
    <div className="sections">
      <Section title="Time and theme">
        <div className={styles.narrow}>
          <ZoneField />
          <div>
            <span className="soft">Theme</span>
            <div>
              <ThemeSwitch />
            </div>
          </div>
        </div>
      </Section>
      <Section title="You">
        <Show query={me} rows={2}>
          {data => (
            <>
              <Facts
                of={[
                  ['Principal', data.principal],
                  ['Roles', data.roles.join(', ')],
                  [
                    'Authentication',
                    data.authentication ? 'on' : 'off: every caller on this machine may do everything',
                  ],
                  ['Demo', data.demo ? 'yes' : null],
                ]}
              />
              {data.authentication ? (
                <div>
                  <button
                    type="button"
                    onClick={() => {
                      dropToken();
                      void client.resetQueries();
                    }}
                  >
                    Sign out
                  </button>
                </div>
              ) : null}
            </>
          )}
        </Show>
      </Section>
    </div>
  );
}

function ZoneField() {
  const [zone, setZone] = useZone();
  const [typed, setTyped] = useState(zone);
  const isKnown = isZone(typed);
  return (
    <Field
      label="Time zone"
      note={
        isKnown ? 'All times are shown in it. Copies are RFC 3339 in UTC.' : `This browser knows no zone \`${typed}\`.`
      }
    >
      {id => (
        <>
          <input
            id={id}
            list={`${id}-zones`}
            value={typed}
            onChange={event => {
              setTyped(event.target.value);
              if (isZone(event.target.value)) setZone(event.target.value);
            }}
          />
          <datalist id={`${id}-zones`}>
            {['UTC', ...ZONES].map(name => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
