// DBOS Transact on PostgreSQL (PEER_POSTGRES): W1 and W3 (a workflow of one step), W2 (five steps, one after another).

import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { flood, IN_FLIGHT, percentile, session, stopwatch, verify } from "./session.mjs";

const noop = async () => {};

const one = DBOS.registerWorkflow(async () => {
  await DBOS.runStep(noop, { name: "one" });
}, { name: "one" });

const five = DBOS.registerWorkflow(async () => {
  for (const name of ["one", "two", "three", "four", "five"]) await DBOS.runStep(noop, { name });
}, { name: "five" });

DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: process.env.PEER_POSTGRES,
  systemDatabasePoolSize: IN_FLIGHT / 2,
  logLevel: "error",
});
await DBOS.launch();
const pool = new pg.Pool({ connectionString: process.env.PEER_POSTGRES, max: 1 });

async function through(workflow, count) {
  const before = await succeeded();
  const seconds = stopwatch();
  await flood(count, async () => (await DBOS.startWorkflow(workflow)()).getResult());
  const elapsed = seconds();
  return { completed: verify((await succeeded()) - before, count), rate: count / elapsed };
}

/** One at a time, from the call to its result. */
async function w3({ count }) {
  const before = await succeeded();
  const latencies = [];
  for (let index = 0; index < count; index++) {
    const seconds = stopwatch();
    await (await DBOS.startWorkflow(one)()).getResult();
    latencies.push(seconds() * 1e3);
  }
  const completed = verify((await succeeded()) - before, count);
  return { completed, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

async function succeeded() {
  const found = await pool.query("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'");
  return Number(found.rows[0].count);
}

await session(
  {
    w1: ({ count }) => through(one, count),
    w3,
    w2: async ({ count }) => {
      const { completed, rate } = await through(five, count);
      return { completed, rate: rate * 5 };
    },
  },
  async () => {
    await pool.end();
    await DBOS.shutdown();
  },
);
