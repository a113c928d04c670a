// The service that Restate calls: one noop step, five, one HTTP call, a timer's end. The load comes from `sprag-bench`,
// through Restate's ingress; this process only runs handlers and says how many have ended.

import * as restate from "@restatedev/restate-sdk";
import { idle, percentile, session, tally } from "./session.mjs";

const noop = async () => {};
let waiting = idle;
let late = [];

const bench = restate.service({
  name: "bench",
  handlers: {
    one: async (ctx) => {
      await ctx.run("one", noop);
      waiting.arrived();
    },
    five: async (ctx) => {
      for (const name of ["one", "two", "three", "four", "five"]) await ctx.run(name, noop);
      waiting.arrived();
    },
    call: async (ctx, { url }) => {
      await ctx.run("call", async () => {
        const answer = await fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
        await answer.arrayBuffer();
        if (!answer.ok) throw new Error(`${answer.status}`);
      });
      waiting.arrived();
    },
    timer: async (_ctx, { due }) => {
      late.push(Date.now() - due);
      waiting.arrived();
    },
  },
});

await restate.serve({ services: [bench], port: Number(process.env.PEER_PORT) });

await session(
  {
    // From now on, count up to so many.
    expect: ({ count }) => {
      waiting = tally(count);
      late = [];
      return {};
    },
    // Answers when so many have ended.
    reached: async () => {
      await waiting.reached;
      return late.length === 0 ? {} : { p50: percentile(late, 0.5), p99: percentile(late, 0.99) };
    },
  },
  async () => {},
);
