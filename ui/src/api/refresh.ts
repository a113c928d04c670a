// Hints become refetches, at a bounded rate: a page asks at most twice a second, and looks at what has been stale
// for longest first.
import type { QueryClient } from '@tanstack/react-query';
import { isAbout } from './keys';
import type { Hint } from './live';

/** Requests a second, and how many may go at once after a quiet time. */
export const RATE = 2;
export const BURST = 5;

/** Grants permits at a rate. Time is an argument. */
export class Bucket {
  private permits = BURST;
  private at: number;

  constructor(now: number) {
    this.at = now;
  }

  take(now: number): boolean {
    this.permits = Math.min(BURST, this.permits + ((now - this.at) / 1_000) * RATE);
    this.at = now;
    if (this.permits < 1) return false;
    this.permits -= 1;
    return true;
  }
}

/** A moment in which several hints about one record become one request. */
const GATHER_MS = 80;

/** Refetches what hints are about. */
export class Refresher {
  private readonly client: QueryClient;
  private readonly stale = new Set<string>();
  private readonly bucket = new Bucket(performance.now());
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient) {
    this.client = client;
  }

  onHint = (hint: Hint): void => this.mark(key => isAbout(key, hint));

  onEverything = (): void => this.mark(() => true);

  private mark(concerns: (key: readonly unknown[]) => boolean): void {
    for (const query of this.client.getQueryCache().getAll()) {
      if (!concerns(query.queryKey)) continue;
      if (query.isActive()) this.stale.add(query.queryHash);
      else query.invalidate();
    }
    if (this.stale.size > 0) this.timer ??= setTimeout(this.work, GATHER_MS);
  }

  private readonly work = (): void => {
    this.timer = undefined;
    for (const hash of this.stale) {
      if (document.hidden) break;
      const query = this.client.getQueryCache().get(hash);
      // A query in flight may have read before the change: it comes again after its answer.
      if (query?.state.fetchStatus === 'fetching') continue;
      if (!query?.isActive()) {
        query?.invalidate();
        this.stale.delete(hash);
        continue;
      }
      if (!this.bucket.take(performance.now())) break;
      this.stale.delete(hash);
      void this.client.refetchQueries({ queryKey: query.queryKey, exact: true });
    }
    if (this.stale.size > 0) this.timer = setTimeout(this.work, 1_000 / RATE / 2);
  };
}
