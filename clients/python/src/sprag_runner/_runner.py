"""The loop: ask for work, perform it, say how it ended."""

from __future__ import annotations

import json
import logging
import signal
import threading
from typing import Any, Callable, Iterable

from ._attempt import Attempt, Superseded
from ._done import Done
from ._errors import Failed, Unknown
from ._http import Http, Problem, Unreachable

#: Performs an attempt; what it returns is the action's result, or a `Done` with the result.
Handler = Callable[[Attempt], Any]

_LOG = logging.getLogger("sprag_runner")
_ERROR_PAUSE_MAX = 15.0


class Runner:
    """A program that performs actions of some types."""

    def __init__(
        self,
        url: str,
        name: str | None = None,
        *,
        tags: Iterable[str] = (),
        concurrency: int = 1,
        lease_seconds: int = 60,
        wait_seconds: float = 10.0,
        token: str | None = None,
    ) -> None:
        """For the runner `name` of actions on the server at `url`; without a name, for any.

        `tags` that an action must all have; `concurrency` attempts at once, each in a thread of its own; `lease_seconds`
        that an attempt stays this program's without a heartbeat; `wait_seconds` that one question for work waits;
        `token` (default `SPRAG_TOKEN`) for servers that need one.
        """
        self._http = Http(url, token)
        self._name = name
        self._tags = list(tags)
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._wait_seconds = wait_seconds
        self._handlers: dict[str, Handler] = {}
        self._stopping = threading.Event()
        self._free = threading.Semaphore(concurrency)

    def register(self, type: str) -> Callable[[Handler], Handler]:
        """Performs actions of `type` with the handler: `runner.register("render")(render)`, or as a decorator."""

        def keep(handler: Handler) -> Handler:
            self._handlers[type] = handler
            return handler

        return keep

    def stop(self) -> None:
        """Asks for nothing more. What is leased is finished first."""
        self._stopping.set()

    def run(self) -> None:
        """Performs attempts until `stop`, SIGTERM or SIGINT; returns once everything that was leased has ended."""
        if not self._handlers:
            raise ValueError("no handler is registered: call register(type)(handler) first")
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        pause = 0.5
        while not self._stopping.is_set():
            room = self._take_room()
            try:
                given = self._lease(room) if room else []
                pause = 0.5
            except (Problem, Unreachable) as error:
                if isinstance(error, Problem) and not error.is_passing:
                    raise
                _LOG.warning("no work: %s", error)
                given = []
                self._stopping.wait(pause)
                pause = min(pause * 2, _ERROR_PAUSE_MAX)
            for _ in range(room - len(given)):
                self._free.release()
            for one in given:
                attempt = Attempt(self._http, one, self._lease_seconds)
                threading.Thread(target=self._perform, args=(attempt,), name=attempt.id).start()
        for _ in range(self._concurrency):
            self._free.acquire()

    def _take_room(self) -> int:
        """How many more attempts fit: waits until one does."""
        while not self._free.acquire(timeout=0.5):
            if self._stopping.is_set():
                return 0
        room = 1
        while room < 100 and self._free.acquire(blocking=False):
            room += 1
        return room

    def _lease(self, most: int) -> list[dict[str, Any]]:
        asks: dict[str, Any] = {
            "types": sorted(self._handlers),
            "tags": self._tags,
            "max": most,
            "wait": round(self._wait_seconds * 1000),
            "leaseSeconds": self._lease_seconds,
        }
        if self._name is not None:
            asks["runner"] = self._name
        answer = self._http.post("/v1/runners/lease", asks, self._wait_seconds + 15.0)
        return list(answer["attempts"])

    def _perform(self, attempt: Attempt) -> None:
        attempt._begin()
        try:
            verb, body = self._outcome(attempt)
            if verb:
                status = attempt._report(verb, body)
                _LOG.info("%s of %s: %s, the action is %s", attempt.id, attempt.action_id, verb, status)
        except Problem as problem:
            self._refused(attempt, problem)
        finally:
            attempt._end()
            self._free.release()

    def _refused(self, attempt: Attempt, problem: Problem) -> None:
        """The server does not take what the handler gave: the action hears why, instead of nothing at all."""
        _LOG.error("what came of %s was refused: %s", attempt.id, problem)
        try:
            attempt._report("fail", Unknown("invalid_result", f"the outcome was refused: {problem}").body())
        except Problem:
            _LOG.exception("%s ends with its lease", attempt.id)

    def _outcome(self, attempt: Attempt) -> tuple[str, dict[str, Any]]:
        try:
            result = self._handlers[attempt.type](attempt)
            body = (result if isinstance(result, Done) else Done(result)).body()
            json.dumps(body, allow_nan=False)
            return "complete", body
        except Superseded:
            _LOG.info("%s of %s is nobody's any more", attempt.id, attempt.action_id)
            return "", {}
        except Failed as failed:
            return "fail", failed.body()
        except Exception as error:  # whatever a handler raises, the server hears of it
            _LOG.exception("the handler of %s failed", attempt.type)
            return "fail", Unknown("unknown_error", f"{type(error).__name__}: {error}").body()
