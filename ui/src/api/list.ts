// Lists in pages: the newest first, more as the reader scrolls.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

export const PAGE = 100;

export type Page<T> = { data: T[]; nextCursor?: string | null };

type Options = { enabled?: boolean; refetchInterval?: number | false };

export function useList<T>(
  key: readonly unknown[],
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  options: Options = {},
) {
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    getNextPageParam: (last: Page<T>) => last.nextCursor ?? undefined,
    enabled: options.enabled,
    // A list that was scrolled stays as it is, and says that there may be news.
    refetchInterval: inner =>
      inner.state.data && inner.state.data.pages.length > 1 ? false : (options.refetchInterval ?? false),
  });
  const { data } = query;
  const rows = useMemo(() => data?.pages.flatMap(page => page.data), [data]);
  return { ...query, data: rows, pages: data?.pages.length ?? 0 };
}

/** `42`, or `100+` if there are more than were read. */
export function counted(list: { data?: unknown[]; hasNextPage: boolean }): string {
  return `${list.data?.length ?? 0}${list.hasNextPage ? '+' : ''}`;
}
