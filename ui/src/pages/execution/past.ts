// The history of an execution as it was read so far, and which states were active after one of its entries.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type Schemas, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { takes } from '@/api/routes';

export type HistoryEntry = Schemas['HistoryEntry'];

const PAGE = 200;
/** Whether the server gives the newest entries first. Otherwise the page reads from the beginning. */
const NEWEST_FIRST = takes('GET /v1/executions/{id}/history', 'order', 'desc');

/** Oldest first, in each order of the server. */
export function useHistory(id: string) {
  const order = NEWEST_FIRST ? { order: 'desc' } : {};
  const query = useInfiniteQuery({
    queryKey: keys.history(id),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/v1/executions/{id}/history', {
          params: { path: { id }, query: { limit: PAGE, cursor: pageParam, ...order } as never },
          signal,
        }),
      ),
    getNextPageParam: last => last.nextCursor ?? undefined,
  });
  const { data } = query;
  const entries = useMemo(() => {
    const all = data?.pages.flatMap(page => page.data);
    return NEWEST_FIRST ? all?.reverse() : all;
  }, [data]);
  return { ...query, data: entries, isNewestFirst: NEWEST_FIRST };
}

export type HistoryResult = ReturnType<typeof useHistory>;

/** The innermost active states after an entry, by replaying what was entered and exited; or nothing if that cannot be known. */
export function configurationAt(entries: HistoryEntry[], sequence: number): string[] | null {
  let active = new Set<string>();
  let isKnown = false;
  for (const entry of entries) {
    if (entry.sequence > sequence) break;
    if (entry.sequence === 1) isKnown = true;
    if (entry.kind === 'migrated' || entry.kind === 'snapshot') return null;
    if (entry.kind !== 'step') continue;
    for (const { exited, entered } of entry.microsteps) {
      active = new Set([...active].filter(path => !exited.includes(path)));
      for (const path of entered) active.add(path);
    }
  }
  if (!isKnown) return null;
  const all = [...active];
  return all.filter(path => path !== '' && !all.some(other => other.startsWith(`${path}.`)));
}
