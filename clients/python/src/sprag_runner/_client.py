"""Starts executions, sends them messages, waits for them and reads them."""

from __future__ import annotations

import time
import uuid
from typing import Any, Callable, Iterator
from urllib.parse import quote, urlencode

from ._http import Http, Problem, Unreachable

_ANSWER_SECONDS = 30.0
#: The longest that the server holds one question open.
_HELD_SECONDS_MAX = 60.0
_PAUSE_SECONDS = 0.1
_PAUSE_SECONDS_MAX = 2.0


class Client:
    """A client of one server.

    Every request is repeated, for up to `patience` seconds, while the server is unreachable or says that the same request
    may succeed later. A request that changes something carries an idempotency key, so it acts once however often it is
    sent. What the server refuses is raised as `Problem`.
    """

    def __init__(self, url: str = "http://127.0.0.1:7400", *, token: str | None = None, patience: float = 20.0) -> None:
        """Talks to the server at `url`, with `token` (default `SPRAG_TOKEN`) if it needs one."""
        self._http = Http(url, token)
        self._patience = patience

    def apply(self, definition: str | dict[str, Any]) -> dict[str, Any]:
        """Applies a machine: a definition as a `dict`, or the text of a YAML file. Returns `{id, version, …}`."""
        media_type = "application/yaml" if isinstance(definition, str) else "application/json"
        return self._post("/v1/machines", definition, media_type=media_type)

    def start(
        self,
        machine: str,
        *,
        key: str | None = None,
        variables: dict[str, Any] | None = None,
        version: int | None = None,
        tags: list[str] | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Starts an execution and returns it. Give an `idempotency_key` to start it once across restarts of this program."""
        given = {"key": key, "variables": variables, "version": version, "tags": tags}
        body = {"machine": machine, **{name: value for name, value in given.items() if value is not None}}
        return self._post("/v1/executions", body, key=idempotency_key)

    def send(
        self, execution: str, type: str, payload: Any = None, *, message_id: str | None = None
    ) -> dict[str, Any]:
        """Sends a message to an execution: its id, or `MACHINE/KEY`. Returns `{handled, configuration, sequence}`.

        A message with a `message_id` that the execution has had is not handled again.
        """
        message: dict[str, Any] = {"type": type}
        if payload is not None:
            message["payload"] = payload
        if message_id is not None:
            message["id"] = message_id
        machine, slash, key = execution.partition("/")
        if slash:
            return self._post("/v1/messages", {"machine": machine, "key": key, **message})
        return self._post(f"/v1/executions/{quote(execution)}/messages", message)

    def get(self, execution: str) -> dict[str, Any]:
        """Returns an execution: `{id, machine, status, configuration, variables, …}`."""
        return self._get(f"/v1/executions/{quote(execution)}")

    def wait(self, execution: str, timeout: float | None = None) -> dict[str, Any]:
        """Waits until an execution is closed and returns it; raises `TimeoutError` after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _HELD_SECONDS_MAX if end is None else end - time.monotonic()
            held = max(0.0, min(left, _HELD_SECONDS_MAX))
            found = self._get(f"/v1/executions/{quote(execution)}?wait={round(held * 1000)}ms", held)
            if found["status"] in ("completed", "failed", "cancelled"):
                return found
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"{execution} is {found['status']} after {timeout} s")

    def history(self, execution: str) -> Iterator[dict[str, Any]]:
        """Yields the history of an execution, oldest entry first."""
        return self._pages(f"/v1/executions/{quote(execution)}/history", {})

    def executions(self, **query: Any) -> Iterator[dict[str, Any]]:
        """Yields executions, newest first: `client.executions(machine="order", status="running")`, or `filter="…"`."""
        return self._pages("/v1/executions", query)

    def actions(self, **query: Any) -> Iterator[dict[str, Any]]:
        """Yields actions, newest first: `client.actions(executionId=order["id"])`."""
        return self._pages("/v1/actions", query)

    def cancel(self, execution: str) -> dict[str, Any]:
        """Cancels an execution with its open actions, and returns it."""
        return self._post(f"/v1/executions/{quote(execution)}/cancel", {})

    def _pages(self, path: str, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
        query = {name: value for name, value in query.items() if value is not None}
        while True:
            page = self._get(f"{path}?{urlencode(query)}" if query else path)
            yield from page["data"]
            if page.get("nextCursor") is None:
                return
            query["cursor"] = page["nextCursor"]

    def _get(self, path: str, held: float = 0.0) -> Any:
        return self._patiently(lambda: self._http.get(path, _ANSWER_SECONDS + held))

    def _post(self, path: str, body: Any, *, key: str | None = None, media_type: str = "application/json") -> Any:
        key = key or uuid.uuid4().hex
        return self._patiently(lambda: self._http.post(path, body, _ANSWER_SECONDS, key=key, media_type=media_type))

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        end = time.monotonic() + self._patience
        pause = _PAUSE_SECONDS
        while True:
            try:
                return ask()
            except (Problem, Unreachable) as error:
                is_final = isinstance(error, Problem) and not error.is_passing
                if is_final or time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)
