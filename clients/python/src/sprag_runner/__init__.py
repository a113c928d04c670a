"""Performs actions of Sprag in Python.

>>> from sprag_runner import Runner
>>> runner = Runner("http://127.0.0.1:7400", "gpu")
>>> @runner.register("render")
... def render(attempt):
...     return {"frames": attempt.config["frames"]}
>>> runner.run()                                                    # doctest: +SKIP

An attempt is performed once by whoever leased it. While a handler runs, a thread says that it is alive; when it returns,
the action is done; when it raises, it is not. `NotDone` says that certainly nothing happened; anything else leaves it
open, and the action's `onUnknown` decides.
"""

from ._attempt import Attempt, Superseded
from ._done import Done
from ._errors import Failed, NotDone, Unknown
from ._http import Problem, Unreachable
from ._runner import Handler, Runner

__all__ = [
    "Attempt",
    "Done",
    "Failed",
    "Handler",
    "NotDone",
    "Problem",
    "Runner",
    "Superseded",
    "Unknown",
    "Unreachable",
]
