// DBOS Transact on PostgreSQL (PEER_POSTGRES): W1 (a workflow of one step) and W2 (five steps, one after another).

import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { flood, IN_FLIGHT, session, stopwatch, verify } from "./session.mjs";

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

async function succeeded() {
  const found = await pool.query("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'");
  return Number(found.rows[0].count);
}

await session(
  {
    w1: ({ count }) => through(one, count),
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
