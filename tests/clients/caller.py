"""Applies a machine, starts an execution, sends, waits and reads. Arguments: the server's URL. Prints what it saw as JSON."""

import json
import sys

from sprag_runner import Client, Problem

MACHINE = """
id: called
initial: asking
states:
  asking: { on: { done.ask: waiting } }
  waiting: { on: { ANSWER: { target: over, assign: { answer: "{{message.payload.text}}" } } } }
  over: { type: final, output: "{{variables.answer}}" }
actions:
  - { actionId: ask, type: noop, triggerState: asking }
"""

client = Client(sys.argv[1])
applied = client.apply(MACHINE)
first = client.start("called", key="a/b", variables={"x": 1}, tags=["t"], idempotency_key="python-1")
again = client.start("called", key="a/b", variables={"x": 1}, tags=["t"], idempotency_key="python-1")
try:
    client.wait(first["id"], timeout=0)
    late = "closed"
except TimeoutError as error:
    late = str(error)
while client.get(first["id"])["configuration"] != ["waiting"]:
    pass
sent = client.send("called/a/b", "ANSWER", {"text": "42"}, message_id="m-1")
closed = client.wait(first["id"], timeout=60)
try:
    client.start("caled")
    refused = None
except Problem as error:
    refused = {"status": error.status, "code": error.code, "detail": error.detail}
for number in range(3):
    client.cancel(client.start("called", key=f"more-{number}")["id"])
print(
    json.dumps(
        {
            "version": applied["version"],
            "same": first["id"] == again["id"],
            "late": late.endswith("after 0 s"),
            "handled": sent["handled"],
            "status": closed["status"],
            "output": closed["output"],
            "history": [entry["sequence"] for entry in client.history(first["id"])],
            "actions": [action["actionId"] for action in client.actions(executionId=first["id"])],
            "cancelled": len(list(client.executions(machine="called", status="cancelled", limit=1))),
            "refused": refused,
        }
    )
)
