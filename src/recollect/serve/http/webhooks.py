"""Sending webhooks: one signed POST at a time, no redirects, a short patience."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.core.extras import need
from recollect.serve.http.metrics import Metrics

_PATIENCE_S = 10.0  # for an address to answer: others wait behind it


class Sender:
    """An HTTP client that is made when there is something to send."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._client: Any = None

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """POST; give what is wrong, or None where it was taken."""
        httpx: Any = need("httpx", extra="serve")
        if self._client is None:
            self._client = httpx.Client(timeout=_PATIENCE_S, follow_redirects=False)
        try:
            answer = self._client.post(url, headers=dict(headers), content=body)
        except httpx.HTTPError as error:
            self._metrics.count("webhook_deliveries", "failed")
            return f"{type(error).__name__}: {error}"
        taken = 200 <= answer.status_code < 300
        self._metrics.count("webhook_deliveries", "taken" if taken else "refused")
        return None if taken else f"It answered {answer.status_code}."

    def close(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            self._client.close()
