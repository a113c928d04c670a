/** How a handler says that an attempt did not succeed. */

import type { Json } from "./json.js";

/** What else there is to say about a failure. */
export interface FailureOptions {
  /** The error code of the service. */
  code?: string;
  /** Whatever helps a person. */
  details?: Json;
  /** `false`: no other attempt can ever help. */
  retryable?: boolean;
  /** Milliseconds before which another attempt makes no sense. */
  retryAfter?: number;
}

/** The attempt did not succeed. Throw `NotDone` or `Unknown`. */
export class Failed extends Error {
  readonly outcome: "notDone" | "unknown" = "unknown";

  constructor(
    /** Such as `rate_limit`: retry policies match on it. */
    readonly type: string,
    message = "",
    readonly options: FailureOptions = {},
  ) {
    super(message);
  }

  /** The body of `POST /v1/attempts/{id}/fail`. */
  body(): { [name: string]: Json } {
    const { retryAfter, code, details, retryable } = this.options;
    const error: { [name: string]: Json } = { type: this.type, message: this.message };
    if (code !== undefined) error["code"] = code;
    if (details !== undefined) error["details"] = details;
    if (retryable !== undefined) error["retryable"] = retryable;
    const body: { [name: string]: Json } = { error, outcome: this.outcome };
    if (retryAfter !== undefined) body["retryAfter"] = Math.round(retryAfter);
    return body;
  }
}

/** Certainly nothing happened: it was refused before anything left. */
export class NotDone extends Failed {
  override readonly outcome = "notDone";
}

/** Something may have happened: nobody knows. */
export class Unknown extends Failed {
  override readonly outcome = "unknown";
}
