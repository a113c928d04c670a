"""Requests to one server, over the standard library."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from typing import Any


class Problem(Exception):
    """The server refused a request, and says why."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status >= 500 or self.status in (408, 429)


class Unreachable(Exception):
    """Nobody answered: the server is down, restarts, or the network is cut."""


class Http:
    """Sends requests to one server."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._token = token if token is not None else os.environ.get("SPRAG_TOKEN")
        # No proxy of the environment: the server is named outright.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str, timeout: float) -> Any:
        """Returns the answer to a GET; raises `Problem` or `Unreachable`."""
        return self._send(path, None, {}, timeout)

    def post(
        self, path: str, body: Any, timeout: float, *, key: str | None = None, media_type: str = "application/json"
    ) -> Any:
        """Returns the answer to a POST; raises `Problem` or `Unreachable`.

        Requests with the same idempotency `key` act once. A `body` that is a text is sent as it is.
        """
        headers = {"Content-Type": media_type}
        if key is not None:
            headers["Idempotency-Key"] = key
        text = body if isinstance(body, str) else json.dumps(body)
        return self._send(path, text.encode(), headers, timeout)

    def _send(self, path: str, data: bytes | None, headers: dict[str, str], timeout: float) -> Any:
        headers["Accept"] = "application/json"
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url + path, data=data, headers=headers)
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise _problem(error) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{self._url}: {error}") from error


def _problem(error: urllib.error.HTTPError) -> Problem:
    try:
        said = json.load(error)
        code = str(said.get("type", "")).rsplit("/", 1)[-1]
        return Problem(error.code, code, str(said.get("detail", "")))
    except (OSError, ValueError, AttributeError):
        return Problem(error.code, "", error.reason if isinstance(error.reason, str) else "")
