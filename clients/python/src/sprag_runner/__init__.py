"""Starts executions of Sprag, and performs its actions, in Python.

>>> from sprag_runner import Client
>>> client = Client("http://127.0.0.1:7400")
>>> order = client.start("order-payment", key="order-1", variables={"amount": 42})    # doctest: +SKIP
>>> client.wait(order["id"])["status"]                                               # doctest: +SKIP
'completed'

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
from ._client import Client
from ._done import Done
from ._errors import Failed, NotDone, Unknown
from ._http import Problem, Unreachable
from ._runner import Handler, Runner

__all__ = [
    "Attempt",
    "Client",
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
