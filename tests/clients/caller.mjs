// Applies a machine, starts an execution, sends, waits and reads. Arguments: the server's URL. Prints what it saw as JSON.
// SPRAG_RUNNER is the compiled client.

import { pathToFileURL } from "node:url";

const { Client, Problem } = await import(pathToFileURL(process.env.SPRAG_RUNNER).href);
const client = new Client({ url: process.argv[2] });

const applied = await client.apply({
  id: "called",
  initial: "asking",
  states: {
    asking: { on: { "done.ask": "waiting" } },
    waiting: { on: { ANSWER: { target: "over", assign: { answer: "{{message.payload.text}}" } } } },
    over: { type: "final", output: "{{variables.answer}}" },
  },
  actions: [{ actionId: "ask", type: "noop", triggerState: "asking" }],
});
const start = () => client.start("called", { key: "a/b", variables: { x: 1 }, tags: ["t"], idempotencyKey: "node-1" });
const first = await start();
const again = await start();
const late = await client.wait(first.id, 0).then(() => "closed", (error) => error.message);
while ((await client.get(first.id)).configuration.join() !== "waiting");
const sent = await client.send("called/a/b", "ANSWER", { text: "42" }, "m-1");
const closed = await client.wait(first.id, 60_000);
const refused = await client.start("caled").then(
  () => null,
  (error) => error instanceof Problem && { status: error.status, code: error.code, detail: error.detail },
);
for (const number of [0, 1, 2]) await client.cancel((await client.start("called", { key: `more-${number}` })).id);
const all = async (items) => {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
};
console.log(
  JSON.stringify({
    version: applied.version,
    same: first.id === again.id,
    late: late.endsWith("after 0 ms"),
    handled: sent.handled,
    status: closed.status,
    output: closed.output,
    history: (await all(client.history(first.id))).map((entry) => entry.sequence),
    actions: (await all(client.actions({ executionId: first.id }))).map((action) => action.actionId),
    cancelled: (await all(client.executions({ machine: "called", status: "cancelled", limit: 1 }))).length,
    refused,
  }),
);
