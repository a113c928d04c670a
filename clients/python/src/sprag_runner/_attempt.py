"""One attempt, as its handler sees it."""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ._http import Http, Problem, Unreachable

if TYPE_CHECKING:
    from ._api import LeasedAttempt

# A cancellation leaves ten seconds to end: whoever beats this often hears of it in time.
_BEAT_SECONDS_MAX = 5.0
_AGAIN_SECONDS = 0.5
_ANSWER_SECONDS = 10.0


class Superseded(Exception):
    """The attempt is nobody's any more: stop, have no further effect. Nothing is reported."""


class Attempt:
    """An attempt that this program holds."""

    def __init__(self, http: Http, given: LeasedAttempt, lease_seconds: float) -> None:
        self._http = http
        self._every = min(_BEAT_SECONDS_MAX, lease_seconds / 3)
        self._cancelled = threading.Event()
        self._superseded = threading.Event()
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat, name=f"heartbeat {given['id']}", daemon=True)
        #: Heartbeats and the outcome are sent under it.
        self.id: str = given["id"]
        #: 1 for the first attempt.
        self.number: int = given["number"]
        #: The name of the action in the machine.
        self.action_id: str = given["actionId"]
        #: The action's type.
        self.type: str = given["type"]
        #: The configuration, rendered, secrets included.
        self.config: Any = given["config"]
        #: The same for every attempt of the action: send it along, so that a repetition is known as one.
        self.idempotency_key: str = given["idempotencyKey"]
        #: Then the attempt is over, whatever happens.
        self.deadline: datetime = _instant(given["deadline"])
        #: What an earlier attempt checkpointed last.
        self.last_checkpoint: Any = given.get("checkpoint")

    @property
    def cancelled(self) -> bool:
        """Whether to stop: somebody asked, or the attempt is nobody's any more."""
        return self._cancelled.is_set()

    def wait_cancelled(self, seconds: float) -> bool:
        """Waits until somebody asks to stop, at most so long; says whether somebody did."""
        return self._cancelled.wait(seconds)

    def checkpoint(self, value: Any) -> None:
        """Returns once `value` is stored with the attempt; raises `Superseded` if it is nobody's any more."""
        while not self._superseded.is_set():
            try:
                self._say_alive({"checkpoint": value})
                return
            except Unreachable:
                self._over.wait(_AGAIN_SECONDS)
            except Problem as problem:
                if not problem.is_passing:
                    raise
                self._over.wait(_AGAIN_SECONDS)
        raise Superseded(self.id)

    def _begin(self) -> None:
        self._heart.start()

    def _end(self) -> None:
        self._over.set()

    def _beat(self) -> None:
        pause = self._every
        while not self._over.wait(pause) and not self._superseded.is_set():
            try:
                self._say_alive({})
                pause = self._every
            except (Problem, Unreachable, Superseded):
                # The lease still runs: the next beat may be heard.
                pause = min(_AGAIN_SECONDS, self._every)

    def _say_alive(self, body: dict[str, Any]) -> None:
        try:
            heard = self._http.post(f"/v1/attempts/{self.id}/heartbeat", body, _ANSWER_SECONDS)
        except Problem as problem:
            if problem.status == 409:
                self._superseded.set()
                self._cancelled.set()
                raise Superseded(self.id) from None
            raise
        if heard["cancelRequested"]:
            self._cancelled.set()

    def _report(self, verb: str, body: dict[str, Any]) -> str:
        """Says how it ended until somebody hears it; the status of its action, or that it came too late."""
        pause = 0.1
        while not self._superseded.is_set() and datetime.now(timezone.utc) < self.deadline:
            try:
                answer = self._http.post(f"/v1/attempts/{self.id}/{verb}", body, _ANSWER_SECONDS)
                return str(answer["status"])
            except Unreachable:
                pass
            except Problem as problem:
                if problem.status == 409:
                    return "superseded"
                if not problem.is_passing:
                    raise
            self._superseded.wait(pause)
            pause = min(pause * 2, 5.0)
        return "superseded"


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
