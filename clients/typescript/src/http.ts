/** Requests to one server, over Node's own fetch. */

import type { Json } from "./json.js";

/** The server refused a request, and says why. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
  ) {
    super(`${status} ${code}: ${detail}`);
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return this.status >= 500 || this.status === 408 || this.status === 429;
  }
}

/** Nobody answered: the server is down, restarts, or the network is cut. */
export class Unreachable extends Error {}

/** What a POST may say beside its body. */
export interface PostOptions {
  /** Requests with the same key act once. */
  key?: string;
  /** The type of a body that is a text; JSON unless given. */
  mediaType?: string;
}

/** Sends requests to one server. */
export class Http {
  readonly #url: string;
  readonly #token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
  }

  /** Resolves to the answer to a GET; rejects with `Problem` or `Unreachable`. */
  get<T>(path: string, timeoutMillis: number): Promise<T> {
    return this.#send<T>(path, { method: "GET" }, {}, timeoutMillis);
  }

  /** Resolves to the answer to a POST; rejects with `Problem` or `Unreachable`. A text is sent as it is. */
  post<T>(path: string, body: Json, timeoutMillis: number, options: PostOptions = {}): Promise<T> {
    const headers: Record<string, string> = { "content-type": options.mediaType ?? "application/json" };
    if (options.key !== undefined) headers["idempotency-key"] = options.key;
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    return this.#send<T>(path, { method: "POST", body: sent }, headers, timeoutMillis);
  }

  async #send<T>(path: string, init: RequestInit, headers: Record<string, string>, timeoutMillis: number): Promise<T> {
    if (this.#token !== undefined) headers["authorization"] = `Bearer ${this.#token}`;
    let status: number;
    let text: string;
    try {
      const signal = AbortSignal.timeout(timeoutMillis);
      const answer = await fetch(this.#url + path, { ...init, headers, signal });
      status = answer.status;
      text = await answer.text();
    } catch (error) {
      throw new Unreachable(`${this.#url}: ${String(error)}`);
    }
    if (status >= 200 && status < 300) return JSON.parse(text) as T;
    throw problem(status, text);
  }
}

function problem(status: number, text: string): Problem {
  try {
    const said = JSON.parse(text) as { type?: string; detail?: string };
    return new Problem(status, said.type?.split("/").at(-1) ?? "", said.detail ?? "");
  } catch {
    return new Problem(status, "", text.slice(0, 200));
  }
}
