"""The background thread of the service: settle queued work and deliver webhooks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import Any

from everyword.errors import EverywordError
from everyword.extras import need
from everyword.interfaces.http.observability import Metrics
from everyword.memory import Memory
from everyword.types.serialization import to_json
from everyword.types.times import utc_now

log = logging.getLogger("everyword.interfaces")

_DELIVERY_TIMEOUT_S = 10.0  # of a whole request, since other deliveries wait behind it
_POLL_EVERY_S = 2.0  # the delay for work that another process queued
_SETTLE_EVERY_S = 60.0  # even if no job is due: a file may need scrubbing, or statements may lag behind
_AFTER_ERROR_S = 30.0
_STOP_WITHIN_S = 10.0


class WebhookSender:
    """POSTs webhook deliveries, without following redirects."""

    def __init__(self, metrics: Metrics, *, timeout_s: float = _DELIVERY_TIMEOUT_S) -> None:
        self._metrics = metrics
        self._timeout_s = timeout_s
        self._ssl_context: Any = None  # kept, since loading certificates takes a while

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """POST a delivery; return what went wrong, or None if it was accepted."""
        httpx: Any = need("httpx", extra="serve")
        try:
            # httpx applies its timeout to each read, so a server that trickles bytes would never hit it.
            status = asyncio.run(self._post(httpx, url, headers, body))
        except TimeoutError:
            self._metrics.count("webhook_deliveries", "failed")
            return f"No response within {self._timeout_s:g} s."
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            self._metrics.count("webhook_deliveries", "failed")
            return f"{type(error).__name__}: {error}"
        taken = 200 <= status < 300
        self._metrics.count("webhook_deliveries", "taken" if taken else "refused")
        return None if taken else f"Response status {status}."

    async def _post(self, httpx: Any, url: str, headers: Mapping[str, str], body: bytes) -> int:
        if self._ssl_context is None:
            self._ssl_context = httpx.create_ssl_context()
        options: dict[str, Any] = {"timeout": None, "follow_redirects": False, "verify": self._ssl_context}
        async with (
            asyncio.timeout(self._timeout_s),
            httpx.AsyncClient(**options) as client,
            client.stream("POST", url, headers=dict(headers), content=body) as response,
        ):
            return int(response.status_code)  # the body is not read: it may never end


class Worker:
    """A thread that runs due jobs and delivers webhooks."""

    def __init__(self, memory: Memory, metrics: Metrics) -> None:
        self._memory = memory
        self._metrics = metrics
        self._sender = WebhookSender(metrics)
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="everyword-worker", daemon=True)
        self._since_settled = _SETTLE_EVERY_S

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    def stop(self) -> None:
        """Finish the current work, and end the thread."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_WITHIN_S)  # an LLM call may take longer; its job is retried later

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait_s = _POLL_EVERY_S
            try:
                self._settle()
                self._memory.admin.deliver_webhooks(
                    self._sender.send, to_json, going_on=lambda: not self._stopping.is_set()
                )
            except EverywordError as error:
                if self._stopping.is_set():  # the memory was closed meanwhile; the job stays queued
                    return
                log.warning("Background work failed and will be retried: %s", error)
                wait_s = _AFTER_ERROR_S
            except Exception:
                log.exception("Unexpected error in the worker; it continues.")
                wait_s = _AFTER_ERROR_S
            self._since_settled += wait_s
            self._woken.wait(wait_s)
            self._woken.clear()

    def _settle(self) -> None:
        due = self._memory.admin.next_job_due()
        if (due is not None and due <= utc_now()) or self._since_settled >= _SETTLE_EVERY_S:
            self._since_settled = 0.0
            self._memory.admin.settle()
