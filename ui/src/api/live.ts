// One stream a browser: the visible tab that holds a lock reads hints and tells the others. A hidden tab is silent; it gives the
// lock away, and looks at everything again once it is visible.
import { useSyncExternalStore } from 'react';
import { authorization } from './session';
import { readStream, StreamRefused } from './sse';

export type Hint = { kind: string; id: string; executionId?: string };
/** Without a token there is nothing to follow: the page asks for one. */
export type Connection = 'connecting' | 'live' | 'lost' | 'signedOut';

const TOKEN_NEEDED = 401;
type Told = { hint: Hint } | { everything: true } | { connection: Connection } | { asks: true };

const LOCK = 'sprag.stream';
const CHANNEL = 'sprag.hints';
const RETRY_MS = 500;
const RETRY_MAX_MS = 2_000;

export type LiveListener = { onHint: (hint: Hint) => void; onEverything: () => void };

/** Follows changes until it is closed. */
export class Live {
  private readonly channel = new BroadcastChannel(CHANNEL);
  private readonly listener: LiveListener;
  private readonly changed = new Set<() => void>();
  private connection: Connection = 'connecting';
  private isLeader = false;
  private turn = new AbortController();

  constructor(listener: LiveListener) {
    this.listener = listener;
    this.channel.onmessage = message => this.heard(message.data as Told);
    document.addEventListener('visibilitychange', this.seen);
    if (!document.hidden) this.begin();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.changed.add(listener);
    return () => this.changed.delete(listener);
  };

  readonly state = (): Connection => this.connection;

  close(): void {
    document.removeEventListener('visibilitychange', this.seen);
    this.turn.abort();
    this.channel.close();
  }

  private readonly seen = (): void => {
    if (document.hidden) {
      this.turn.abort();
      return;
    }
    this.listener.onEverything();
    this.begin();
  };

  /** Stands in line for the stream, and asks the tab that has it how it is. */
  private begin(): void {
    this.turn = new AbortController();
    const { signal } = this.turn;
    this.tell({ asks: true });
    const lead = async () => {
      this.isLeader = true;
      await this.lead(signal);
      this.isLeader = false;
    };
    // Without locks (plain http to another machine) every tab reads for itself.
    if (!navigator.locks) void lead();
    else navigator.locks.request(LOCK, { signal }, lead).catch(() => undefined);
  }

  private async lead(signal: AbortSignal): Promise<void> {
    let wait = RETRY_MS;
    let isFirst = true;
    while (!signal.aborted) {
      let ended: Connection = 'lost';
      try {
        await readStream('/v1/stream', {
          headers: authorization(),
          signal,
          onOpen: () => {
            wait = RETRY_MS;
            this.enter('live');
            // What changed while there was no stream is not told again.
            if (!isFirst) this.tellEverything();
            isFirst = false;
          },
          onEvent: ({ event, data }) => (event === 'hint' ? this.tellHint(data) : this.tellEverything()),
        });
      } catch (error) {
        // The next turn of the loop tries again.
        if (error instanceof StreamRefused && error.status === TOKEN_NEEDED) ended = 'signedOut';
      }
      if (signal.aborted) return;
      isFirst = false;
      this.enter(ended);
      await pause(wait, signal);
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
  }

  private tellHint(data: string): void {
    const hint = JSON.parse(data) as Hint;
    this.tell({ hint });
    this.listener.onHint(hint);
  }

  private tellEverything(): void {
    this.tell({ everything: true });
    this.listener.onEverything();
  }

  private enter(connection: Connection): void {
    this.show(connection);
    this.tell({ connection });
  }

  private tell(what: Told): void {
    this.channel.postMessage(what);
  }

  private show(connection: Connection): void {
    this.connection = connection;
    for (const listener of this.changed) listener();
  }

  private heard(told: Told): void {
    if ('asks' in told) {
      if (this.isLeader) this.tell({ connection: this.connection });
    } else if (document.hidden) {
      return;
    } else if ('hint' in told) this.listener.onHint(told.hint);
    else if ('everything' in told) this.listener.onEverything();
    else if (!this.isLeader) this.show(told.connection);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(done => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      done();
    });
  });
}

export function useConnection(live: Live): Connection {
  return useSyncExternalStore(live.subscribe, live.state);
}
