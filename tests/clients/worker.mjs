// A program that performs actions of type `work`, as its configuration says. Arguments: the server's URL, the runner's
// name. SPRAG_RUNNER is the compiled client.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { Done, NotDone, Runner } = await import(pathToFileURL(process.env.SPRAG_RUNNER).href);
const [url, name] = process.argv.slice(2);
const runner = new Runner({ url, name, concurrency: 4, leaseSeconds: 2, waitMillis: 2_000 });
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

runner.register("work", async (attempt) => {
  const { mode, folder, token } = attempt.config;
  const first = attempt.number === 1;
  if (mode === "refused" && first) {
    throw new NotDone("rate_limit", "not now", { retryAfter: 50, details: { attempt: attempt.number } });
  }
  if (mode === "broken" && first) throw new Error(`it broke with ${token}`);
  if (mode === "steps" && first) {
    await attempt.checkpoint({ step: 7 });
    throw new NotDone("temporary_failure", "after the seventh step");
  }
  if (mode === "cancelled") {
    writeFileSync(join(folder, "begun"), "");
    while (!attempt.cancelled) await sleep(50);
    throw new NotDone("stopped", "as asked");
  }
  if (mode === "measured") {
    const metadata = { gpu: 3, note: `used ${token}` };
    return new Done({ attempt: attempt.number }, { costEstimate: 0.25, metadata });
  }
  if ((mode === "killed" || mode === "restarted") && first) {
    writeFileSync(join(folder, "begun"), "");
    while (!existsSync(join(folder, "go"))) await sleep(50);
  }
  return { attempt: attempt.number, checkpoint: attempt.lastCheckpoint ?? null, process: process.pid, mode };
});

await runner.run();
