// BullMQ on Redis with `appendfsync always` (PEER_REDIS is its port): W1, W2 as its documented step pattern, W4 as
// delayed jobs.
//
// The worker has a process of its own, as its guide for production has it; each request gets a queue of its own.

import { fork } from "node:child_process";
import { Queue, Worker } from "bullmq";
import { flood, IN_FLIGHT, percentile, session, stopwatch, verify } from "./session.mjs";

const connection = { host: "127.0.0.1", port: Number(process.env.PEER_REDIS), maxRetriesPerRequest: null };
const STEPS = 5;

const processors = {
  w1: async () => {},
  // docs: "Process step jobs": the step reached is kept in the job's data, so that a retry continues there.
  w2: async (job) => {
    let { step } = job.data;
    while (step < STEPS) await job.updateData({ step: ++step });
  },
  w4: async (job) => Date.now() - job.data.due,
};

/** A peer that cannot work ends, so that its session is answered. */
function fail(error) {
  console.error(error);
  process.exit(1);
}

/** The worker's process: takes the jobs of one queue after another and says what completed. */
function work() {
  const workers = new Map();
  process.on("message", async ({ begin, end, kind, count }) => {
    if (begin) {
      const worker = new Worker(begin, processors[kind], { connection, concurrency: IN_FLIGHT });
      workers.set(begin, worker);
      const results = [];
      worker.on("completed", (_, result) => results.push(result) === count && process.send({ done: results }));
      worker.on("error", fail);
      await worker.waitUntilReady();
      process.send({ began: begin });
    }
    if (end) {
      await workers.get(end).close();
      workers.delete(end);
      process.send({ ended: end });
    }
  });
  process.on("disconnect", () => process.exit(0));
}

if (process.argv[2] === "worker") {
  work();
} else {
  const worker = fork(process.argv[1], ["worker"]);
  const heard = (key) =>
    new Promise((resolve) => {
      const listen = (message) => {
        if (!(key in message)) return;
        worker.off("message", listen);
        resolve(message[key]);
      };
      worker.on("message", listen);
    });
  let rounds = 0;

  async function round(kind, count, add) {
    const name = `${kind}-${++rounds}`;
    const queue = new Queue(name, { connection });
    const began = heard("began");
    worker.send({ begin: name, kind, count });
    await began;
    const done = heard("done");
    const seconds = stopwatch();
    await flood(count, (index) => add(queue, index));
    const results = await done;
    const elapsed = seconds();
    const { completed } = await queue.getJobCounts("completed");
    verify(completed, count);
    const ended = heard("ended");
    worker.send({ end: name });
    await ended;
    await queue.obliterate({ force: true });
    await queue.close();
    return { completed, rate: count / elapsed, results };
  }

  async function w1({ count }) {
    const { completed, rate } = await round("w1", count, (queue) => queue.add("noop", {}));
    return { completed, rate };
  }

  async function w2({ count }) {
    const { completed, rate } = await round("w2", count, (queue) => queue.add("steps", { step: 0 }));
    return { completed, rate: rate * STEPS };
  }

  // Timers that were due before all were added say nothing of lateness: then again, with more time before the first.
  let lead = 4_000;

  async function w4({ count, spreadMillis }) {
    for (;;) {
      const base = Date.now() + lead;
      let added = 0;
      const { completed, results } = await round("w4", count, async (queue, index) => {
        const due = base + Math.floor((index * spreadMillis) / count);
        await queue.add("timer", { due }, { delay: Math.max(0, due - Date.now()) });
        added = Date.now();
      });
      if (added < base) return { completed, p50: percentile(results, 0.5), p99: percentile(results, 0.99) };
      lead = 2 * (added - base + lead);
    }
  }

  await session({ w1, w2, w4 }, async () => worker.disconnect());
}
