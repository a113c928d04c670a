// pg-boss on PostgreSQL (PEER_POSTGRES): W1 (a queue of its own for each measurement, jobs sent one by one) and W3.
//
// A worker fetches up to 100 jobs at a time and completes them together, several workers poll as often as they may: what its
// documentation recommends for throughput.

import pg from "pg";
import { PgBoss } from "pg-boss";
import { flood, idle, IN_FLIGHT, percentile, session, stopwatch, tally, verify } from "./session.mjs";

const WORKERS = 4;
const boss = new PgBoss({ connectionString: process.env.PEER_POSTGRES, max: IN_FLIGHT / 2, supervise: false, schedule: false });
boss.on("error", () => {});
await boss.start();
const pool = new pg.Pool({ connectionString: process.env.PEER_POSTGRES, max: 1 });

let queues = 0;
let waiting = idle;

async function queue() {
  const name = `queue${++queues}`;
  await boss.createQueue(name);
  for (let worker = 0; worker < WORKERS; worker++) {
    await boss.work(name, { batchSize: IN_FLIGHT, pollingIntervalSeconds: 0.5 }, async (jobs) => {
      for (const _ of jobs) waiting.arrived();
    });
  }
  return name;
}

async function completed(name) {
  const found = await pool.query("SELECT count(*) FROM pgboss.job WHERE name = $1 AND state = 'completed'", [name]);
  return Number(found.rows[0].count);
}

async function w1({ count }) {
  const name = await queue();
  waiting = tally(count);
  const seconds = stopwatch();
  await flood(count, (index) => boss.send(name, { index }));
  await waiting.reached;
  // The last batch is completed in the database after its handler has ended.
  while ((await completed(name)) < count);
  const elapsed = seconds();
  await boss.offWork(name);
  return { completed: verify(await completed(name), count), rate: count / elapsed };
}

async function w3({ count }) {
  const name = await queue();
  const latencies = [];
  for (let index = 0; index < count; index++) {
    waiting = tally(1);
    const seconds = stopwatch();
    await boss.send(name, { index });
    await waiting.reached;
    latencies.push(seconds() * 1e3);
  }
  await boss.offWork(name);
  return { completed: latencies.length, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

await session({ w1, w3 }, async () => {
  await boss.stop({ graceful: false });
  await pool.end();
});
