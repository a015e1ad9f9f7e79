"""Middleware for every request: errors as problem documents, security headers, metrics and traces."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everyword.errors import EverywordError, Overloaded
from everyword.interfaces.http.responses import error_response, routing_error_response
from everyword.interfaces.http.service import Service

log = logging.getLogger("everyword.interfaces")

# The page loads nothing from other hosts, runs no inline scripts and may not be framed.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
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
_PUBLIC_PATHS = ("/healthz", "/readyz")  # they reveal nothing


class RequestMiddleware:
    """Wraps the application."""

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
                if service.poller.stopping:  # so that clients send no further request on this connection
                    headers["connection"] = "close"
            await send(message)

        service.metrics.in_flight += 1
        headers = Headers(scope=scope)
        with service.tracing.span(f"{scope['method']} {scope['path'][:100]}", headers) as attributes:
            try:
                await self._respond(scope, headers, receive, send_safely)
            finally:
                service.metrics.in_flight -= 1
                service.concurrency_limiter.leave(scope)
                operation = _operation(scope)
                service.metrics.request(operation, status, time.perf_counter() - began)
                attributes |= {"everyword.operation": operation, "http.response.status_code": status}

    async def _respond(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        started = False

        async def send_noticed(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["path"] not in _PUBLIC_PATHS and await self._service.authenticator.keyless():
                self._service.authenticator.check_local(headers, path=scope["path"])
            await self._app(scope, receive, send_noticed)
        except Exception as error:
            if started:  # too late for an error response; the client sees the connection end
                if not isinstance(error, EverywordError):
                    raise
                return
            await _error_response(error)(scope, receive, send)
        except asyncio.CancelledError:
            # The service stops and this request is still pending, usually because its body has not fully arrived.
            if not self._service.poller.stopping:
                raise
            if not started:
                await error_response(Overloaded("The service stops. Nothing was changed."))(scope, receive, send)


def _error_response(error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return routing_error_response(error)
    if isinstance(error, EverywordError):
        if error.status >= 500:
            log.warning("%s: %s", type(error).__name__, error)
        return error_response(error)
    log.exception("Unexpected error.", exc_info=error)
    return error_response(EverywordError("Internal error of the service.", fix="Look at its log."))


def _operation(scope: Scope) -> str:
    """Return the name of the route. Never the path: clients choose it, and metrics keep every name."""
    route = scope.get("route")
    return str(getattr(route, "name", None) or "unknown")
