// The cache of what was read, and the stream that says what of it changed.
import { QueryClient } from '@tanstack/react-query';
import { Live } from '@/api/live';
import { ApiProblem } from '@/api/problem';
import { Refresher } from '@/api/refresh';

const STALE_MS = 2_000;
const KEPT_MS = 5 * 60_000;
const RETRIES_MAX = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      gcTime: KEPT_MS,
      // The stream says when the server is back, and which tab was seen again: both read everything once more.
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: 'always',
      retry: (count, error) => error instanceof ApiProblem && error.problem.status === 503 && count < RETRIES_MAX,
    },
    mutations: { networkMode: 'always' },
  },
});

const refresher = new Refresher(queryClient);
export const live = new Live(refresher);
