"""Around every request: errors in one shape, secure headers, counts, times and traces."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.core.errors import Overloaded, RecollectError
from recollect.serve.http.answers import refused, refused_by_routing
from recollect.serve.http.service import Service

log = logging.getLogger("recollect.serve")

# The page brings everything along: nothing is fetched from elsewhere, nothing inline is run, nobody frames it.
# The hash is of the one rule that the graph's library writes into the page (vendor/cytoscape.js).
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8='; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_FOR_ANYBODY = ("/healthz", "/readyz")  # which tell nothing


class Guard:
    """An application around the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service, began, status = self._service, time.perf_counter(), 500

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                if service.pulse.stopping:  # so that nobody sends another request into a connection that is closed
                    headers["connection"] = "close"
            await send(message)

        service.metrics.in_flight += 1
        headers = Headers(scope=scope)
        with service.tracing.span(f"{scope['method']} {scope['path'][:100]}", headers) as told:
            try:
                await self._answered(scope, headers, receive, send_safely)
            finally:
                service.metrics.in_flight -= 1
                service.concurrency.leave(scope)
                operation = _operation(scope)
                service.metrics.request(operation, status, time.perf_counter() - began)
                told |= {"recollect.operation": operation, "http.response.status_code": status}

    async def _answered(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if scope["path"] not in _FOR_ANYBODY and await self._service.doors.keyless():
                self._service.doors.check_local(headers, path=scope["path"])
            await self._app(scope, receive, noticed)
        except Exception as error:
            if begun:  # what was begun can't be taken back: the connection ends, and the client sees that
                if not isinstance(error, RecollectError):
                    raise
                return
            await _refusal(error)(scope, receive, send)
        except asyncio.CancelledError:
            # The time for what has begun is over, and this still waits: as a rule for the rest of what a client sends.
            if not self._service.pulse.stopping:
                raise
            if not begun:
                await refused(Overloaded("The service stops; this was not done."))(scope, receive, send)


def _refusal(error: Exception) -> Any:
    if isinstance(error, HTTPException):
        return refused_by_routing(error)
    if isinstance(error, RecollectError):
        if error.status >= 500:
            log.warning("%s: %s", type(error).__name__, error)
        return refused(error)
    log.exception("This should not have happened.", exc_info=error)
    return refused(RecollectError("Something went wrong inside the service.", fix="Look at its log."))


def _operation(scope: Scope) -> str:
    """Name the route, never the path: anybody can ask for any path, and each name is kept."""
    route = scope.get("route")
    return str(getattr(route, "name", None) or "unknown")
