"""The ASGI application: routes, background tasks, middleware for every request, and the files of the web page."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from importlib.util import find_spec

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everyword.errors import EverywordError, MissingExtra, Overloaded
from everyword.interfaces.http.bodies import MIN_COMPRESSED_BYTES, error_response, json_response, routing_error_response
from everyword.interfaces.http.observability import MEDIA_TYPE
from everyword.interfaces.http.openapi import document
from everyword.interfaces.http.routes import routes
from everyword.interfaces.http.service import Service
from everyword.interfaces.http.settings import ServiceSettings
from everyword.memory import Memory
from everyword.types.service import Permission

log = logging.getLogger("everyword.interfaces")

_READY_WITHIN_S = 5.0  # shorter than other requests wait for a database: a readiness probe needs an answer now
MCP_PATH = "/mcp"
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
    "cache-control": "no-store",
}


def build(memory: Memory, settings: ServiceSettings) -> tuple[Starlette, Service]:
    """Make the application for a memory, which the caller closes afterwards."""
    service = Service(memory, settings)
    app = Starlette(
        routes=[*routes(service), *_status_routes(service), _mcp_route(service)],
        middleware=[Middleware(RequestMiddleware, service=service)],
        exception_handlers={HTTPException: _reraise},
        lifespan=lambda _: _running(service),
    )
    app.router.default = _page()  # for every path that is no route
    app.router.redirect_slashes = False  # to a host that the client names, and without TLS behind a proxy
    return app, service


async def _reraise(_: Request, error: Exception) -> Response:
    """Leave routing errors to RequestMiddleware, which answers all errors."""
    raise error


@asynccontextmanager
async def _running(service: Service) -> AsyncGenerator[None]:
    polling = asyncio.create_task(service.poller.run())
    warming = asyncio.create_task(service.warm_up())
    if service.worker is not None:
        service.worker.start()
    service.ready = True
    try:
        yield
    finally:
        service.ready = False
        service.poller.stop()
        warming.cancel()
        await asyncio.gather(polling, warming, return_exceptions=True)
        await asyncio.to_thread(service.close)


def _status_routes(service: Service) -> list[BaseRoute]:
    async def openapi(request: Request) -> Response:
        return json_response(document(), request)

    async def healthz(_: Request) -> Response:
        return json_response({"ok": True})

    async def readyz(_: Request) -> Response:
        if not service.ready:
            return error_response(Overloaded("The service is starting or stopping."))
        try:
            await asyncio.wait_for(service.probe_pool.run(service.memory.admin.pulse), _READY_WITHIN_S)
        except (EverywordError, TimeoutError) as error:
            # The reason goes to the log only, since anybody may ask.
            log.warning("The memory can't be read now: %s", str(error) or f"no answer within {_READY_WITHIN_S:g} s")
            return error_response(Overloaded("The memory can't be read now."))
        return json_response({"ok": True})

    async def metrics(request: Request) -> Response:
        (await service.authenticate(request)).check_all_spaces(Permission.READ)
        return Response(service.metrics.text(service.gauges()), media_type=MEDIA_TYPE)

    return [
        Route("/openapi.json", openapi, name="openapi"),
        Route("/healthz", healthz, name="healthz"),
        Route("/readyz", readyz, name="readyz"),
        Route("/metrics", metrics, name="metrics"),
    ]


def _mcp_route(service: Service) -> Route:
    if not service.settings.mcp or find_spec("mcp") is None:

        async def missing(_: Request) -> Response:
            return error_response(MissingExtra("MCP is not served here.", fix="Run: pip install 'everyword[mcp]'"))

        return Route(MCP_PATH, missing, methods=["GET", "POST", "DELETE"], name="mcp")

    @cache
    def endpoint() -> ASGIApp:
        from everyword.interfaces.http.mcp_route import McpEndpoint  # takes a second: left to the first request

        return McpEndpoint(service)

    async def answer(_: Request) -> ASGIApp:
        return await asyncio.to_thread(endpoint)

    # A server stream (GET) would need a session. Clients accept that it is refused.
    return Route(MCP_PATH, answer, methods=["POST"], name="mcp")


# Every request


class RequestMiddleware:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service, began, status = self._service, time.perf_counter(), 0  # no response has started

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if service.poller.stopping:  # so that clients send no further request on this connection
                    headers["connection"] = "close"
            await send(message)

        service.metrics.in_flight += 1
        headers = Headers(scope=scope)
        with service.tracing.span(f"{scope['method']} {scope['path'][:100]}", headers) as attributes:
            try:
                await service.authenticator.check_local(headers, path=scope["path"])
                await self._app(scope, receive, send_safely)
            except Exception as error:
                if not status:
                    await _error_response(error)(scope, receive, send_safely)
                elif not isinstance(error, EverywordError):  # too late; the client sees the connection end
                    raise
            except asyncio.CancelledError:
                # The service stops and this request is still pending, usually because its body has not fully arrived.
                if not service.poller.stopping:
                    raise
                if not status:
                    stopping = Overloaded("The service stops. Nothing was changed.")
                    await error_response(stopping)(scope, receive, send_safely)
            finally:
                service.metrics.in_flight -= 1
                service.concurrency_limiter.leave(scope)
                operation = _operation(scope)
                service.metrics.request(operation, status or 500, time.perf_counter() - began)
                attributes |= {"everyword.operation": operation, "http.response.status_code": status or 500}


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


# The web page


class _Page(StaticFiles):
    """The files of the page; index.html is at /."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        # Browsers revalidate each time, mostly with "not modified", so that an upgrade shows at once.
        response.headers["cache-control"] = "no-cache"
        return response


def _page() -> ASGIApp:
    # Browsers refuse other types, and not every system knows these.
    mimetypes.add_type("text/javascript", ".js")
    mimetypes.add_type("font/woff2", ".woff2")
    page = _Page(packages=[("everyword.interfaces", "ui")], html=True)
    return GZipMiddleware(page, minimum_size=MIN_COMPRESSED_BYTES)
