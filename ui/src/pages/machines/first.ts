// What the editor begins with: small enough to read at once, and it runs as it is.
export const FIRST_MACHINE = `id: first-order
description: An order is confirmed by a message, then shipped by an action.
initial: waiting
states:
  waiting:
    on: { CONFIRM: shipping, WITHDRAW: withdrawn }
    after: { 7d: withdrawn }
  shipping:
    on: { done.ship: shipped, failed.ship: needs_a_person }
  needs_a_person:
    on: { RETRY: shipping, WITHDRAW: withdrawn }
  shipped: { type: final }
  withdrawn: { type: final }
actions:
  - actionId: ship
    type: log_message
    triggerState: shipping
    config: { message: "order {{execution.key}} is shipped" }
`;
