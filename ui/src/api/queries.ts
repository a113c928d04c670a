// Reads that several pages share: one place for their names and their routes.
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';
import { keys } from './keys';
import { PAGE, type Page, useList } from './list';
import { takes } from './routes';

/** How often a page asks again about what the stream does not tell. */
export const POLL_MS = 5_000;

/** A row of the list: an execution without what can be large. */
export type ExecutionRow = Omit<Schemas['Execution'], 'variables' | 'output'>;

export type ExecutionQuery = { machine?: string; status?: string; key?: string; state?: string; filter?: string };

export function useExecutions(query: ExecutionQuery) {
  // Rows without variables, where the server offers them.
  const view = takes('GET /v1/executions', 'view', 'summary') ? { view: 'summary' } : {};
  return useList(keys.executions(query), (cursor, signal) =>
    unwrap<Page<ExecutionRow>>(
      api.GET('/v1/executions', { params: { query: { ...query, ...view, cursor, limit: PAGE } as never }, signal }),
    ),
  );
}

export function useExecution(id: string) {
  return useQuery({
    queryKey: keys.execution(id),
    queryFn: ({ signal }) => unwrap(api.GET('/v1/executions/{id}', { params: { path: { id } }, signal })),
  });
}

export function useMachines() {
  return useList(keys.machines, (cursor, signal) =>
    unwrap(api.GET('/v1/machines', { params: { query: { cursor, limit: PAGE } }, signal })),
  );
}

export function useMachine(id: string, version?: number) {
  return useQuery({
    queryKey: keys.machine(id, version),
    enabled: id !== '',
    queryFn: ({ signal }) =>
      version === undefined
        ? unwrap(api.GET('/v1/machines/{id}', { params: { path: { id } }, signal }))
        : unwrap(api.GET('/v1/machines/{id}/versions/{version}', { params: { path: { id, version } }, signal })),
  });
}

export type ActionQuery = {
  machine?: string;
  status?: string;
  type?: string;
  actionId?: string;
  executionId?: string;
  filter?: string;
};

/** Lists that are not asked for a summary give whole actions. */
function wholeActions(call: Parameters<typeof unwrap>[0]): Promise<Page<Schemas['Action']>> {
  return unwrap(call as Parameters<typeof unwrap<Page<Schemas['Action']>>>[0]);
}

export function useActions(query: ActionQuery) {
  return useList(keys.actions(query), (cursor, signal) =>
    wholeActions(api.GET('/v1/actions', { params: { query: { ...query, cursor, limit: PAGE } as never }, signal })),
  );
}

export function useAction(id: string) {
  return useQuery({
    queryKey: keys.action(id),
    queryFn: ({ signal }) => unwrap(api.GET('/v1/actions/{id}', { params: { path: { id } }, signal })),
  });
}

export type DeadLetterQuery = {
  machine?: string;
  type?: string;
  error?: string;
  fingerprint?: string;
  newerThan?: string;
  filter?: string;
};

export function useDeadLetters(query: DeadLetterQuery) {
  return useList(keys.deadLetters(query), (cursor, signal) =>
    wholeActions(api.GET('/v1/dead-letters', { params: { query: { ...query, cursor, limit: PAGE } }, signal })),
  );
}

export function useApprovals() {
  return useList(
    keys.approvals,
    (cursor, signal) => unwrap(api.GET('/v1/approvals', { params: { query: { cursor, limit: PAGE } }, signal })),
    { refetchInterval: POLL_MS },
  );
}

export function useSwitches() {
  return useQuery({
    queryKey: keys.switches,
    refetchInterval: POLL_MS,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/kill-switches', { signal })),
  });
}

export function useSystem() {
  return useQuery({
    queryKey: keys.system,
    refetchInterval: POLL_MS,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/system', { signal })),
  });
}

export function useWorkers() {
  return useQuery({
    queryKey: keys.workers,
    refetchInterval: 2_000,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/workers', { params: { query: {} }, signal })),
  });
}

export function useHealth(query: { actionId?: string; window?: '15m' | '1h' | '24h' | '7d' }) {
  return useQuery({
    queryKey: keys.health(query),
    refetchInterval: 15_000,
    queryFn: ({ signal }) => unwrap(api.GET('/v1/actions/health', { params: { query }, signal })),
  });
}
