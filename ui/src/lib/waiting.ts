// Why something waits, as a sentence, and what a person can do about it.
import type { Schemas } from '@/api/client';
import { pageOf } from './ids';

export type Waiting = Schemas['Waiting'];

type Reason = { text: string; remedy: string | null; to?: string };

type Of<S extends Waiting['state']> = Extract<Waiting, { state: S }>;

/** A name that says something: the id of the execution itself does not. */
function named(before: string, object: string): string {
  return pageOf(object) ? '' : `${before}${object}`;
}

/** Why, without the times: those are shown beside it, and move. */
export function reasonOf(waiting: Waiting): Reason | null {
  switch (waiting.state) {
    case 'running':
      return { text: waiting.node ? `An attempt runs on node ${waiting.node}` : 'An attempt runs', remedy: null };
    case 'retrying':
      return {
        text: `Attempt ${waiting.attempt} failed with ${waiting.error}. The next attempt is due`,
        remedy: 'Retry it now if the cause is fixed.',
      };
    case 'waiting':
      return waitsFor(waiting);
    default:
      return null;
  }
}

function waitsFor({ for: what, object }: Of<'waiting'>): Reason {
  switch (what) {
    case 'timer':
      return { text: `Waits for a due time${named(': ', object)}`, remedy: null };
    case 'message':
      return { text: `Waits for a message${named(': ', object)}`, remedy: 'Send one of the accepted messages.' };
    case 'permit':
      return {
        text: `Waits for its turn under the concurrency limit ${object}`,
        remedy: 'Raise the limit if the destination allows it.',
        to: '/settings/limits',
      };
    case 'rate':
      return {
        text: `Waits for its turn under the rate limit ${object}`,
        remedy: 'Raise the limit if the destination allows it.',
        to: '/settings/limits',
      };
    case 'runner':
      return { text: `Waits for an external runner that serves ${object}`, remedy: 'Start a runner for this type.' };
    case 'dependency':
      return { text: `Waits for ${object} to end`, remedy: null };
    case 'killSwitch':
      return {
        text: `Held by the kill switch ${object}`,
        remedy: 'Release the switch once the cause is fixed.',
        to: '/settings/switches',
      };
    case 'pause':
      return { text: `Paused${named(' by ', object)}`, remedy: 'Resume it.' };
    case 'circuit':
      return {
        text: `The destination ${object} does not work: its circuit is open`,
        remedy: 'Sprag tries it again by itself.',
      };
    case 'approval':
      return {
        text: `Waits for approval${named(' of ', object)}`,
        remedy: 'An approver decides.',
        to: `/approvals/${object}`,
      };
    case 'decision':
      return { text: `A decision failed${named(': ', object)}`, remedy: 'Fix the cause and resume, or cancel.' };
    default:
      return { text: `Waits for ${object}`, remedy: null };
  }
}
