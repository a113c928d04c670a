// The one way to the API: typed by its document. Every answer is data or throws an `ApiProblem` or `NoAnswer`.
import createClient from 'openapi-fetch';
import { noticeAnswer } from '@/lib/clock';
import type { components, paths } from './generated/schema';
import { NoAnswer, problemOf } from './problem';
import { authorization } from './session';

export type Schemas = components['schemas'];

const client = createClient<paths>({ baseUrl: location.origin });

client.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    if (request.method === 'POST' && !request.headers.has('Idempotency-Key')) {
      request.headers.set('Idempotency-Key', newKey());
    }
    return request;
  },
  onResponse({ response }) {
    noticeAnswer(response.headers.get('date'));
  },
});

/** A key under which the server runs a request once, however often it arrives. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}

/** The header that gives a reason to the audit. Headers hold bytes, so each byte of its UTF-8 becomes one character. */
export function reasonHeader(reason: string | undefined): Record<string, string> {
  if (!reason?.trim()) return {};
  return { 'Sprag-Reason': String.fromCharCode(...new TextEncoder().encode(reason.trim())) };
}

type Answered<T> = { data?: T; error?: unknown; response: Response };

/** The data of an answer. */
export async function unwrap<T>(call: Promise<Answered<T>>): Promise<T> {
  let answered: Answered<T>;
  try {
    answered = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new NoAnswer('the server does not answer');
  }
  if (!answered.response.ok) throw problemOf(answered.error, answered.response);
  return answered.data as T;
}

export const api = client;
