// Changes. One submission has one idempotency key: if the answer gets lost, the same request is sent again and runs once.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { newKey } from './client';
import { NoAnswer } from './problem';

const ATTEMPTS_MAX = 4;
const PAUSE_MS = 1_000;

export type Headers = Record<string, string>;

/** Sends a request again while the server does not answer. */
export async function persist<T>(send: (headers: Headers) => Promise<T>): Promise<T> {
  const headers = { 'Idempotency-Key': newKey() };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(headers);
    } catch (error) {
      if (!(error instanceof NoAnswer) || attempt === ATTEMPTS_MAX) throw error;
      await new Promise(done => setTimeout(done, PAUSE_MS * attempt));
    }
  }
}

type Write<V, T> = {
  send: (value: V, headers: Headers) => Promise<T>;
  /** First words of the keys that change with it. */
  about: string[];
  onDone?: (answer: T) => void;
};

export function useWrite<V, T>({ send, about, onDone }: Write<V, T>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (value: V) => persist(headers => send(value, headers)),
    onSuccess: answer => {
      for (const word of about) void client.invalidateQueries({ queryKey: [word] });
      onDone?.(answer);
    },
  });
}
