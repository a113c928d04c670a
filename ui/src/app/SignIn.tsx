// Asks for a token where the server wants one. It lies over the page, so that nothing typed below is lost.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { codeOf } from '@/api/problem';
import { dropToken, keepToken } from '@/api/session';
import { Dialog } from '@/parts/Dialog';
import { ProblemNote } from '@/parts/States';
import { Field } from '@/parts/Verb';

export function SignIn({ error }: { error: unknown }) {
  const client = useQueryClient();
  const [value, setValue] = useState('');
  const isWrong = codeOf(error) !== 'token-missing';
  return (
    <Dialog title="Sign in" onClose={() => undefined}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault();
          if (value.trim()) keepToken(value.trim());
          else dropToken();
          void client.resetQueries();
        }}
      >
        <Field
          label="Token"
          note="It stays in this tab and is forgotten when you close it. Make one with `sprag token create`."
        >
          {id => (
            <input
              id={id}
              type="password"
              autoComplete="off"
              spellCheck={false}
              value={value}
              onChange={event => setValue(event.target.value)}
            />
          )}
        </Field>
        {isWrong ? <ProblemNote error={error} /> : null}
        <div>
          <button type="submit" className="primary">
            Sign in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
