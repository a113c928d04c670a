/** How a handler reports more than a result. */

import type { Json } from "./json.js";

/** What a handler may report beside the result. */
export interface DoneOptions {
  /** What the attempt cost, a number from 0. */
  costEstimate?: number;
  /** Stored with the attempt and shown with it. The machine does not see it. */
  metadata?: { [name: string]: Json };
}

/** The attempt succeeded. Return it in place of a plain result to report cost and metadata with it. */
export class Done {
  constructor(
    /** The action's result. */
    readonly result: Json = null,
    readonly options: DoneOptions = {},
  ) {}

  /** The body of `POST /v1/attempts/{id}/complete`. */
  body(): { [name: string]: Json } {
    const { costEstimate, metadata } = this.options;
    const body: { [name: string]: Json } = { result: this.result };
    if (costEstimate !== undefined) body["costEstimate"] = costEstimate;
    if (metadata !== undefined) body["metadata"] = metadata;
    return body;
  }
}
