// Edits a dead letter before it is retried: timeout, retry policy and configuration as one document, and what changes.
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import { useWrite } from '@/api/write';
import { parseObject } from '@/lib/json';
import type { PatchOperation } from '@/lib/patch';
import { Dialog } from '@/parts/Dialog';
import { Diff } from '@/parts/Diff';
import { ProblemNote } from '@/parts/States';
import { Field } from '@/parts/Verb';
import { ABOUT } from './DeadLetter';

type Props = { id: string; document: Record<string, unknown>; onClose: () => void };

/** The members that changed, as a patch: what stays the same keeps its captured secrets. */
export function changes(before: Record<string, unknown>, after: Record<string, unknown>, path = ''): PatchOperation[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name): PatchOperation[] => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const old = before[name];
    const fresh = after[name];
    if (!(name in after)) return [{ op: 'remove', path: at }];
    if (!(name in before)) return [{ op: 'add', path: at, value: fresh as never }];
    if (JSON.stringify(old) === JSON.stringify(fresh)) return [];
    if (isObject(old) && isObject(fresh)) return changes(old, fresh, at);
    return [{ op: 'replace', path: at, value: fresh as never }];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function EditDialog({ id, document, onClose }: Props) {
  const [text, setText] = useState(() => JSON.stringify(document, null, 2));
  const parsed = parseObject(text);
  const patch = parsed.value ? changes(document, parsed.value) : [];
  const write = useWrite({
    send: (body: { patch: PatchOperation[] }, headers) =>
      unwrap(api.POST('/v1/dead-letters/{id}/retry', { params: { path: { id } }, body, headers })),
    about: ABOUT,
    onDone: onClose,
  });
  return (
    <Dialog title="Edit and retry" onClose={onClose} isWide>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          if (patch.length > 0) write.mutate({ patch });
        }}
      >
        <Field
          label="Timeout in milliseconds, retry policy and configuration"
          note={parsed.error ?? 'A changed configuration is a new request with a new idempotency key.'}
        >
          {field => (
            <textarea
              id={field}
              className="code"
              rows={16}
              spellCheck={false}
              value={text}
              onChange={event => setText(event.target.value)}
            />
          )}
        </Field>
        {parsed.value ? <Diff label="What changes" before={document} after={parsed.value} /> : null}
        {write.error ? <ProblemNote error={write.error} /> : null}
        <div>
          <button type="submit" className="primary" disabled={patch.length === 0 || write.isPending}>
            Retry with these changes
          </button>
        </div>
      </form>
    </Dialog>
  );
}
