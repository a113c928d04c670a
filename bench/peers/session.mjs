// What the peers have in common: one JSON request a line in, one JSON answer a line out, until the input ends.
//
//   echo '{"work":"w1","count":1000}' | node graphile.mjs
//
// `make bench` keeps a session open for the whole run and asks for one work at a time, so that Sprag and its peers take
// turns. Whatever goes wrong is answered as {"error": "..."}: a peer never fails silently.

import { createInterface } from "node:readline";

/** So many are under way at any time, in every work that does not say otherwise. */
export const IN_FLIGHT = 100;

/** Answers requests with `works[name](request)`, then runs `stop`. */
export async function session(works, stop) {
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== "") say(await answer(works, line));
  }
  await stop();
  process.exit(0);
}

async function answer(works, line) {
  try {
    const request = JSON.parse(line);
    const work = works[request.work];
    if (!work) throw new Error(`there is no work "${request.work}"`);
    return { work: request.work, ...(await work(request)) };
  } catch (error) {
    return { error: String(error?.stack ?? error) };
  }
}

export function say(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

/** Calls `one(index)` for 0..count with so many under way, and resolves when all have ended. */
export async function flood(count, one) {
  let next = 0;
  const lane = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, lane));
}

/** Seconds from now on. */
export function stopwatch() {
  const began = process.hrtime.bigint();
  return () => Number(process.hrtime.bigint() - began) / 1e9;
}

/** Counts what nobody waits for yet. */
export const idle = { arrived() {}, reached: Promise.resolve() };

/** Resolves when `arrived` was called so many times; rejects when that takes too long. */
export function tally(count) {
  let seen = 0;
  let resolve;
  let reject;
  const reached = new Promise((yes, no) => ([resolve, reject] = [yes, no]));
  const guard = setTimeout(() => reject(new Error(`only ${seen} of ${count} completed in time`)), 240_000);
  return {
    arrived() {
      if (++seen === count) {
        clearTimeout(guard);
        resolve();
      }
    },
    reached,
  };
}

/** The value below which `share` of the sorted values lie. */
export function percentile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

/** Fails unless what completed is what was asked for. */
export function verify(completed, count) {
  if (Number(completed) !== count) throw new Error(`${completed} completed of ${count}`);
  return count;
}
