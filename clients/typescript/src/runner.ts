/** The loop: ask for work, perform it, say how it ended. */

import { Attempt, Superseded, sleep, type Given } from "./attempt.js";
import { Done } from "./done.js";
import { Failed, Unknown } from "./errors.js";
import { Http, Problem, Unreachable } from "./http.js";
import type { Json } from "./json.js";

const ERROR_PAUSE_MILLIS_MAX = 15_000;
/** The most attempts that one question asks for. */
const LEASED_MAX = 100;

/** Performs an attempt; what it resolves to is the action's result, or a `Done` with the result. */
export type Handler = (attempt: Attempt) => Promise<Json | Done | void> | Json | Done | void;

/** What a runner is. */
export interface RunnerOptions {
  /** The server, as in `http://127.0.0.1:7400`. */
  url: string;
  /** For the runner of this name; without one, for any. */
  name?: string;
  /** Tags that an action must all have. */
  tags?: string[];
  /** Attempts at once. */
  concurrency?: number;
  /** How long an attempt stays this program's without a heartbeat. */
  leaseSeconds?: number;
  /** How long one question for work waits. */
  waitMillis?: number;
  /** For servers that need one; `SPRAG_TOKEN` unless given. */
  token?: string;
  /** Hears what happens; the console unless given. */
  log?: (line: string) => void;
}

/** What there is of Node here: its types are not needed for anything else. */
declare const process: {
  env: Record<string, string | undefined>;
  once(signal: "SIGTERM" | "SIGINT", hear: () => void): void;
};

/** A program that performs actions of some types. */
export class Runner {
  readonly #http: Http;
  readonly #name: string | undefined;
  readonly #tags: string[];
  readonly #concurrency: number;
  readonly #leaseSeconds: number;
  readonly #waitMillis: number;
  readonly #log: (line: string) => void;
  readonly #handlers = new Map<string, Handler>();
  readonly #running = new Set<Promise<void>>();
  #stopping = false;

  constructor(options: RunnerOptions) {
    this.#http = new Http(options.url, options.token ?? process.env["SPRAG_TOKEN"]);
    this.#name = options.name;
    this.#tags = options.tags ?? [];
    this.#concurrency = options.concurrency ?? 1;
    this.#leaseSeconds = options.leaseSeconds ?? 60;
    this.#waitMillis = options.waitMillis ?? 10_000;
    this.#log = options.log ?? ((line) => console.error(line));
  }

  /** Performs actions of `type` with the handler. */
  register(type: string, handler: Handler): this {
    this.#handlers.set(type, handler);
    return this;
  }

  /** Asks for nothing more. What is leased is finished first. */
  stop(): void {
    this.#stopping = true;
  }

  /** Performs attempts until `stop`, SIGTERM or SIGINT; resolves once everything that was leased has ended. */
  async run(): Promise<void> {
    if (this.#handlers.size === 0) throw new Error("no handler is registered: call register(type, handler) first");
    process.once("SIGTERM", () => this.stop());
    process.once("SIGINT", () => this.stop());
    let pause = 500;
    while (!this.#stopping) {
      if (this.#running.size >= this.#concurrency) {
        await Promise.race(this.#running);
        continue;
      }
      try {
        for (const given of await this.#lease(this.#concurrency - this.#running.size)) this.#start(given);
        pause = 500;
      } catch (error) {
        const passes = error instanceof Unreachable || (error instanceof Problem && error.isPassing);
        if (!passes) throw error;
        this.#log(`no work: ${error.message}`);
        await sleep(pause);
        pause = Math.min(pause * 2, ERROR_PAUSE_MILLIS_MAX);
      }
    }
    await Promise.all(this.#running);
  }

  async #lease(most: number): Promise<Given[]> {
    const asks: { [name: string]: Json } = {
      types: [...this.#handlers.keys()],
      tags: this.#tags,
      max: Math.min(most, LEASED_MAX),
      wait: this.#waitMillis,
      leaseSeconds: this.#leaseSeconds,
    };
    if (this.#name !== undefined) asks["runner"] = this.#name;
    const answer = await this.#http.post<{ attempts: Given[] }>("/v1/runners/lease", asks, this.#waitMillis + 15_000);
    return answer.attempts;
  }

  #start(given: Given): void {
    const attempt = new Attempt(this.#http, given, this.#leaseSeconds);
    const performing = this.#perform(attempt).finally(() => this.#running.delete(performing));
    this.#running.add(performing);
  }

  async #perform(attempt: Attempt): Promise<void> {
    attempt.begin();
    try {
      const ended = await this.#outcome(attempt);
      if (ended === undefined) return;
      const [verb, body] = ended;
      const status = await attempt.report(verb, body);
      this.#log(`${attempt.id} of ${attempt.actionId}: ${verb}, the action is ${status}`);
    } catch (error) {
      await this.#refused(attempt, error);
    } finally {
      attempt.end();
    }
  }

  /** The server does not take what the handler gave: the action hears why, instead of nothing at all. */
  async #refused(attempt: Attempt, error: unknown): Promise<void> {
    this.#log(`what came of ${attempt.id} was refused: ${String(error)}`);
    try {
      await attempt.report("fail", new Unknown("invalid_result", `the outcome was refused: ${String(error)}`).body());
    } catch (again) {
      this.#log(`${attempt.id} ends with its lease: ${String(again)}`);
    }
  }

  async #outcome(attempt: Attempt): Promise<["complete" | "fail", { [name: string]: Json }] | undefined> {
    try {
      const handler = this.#handlers.get(attempt.type);
      if (handler === undefined) throw new Failed("invalid_configuration", `no handler serves ${attempt.type}`);
      const result = (await handler(attempt)) ?? null;
      return ["complete", (result instanceof Done ? result : new Done(result)).body()];
    } catch (error) {
      if (error instanceof Superseded) return undefined;
      if (error instanceof Failed) return ["fail", error.body()];
      return ["fail", new Unknown("unknown_error", String(error)).body()];
    }
  }
}
