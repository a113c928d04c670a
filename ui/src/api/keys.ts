// Names of what is read from the API. The first word of a key says what it is about, so that a hint finds it.
import type { Hint } from './live';

export const keys = {
  me: ['me'] as const,
  system: ['system'] as const,
  machines: ['machines'] as const,
  machine: (id: string, version?: number) => ['machine', id, version ?? null] as const,
  diagram: (id: string, version?: number) => ['machine', id, 'diagram', version ?? null] as const,
  executions: (query: object) => ['executions', query] as const,
  execution: (id: string) => ['execution', id] as const,
  history: (id: string) => ['execution', id, 'history'] as const,
  explanation: (id: string) => ['execution', id, 'explain'] as const,
  actions: (query: object) => ['actions', query] as const,
  actionsOf: (execution: string) => ['execution', execution, 'actions'] as const,
  action: (id: string) => ['action', id] as const,
  queue: ['queue'] as const,
  health: (query: object) => ['health', query] as const,
  deadLetters: (query: object) => ['dead-letters', query] as const,
  deadLetter: (id: string) => ['action', id, 'dead-letter'] as const,
  jobs: (query: object) => ['jobs', query] as const,
  job: (id: string) => ['job', id] as const,
  jobItems: (id: string) => ['job', id, 'items'] as const,
  approvals: ['approvals'] as const,
  workflows: (query: object) => ['workflows', query] as const,
  workflow: (id: string) => ['workflow', id] as const,
  plan: (id: string) => ['workflow', id, 'plan'] as const,
  workers: ['workers'] as const,
  worker: (path: string) => ['worker', path] as const,
  logs: (path: string) => ['worker', path, 'logs'] as const,
  audit: (query: object) => ['audit', query] as const,
  heads: ['audit', 'heads'] as const,
  tokens: ['tokens'] as const,
  switches: ['switches'] as const,
  held: (id: string) => ['switches', id, 'held'] as const,
  limits: ['limits'] as const,
  operations: ['operations'] as const,
};

/** The first words of what changes with a record of a kind. */
const LISTS: Record<string, string[]> = {
  execution: ['executions'],
  action: ['actions', 'queue', 'dead-letters', 'health'],
  machine: ['machines'],
  job: ['jobs'],
  workflow: ['workflows', 'approvals'],
  approval: ['workflows', 'approvals'],
  switch: ['switches'],
  limit: ['limits'],
  worker: ['workers'],
  token: ['tokens'],
  audit: ['audit'],
};

/** Whether a hint is about what a key names. */
export function isAbout(key: readonly unknown[], hint: Hint): boolean {
  const [first, second] = key;
  if (LISTS[hint.kind]?.includes(String(first))) return true;
  if (first === hint.kind && second === hint.id) return true;
  return first === 'execution' && hint.executionId !== undefined && second === hint.executionId;
}
