// The source of a machine, checked while it is written, and applied as a new version.
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import { api, type Schemas, unwrap } from '@/api/client';
import { useWhyNot } from '@/api/me';
import { useWrite } from '@/api/write';
import { AS_YAML, Editor, Findings, useLint } from '@/parts/Editor';
import { ProblemNote } from '@/parts/States';
import { Status } from '@/parts/Status';
import { RoleButton } from '@/parts/Verb';

type Applied = Schemas['Applied'];
type Props = {
  source: string;
  onApplied?: (applied: Applied) => void;
  /** The text, whenever the server finds no error in it. */
  onValid?: (text: string) => void;
};

const ROUTE = 'POST /v1/machines';

export function Apply({ source, onApplied, onValid }: Props) {
  const [text, setText] = useState(source);
  const whyNot = useWhyNot(ROUTE);
  const lint = useLint(text);
  const write = useWrite({
    send: (body: string, headers) =>
      unwrap(
        api.POST('/v1/machines', { ...AS_YAML, headers: { ...AS_YAML.headers, ...headers }, body: body as never }),
      ) as Promise<Applied>,
    about: ['machine', 'machines'],
    onDone: onApplied,
  });
  const settled = lint.isValid && !lint.isBusy && lint.of === text ? text : null;
  useEffect(() => {
    if (settled !== null) onValid?.(settled);
  }, [settled, onValid]);
  const change = (next: string) => {
    setText(next);
    write.reset();
  };
  return (
    <div className="stack">
      <Editor
        label="Machine file"
        initial={source}
        findings={lint.findings}
        isReadOnly={whyNot !== null}
        onChange={change}
      />
      <div className="row">
        <RoleButton
          route={ROUTE}
          kind="primary"
          disabled={lint.isBusy ? 'The server still checks the text.' : lint.isValid ? null : 'Fix the errors first.'}
          onClick={() => write.mutate(text)}
        >
          Apply
        </RoleButton>
        <span role="status">
          {lint.isBusy ? (
            <span className="soft">Checking…</span>
          ) : lint.isValid ? (
            <Status status="done" word="No errors" />
          ) : null}
        </span>
        {write.data ? <Result applied={write.data} /> : null}
      </div>
      {lint.error ? <ProblemNote error={lint.error} /> : null}
      {write.error ? <ProblemNote error={write.error} /> : null}
      <Findings findings={lint.findings} />
    </div>
  );
}

function Result({ applied: { id, version, sameAsVersion } }: { applied: Applied }) {
  return (
    <span role="status">
      {sameAsVersion ? `It is the same as version ${sameAsVersion}.` : `Applied as version ${version}.`}{' '}
      <Link to={`/machines/${encodeURIComponent(id)}`}>Open {id}</Link>
    </span>
  );
}
