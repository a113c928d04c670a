// XState: the same two-level machine with a guard as Sprag's W6; `actor.send` only, nothing stored.

import { createActor, createMachine } from "xstate";
import { session, stopwatch, verify } from "./session.mjs";

const guard = ({ context }) => context.open === true;

const machine = createMachine({
  id: "two-levels",
  context: { open: true },
  initial: "a",
  states: {
    a: {
      initial: "x",
      states: {
        x: { on: { GO: { target: "y", guard } } },
        y: { on: { GO: { target: "x", guard } } },
      },
    },
  },
});

function w6({ count }) {
  const actor = createActor(machine);
  actor.start();
  const event = { type: "GO" };
  const seconds = stopwatch();
  for (let sent = 0; sent < count; sent++) actor.send(event);
  const elapsed = seconds();
  // An even number of steps ends where it began; one more shows that it moves at all.
  verify(actor.getSnapshot().matches({ a: count % 2 ? "y" : "x" }) ? count : 0, count);
  return { completed: count, rate: count / elapsed };
}

await session({ w6 }, async () => {});
