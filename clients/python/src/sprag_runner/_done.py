"""How a handler reports more than a result."""

from __future__ import annotations

from typing import Any


class Done:
    """The attempt succeeded. Return it in place of a plain result to report cost and metadata with it."""

    def __init__(
        self,
        result: Any = None,
        *,
        cost_estimate: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """`result` is the action's result; `cost_estimate` is what the attempt cost, a number from 0; `metadata` is
        stored with the attempt and shown with it. The machine does not see it.
        """
        self.result = result
        self.cost_estimate = cost_estimate
        self.metadata = metadata

    def body(self) -> dict[str, Any]:
        """The body of `POST /v1/attempts/{id}/complete`."""
        body: dict[str, Any] = {"result": self.result}
        if self.cost_estimate is not None:
            body["costEstimate"] = self.cost_estimate
        if self.metadata is not None:
            body["metadata"] = self.metadata
        return body
