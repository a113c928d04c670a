/** One attempt, as its handler sees it. */

import type { LeasedAttempt } from "./api.js";
import { Problem, Unreachable, type Http } from "./http.js";
import type { Json } from "./json.js";

/** A cancellation leaves ten seconds to end: whoever beats this often hears of it in time. */
const BEAT_MILLIS_MAX = 5_000;
const AGAIN_MILLIS = 500;
const ANSWER_MILLIS = 10_000;

/** An attempt as the server gives it. */
export type Given = LeasedAttempt;

/** The attempt is nobody's any more: stop, have no further effect. Nothing is reported. */
export class Superseded extends Error {}

/** An attempt that this program holds. */
export class Attempt {
  /** Heartbeats and the outcome are sent under it. */
  readonly id: string;
  /** 1 for the first attempt. */
  readonly number: number;
  /** The name of the action in the machine. */
  readonly actionId: string;
  /** The action's type. */
  readonly type: string;
  /** The configuration, rendered, secrets included. */
  readonly config: Json;
  /** The same for every attempt of the action: send it along, so that a repetition is known as one. */
  readonly idempotencyKey: string;
  /** Then the attempt is over, whatever happens. */
  readonly deadline: Date;
  /** What an earlier attempt checkpointed last. */
  readonly lastCheckpoint: Json | undefined;
  readonly #http: Http;
  readonly #every: number;
  readonly #cancel = new AbortController();
  #superseded = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  /** @internal */
  constructor(http: Http, given: Given, leaseSeconds: number) {
    this.#http = http;
    this.#every = Math.min(BEAT_MILLIS_MAX, (leaseSeconds * 1_000) / 3);
    this.id = given.id;
    this.number = given.number;
    this.actionId = given.actionId;
    this.type = given.type;
    this.config = given.config;
    this.idempotencyKey = given.idempotencyKey;
    this.deadline = new Date(given.deadline);
    this.lastCheckpoint = given.checkpoint;
  }

  /** Aborted when to stop: somebody asked, or the attempt is nobody's any more. Hand it on, as in `fetch(url, { signal })`. */
  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  /** Whether to stop. */
  get cancelled(): boolean {
    return this.#cancel.signal.aborted;
  }

  /** Resolves once `value` is stored with the attempt; throws `Superseded` if it is nobody's any more. */
  async checkpoint(value: Json): Promise<void> {
    while (!this.#superseded) {
      try {
        await this.#sayAlive({ checkpoint: value });
        return;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await sleep(AGAIN_MILLIS);
      }
    }
    throw new Superseded(this.id);
  }

  /** @internal */
  begin(): void {
    this.#beatAfter(this.#every);
  }

  /** @internal */
  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** Says how it ended until somebody hears it; the status of its action, or that it came too late. @internal */
  async report(verb: "complete" | "fail", body: { [name: string]: Json }): Promise<string> {
    let pause = 100;
    while (!this.#superseded && Date.now() < this.deadline.getTime()) {
      try {
        const answer = await this.#http.post<{ status: string }>(`/v1/attempts/${this.id}/${verb}`, body, ANSWER_MILLIS);
        return answer.status;
      } catch (error) {
        if (error instanceof Problem && error.status === 409) return "superseded";
        if (!isPassing(error)) throw error;
      }
      await sleep(pause);
      pause = Math.min(pause * 2, 5_000);
    }
    return "superseded";
  }

  #beatAfter(millis: number): void {
    this.#timer = setTimeout(() => void this.#beat(), millis);
  }

  async #beat(): Promise<void> {
    let pause = this.#every;
    try {
      await this.#sayAlive({});
    } catch {
      // The lease still runs: the next beat may be heard.
      pause = Math.min(AGAIN_MILLIS, this.#every);
    }
    if (!this.#over && !this.#superseded) this.#beatAfter(pause);
  }

  async #sayAlive(body: { [name: string]: Json }): Promise<void> {
    try {
      const path = `/v1/attempts/${this.id}/heartbeat`;
      const heard = await this.#http.post<{ cancelRequested: boolean }>(path, body, ANSWER_MILLIS);
      if (heard.cancelRequested) this.#cancel.abort();
    } catch (error) {
      if (error instanceof Problem && error.status === 409) {
        this.#superseded = true;
        this.#cancel.abort();
        throw new Superseded(this.id);
      }
      throw error;
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Problem && error.isPassing);
}

/** Resolves after so many milliseconds. */
export function sleep(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
