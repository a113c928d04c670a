// graphile-worker on PostgreSQL (PEER_POSTGRES): W1 and W3, as it has no steps within a job.
//
// Settings of its performance page: jobs fetched and completed in batches, a connection per job under way for adding.

import pg from "pg";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { flood, idle, IN_FLIGHT, percentile, session, stopwatch, tally } from "./session.mjs";

const pool = new pg.Pool({ connectionString: process.env.PEER_POSTGRES, max: IN_FLIGHT / 2 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool: pool, logger });
await utils.migrate();

let waiting = idle;
const runner = await run({
  pgPool: pool,
  logger,
  noHandleSignals: true,
  taskList: { noop: async () => {} },
  preset: {
    worker: { concurrentJobs: IN_FLIGHT, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  },
});
// A batch of completions is announced once it is committed.
runner.events.on("job:complete", ({ error }) => error || waiting.arrived());

async function w1({ count }) {
  waiting = tally(count);
  const seconds = stopwatch();
  await flood(count, (index) => utils.addJob("noop", { index }));
  await waiting.reached;
  // A completed job is deleted, so the table must be empty: the last batch may still be on its way.
  while (Number((await pool.query("SELECT count(*) FROM graphile_worker.jobs")).rows[0].count) > 0);
  const elapsed = seconds();
  return { completed: count, rate: count / elapsed };
}

/** One at a time, from the call until its completion is committed. */
async function w3({ count }) {
  const latencies = [];
  for (let index = 0; index < count; index++) {
    waiting = tally(1);
    const seconds = stopwatch();
    await utils.addJob("noop", { index });
    await waiting.reached;
    latencies.push(seconds() * 1e3);
  }
  return { completed: latencies.length, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

await session({ w1, w3 }, async () => {
  await runner.stop();
  await utils.release();
  await pool.end();
});
