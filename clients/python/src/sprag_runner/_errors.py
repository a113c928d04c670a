"""How a handler says that an attempt did not succeed."""

from __future__ import annotations

from typing import Any


class Failed(Exception):
    """The attempt did not succeed. Raise `NotDone` or `Unknown`."""

    outcome = "unknown"

    def __init__(
        self,
        type: str,
        message: str = "",
        *,
        code: str | None = None,
        details: Any = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        """An error of `type`, such as `rate_limit`: retry policies match on it.

        `retryable=False` says that no other attempt can ever help. `retry_after` are seconds before which another one
        makes no sense.
        """
        super().__init__(f"{type}: {message}")
        self.type = type
        self.message = message
        self.code = code
        self.details = details
        self.retryable = retryable
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """The body of `POST /v1/attempts/{id}/fail`."""
        error: dict[str, Any] = {"type": self.type, "message": self.message}
        for name in ("code", "details", "retryable"):
            value = getattr(self, name)
            if value is not None:
                error[name] = value
        body: dict[str, Any] = {"error": error, "outcome": self.outcome}
        if self.retry_after is not None:
            body["retryAfter"] = round(self.retry_after * 1000)
        return body


class NotDone(Failed):
    """Certainly nothing happened: it was refused before anything left."""

    outcome = "notDone"


class Unknown(Failed):
    """Something may have happened: nobody knows."""

    outcome = "unknown"
