"""Sending webhooks: one signed POST at a time, no redirects, a short patience."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from recollect.core.extras import need
from recollect.serve.http.metrics import Metrics

_PATIENCE_S = 10.0  # for an address to answer, from the first byte sent on: others wait behind it


class Sender:
    """An HTTP client for as long as each delivery takes."""

    def __init__(self, metrics: Metrics, *, patience_s: float = _PATIENCE_S) -> None:
        self._metrics = metrics
        self._patience_s = patience_s
        self._trusted: Any = None  # certificates, which take a while to read

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """POST; give what is wrong, or None where it was taken."""
        httpx: Any = need("httpx", extra="serve")
        try:
            # A timeout of httpx is for each read: one who trickles would never meet it. One deadline cuts all off.
            status = asyncio.run(self._answered(httpx, url, headers, body))
        except TimeoutError:
            self._metrics.count("webhook_deliveries", "failed")
            return f"It did not answer within {self._patience_s:g} s."
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            self._metrics.count("webhook_deliveries", "failed")
            return f"{type(error).__name__}: {error}"
        taken = 200 <= status < 300
        self._metrics.count("webhook_deliveries", "taken" if taken else "refused")
        return None if taken else f"It answered {status}."

    async def _answered(self, httpx: Any, url: str, headers: Mapping[str, str], body: bytes) -> int:
        if self._trusted is None:
            self._trusted = httpx.create_ssl_context()
        options: dict[str, Any] = {"timeout": None, "follow_redirects": False, "verify": self._trusted}
        async with (
            asyncio.timeout(self._patience_s),
            httpx.AsyncClient(**options) as client,
            client.stream("POST", url, headers=dict(headers), content=body) as answer,
        ):
            return int(answer.status_code)  # all that is asked for: what is said behind it may never end
