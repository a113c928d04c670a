/** Starts executions of Sprag, and performs its actions, in Node. See README.md. */

export { Attempt, Superseded } from "./attempt.js";
export {
  Client,
  type Action,
  type ClientOptions,
  type Execution,
  type HistoryEntry,
  type Sent,
  type StartOptions,
} from "./client.js";
export { Done, type DoneOptions } from "./done.js";
export { Failed, NotDone, Unknown, type FailureOptions } from "./errors.js";
export { Problem, Unreachable } from "./http.js";
export { Runner, type Handler, type RunnerOptions } from "./runner.js";
export type { Json } from "./json.js";
