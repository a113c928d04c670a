/** Starts executions, sends them messages, waits for them and reads them. */

import { sleep } from "./attempt.js";
import { Http, Problem, Unreachable } from "./http.js";
import type { Json } from "./json.js";

const ANSWER_MILLIS = 30_000;
/** The longest that the server holds one question open. */
const HELD_MILLIS_MAX = 60_000;
const PAUSE_MILLIS = 100;
const PAUSE_MILLIS_MAX = 2_000;

/** An execution as the server shows it. */
export interface Execution {
  id: string;
  key: string | null;
  machine: string;
  version: number;
  status: string;
  /** The active states, each as a path: `paid`, `open.waiting`. */
  configuration: string[];
  variables: { [name: string]: Json };
  tags: string[];
  sequence: number;
  createdAt: string;
  updatedAt: string;
  /** What the final state gave. */
  output?: Json;
}

/** An action as the server shows it. */
export interface Action {
  id: string;
  actionId: string;
  type: string;
  status: string;
  executionId?: string;
  result: Json;
  [name: string]: Json | undefined;
}

/** One step of an execution. */
export interface HistoryEntry {
  sequence: number;
  [name: string]: Json;
}

/** What became of a message. */
export interface Sent {
  handled: boolean;
  configuration: string[];
  sequence: number;
}

/** What a start may say besides the machine. */
export interface StartOptions {
  /** A name of your own, unique among the open executions of the machine. */
  key?: string;
  variables?: { [name: string]: Json };
  /** The newest one unless given. */
  version?: number;
  tags?: string[];
  /** Give one to start the execution once across restarts of this program. */
  idempotencyKey?: string;
}

/** What a client is. */
export interface ClientOptions {
  /** The server; `http://127.0.0.1:7400` unless given. */
  url?: string;
  /** For servers that need one; `SPRAG_TOKEN` unless given. */
  token?: string;
  /** How long a request is repeated while the server is unreachable. */
  patienceMillis?: number;
}

type Query = { [name: string]: string | number | undefined };

/** What there is of Node here: its types are not needed for anything else. */
declare const process: { env: Record<string, string | undefined> };

/**
 * A client of one server.
 *
 * Every request is repeated while the server is unreachable or says that the same request may succeed later. A request
 * that changes something carries an idempotency key, so it acts once however often it is sent. What the server refuses
 * rejects with `Problem`.
 */
export class Client {
  readonly #http: Http;
  readonly #patience: number;

  constructor(options: ClientOptions = {}) {
    this.#http = new Http(options.url ?? "http://127.0.0.1:7400", options.token ?? process.env["SPRAG_TOKEN"]);
    this.#patience = options.patienceMillis ?? 20_000;
  }

  /** Applies a machine: a definition as an object, or the text of a YAML file. */
  apply(definition: string | { [name: string]: Json }): Promise<{ id: string; version: number }> {
    const mediaType = typeof definition === "string" ? "application/yaml" : "application/json";
    return this.#post("/v1/machines", definition, crypto.randomUUID(), mediaType);
  }

  /** Starts an execution. */
  start(machine: string, options: StartOptions = {}): Promise<Execution> {
    const { idempotencyKey, ...given } = options;
    return this.#post("/v1/executions", { machine, ...given }, idempotencyKey ?? crypto.randomUUID());
  }

  /** Sends a message to an execution: its id, or `MACHINE/KEY`. One whose `id` it has had is not handled again. */
  send(execution: string, type: string, payload?: Json, id?: string): Promise<Sent> {
    const message: { [name: string]: Json } = { type };
    if (payload !== undefined) message["payload"] = payload;
    if (id !== undefined) message["id"] = id;
    const slash = execution.indexOf("/");
    if (slash < 0) return this.#post(`/v1/executions/${encodeURIComponent(execution)}/messages`, message);
    const [machine, key] = [execution.slice(0, slash), execution.slice(slash + 1)];
    return this.#post("/v1/messages", { machine, key, ...message });
  }

  /** Reads an execution. */
  get(execution: string): Promise<Execution> {
    return this.#get(`/v1/executions/${encodeURIComponent(execution)}`);
  }

  /** Resolves once an execution is closed; rejects after `timeoutMillis`. */
  async wait(execution: string, timeoutMillis = Infinity): Promise<Execution> {
    const end = Date.now() + timeoutMillis;
    for (;;) {
      const held = Math.round(Math.max(0, Math.min(end - Date.now(), HELD_MILLIS_MAX)));
      const path = `/v1/executions/${encodeURIComponent(execution)}?wait=${held}ms`;
      const found = await this.#get<Execution>(path, held);
      if (["completed", "failed", "cancelled"].includes(found.status)) return found;
      if (Date.now() >= end) throw new Error(`${execution} is ${found.status} after ${timeoutMillis} ms`);
    }
  }

  /** The history of an execution, oldest entry first. */
  history(execution: string): AsyncGenerator<HistoryEntry> {
    return this.#pages(`/v1/executions/${encodeURIComponent(execution)}/history`, {});
  }

  /** Executions, newest first: `client.executions({ machine: "order", status: "running" })`. */
  executions(query: Query = {}): AsyncGenerator<Execution> {
    return this.#pages("/v1/executions", query);
  }

  /** Actions, newest first: `client.actions({ executionId: order.id })`. */
  actions(query: Query = {}): AsyncGenerator<Action> {
    return this.#pages("/v1/actions", query);
  }

  /** Cancels an execution with its open actions. */
  cancel(execution: string): Promise<Execution> {
    return this.#post(`/v1/executions/${encodeURIComponent(execution)}/cancel`, {});
  }

  async *#pages<T>(path: string, query: Query): AsyncGenerator<T> {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    for (;;) {
      const page = await this.#get<{ data: T[]; nextCursor?: string | null }>(`${path}?${parameters.toString()}`);
      yield* page.data;
      if (page.nextCursor === undefined || page.nextCursor === null) return;
      parameters.set("cursor", page.nextCursor);
    }
  }

  #get<T>(path: string, heldMillis = 0): Promise<T> {
    return this.#patiently(() => this.#http.get<T>(path, ANSWER_MILLIS + heldMillis));
  }

  #post<T>(path: string, body: Json, key: string = crypto.randomUUID(), mediaType = "application/json"): Promise<T> {
    return this.#patiently(() => this.#http.post<T>(path, body, ANSWER_MILLIS, { key, mediaType }));
  }

  async #patiently<T>(ask: () => Promise<T>): Promise<T> {
    const end = Date.now() + this.#patience;
    let pause = PAUSE_MILLIS;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const passes = error instanceof Unreachable || (error instanceof Problem && error.isPassing);
        if (!passes || Date.now() + pause > end) throw error;
      }
      await sleep(pause);
      pause = Math.min(pause * 2, PAUSE_MILLIS_MAX);
    }
  }
}
