"""A program that performs actions of type `work`, as its configuration says. Arguments: the server's URL, the runner's name."""

import logging
import os
import sys
from pathlib import Path

from sprag_runner import Attempt, Done, NotDone, Runner

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
url, name = sys.argv[1:]
runner = Runner(url, name, concurrency=4, lease_seconds=2, wait_seconds=2.0)


@runner.register("work")
def work(attempt: Attempt):
    mode, folder = attempt.config["mode"], Path(attempt.config["folder"])
    first = attempt.number == 1
    if mode == "refused" and first:
        raise NotDone("rate_limit", "not now", retry_after=0.05, details={"attempt": attempt.number})
    if mode == "broken" and first:
        raise RuntimeError(f"it broke with {attempt.config['token']}")
    if mode == "steps" and first:
        attempt.checkpoint({"step": 7})
        raise NotDone("temporary_failure", "after the seventh step")
    if mode == "cancelled":
        (folder / "begun").touch()
        attempt.wait_cancelled(60.0)
        raise NotDone("stopped", "as asked")
    if mode == "measured":
        used = {"gpu": 3, "note": f"used {attempt.config['token']}"}
        return Done({"attempt": attempt.number}, cost_estimate=0.25, metadata=used)
    if mode in ("killed", "restarted") and first:
        (folder / "begun").touch()
        while not (folder / "go").exists():
            attempt.wait_cancelled(0.05)
    return {"attempt": attempt.number, "checkpoint": attempt.last_checkpoint, "process": os.getpid(), "mode": mode}


runner.run()
