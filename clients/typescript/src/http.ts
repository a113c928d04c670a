/** The few requests that a runner sends, over Node's own fetch. */

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

/** POSTs to one server. */
export class Http {
  readonly #url: string;
  readonly #token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
  }

  /** The answer, or `Problem`, or `Unreachable`. */
  async post<T>(path: string, body: { [name: string]: Json }, timeoutMillis: number): Promise<T> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (this.#token !== undefined) headers["authorization"] = `Bearer ${this.#token}`;
    const sent = JSON.stringify(body);
    let status: number;
    let text: string;
    try {
      const signal = AbortSignal.timeout(timeoutMillis);
      const answer = await fetch(this.#url + path, { method: "POST", headers, body: sent, signal });
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
