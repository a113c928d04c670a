// Approves or rejects a plan. A rejection needs its reason; both are kept with the plan.
import { useState } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { useWrite } from '@/api/write';
import { Section } from '@/parts/Page';
import { ProblemNote } from '@/parts/States';
import { Field, RoleButton } from '@/parts/Verb';
import { ABOUT } from './Workflow';

type Props = { workflow: Schemas['Workflow']; digest: string };

export function Decide({ workflow: { id }, digest }: Props) {
  const [comment, setComment] = useState('');
  const params = { path: { id } };
  const approve = useWrite({
    send: (text: string, headers) =>
      unwrap(api.POST('/v1/workflows/{id}/approve', { params, headers, body: { digest, comment: text || undefined } })),
    about: ABOUT,
  });
  const reject = useWrite({
    send: (text: string, headers) =>
      unwrap(api.POST('/v1/workflows/{id}/reject', { params, headers, body: { comment: text } })),
    about: ABOUT,
  });
  const isBusy = approve.isPending || reject.isPending ? 'The decision is on its way.' : null;
  const error = approve.error ?? reject.error;
  return (
    <Section title="Your decision">
      <Field
        label="Comment"
        note={`You decide about the plan with the digest ${digest.slice(0, 12)}…, as it is shown below.`}
      >
        {field => (
          <input id={field} value={comment} maxLength={1000} onChange={event => setComment(event.target.value)} />
        )}
      </Field>
      {error ? <ProblemNote error={error} /> : null}
      <div className="row">
        <RoleButton
          route="POST /v1/workflows/{id}/approve"
          kind="primary"
          disabled={isBusy}
          onClick={() => approve.mutate(comment)}
        >
          Approve this plan
        </RoleButton>
        <span className="push" />
        <RoleButton
          route="POST /v1/workflows/{id}/reject"
          kind="danger"
          disabled={isBusy ?? (comment.trim() ? null : 'Say in the comment why you reject it.')}
          onClick={() => reject.mutate(comment)}
        >
          Reject
        </RoleButton>
      </div>
    </Section>
  );
}
