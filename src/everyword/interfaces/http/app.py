"""The ASGI application: routes, middleware and background tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from everyword.errors import EverywordError, MissingExtra, Overloaded
from everyword.interfaces.http import routes as endpoints
from everyword.interfaces.http import static_page, transfer
from everyword.interfaces.http.event_stream import EventStream
from everyword.interfaces.http.middleware import RequestMiddleware
from everyword.interfaces.http.observability import MEDIA_TYPE
from everyword.interfaces.http.openapi import document
from everyword.interfaces.http.responses import error_response, json_response
from everyword.interfaces.http.service import Service
from everyword.interfaces.http.settings import ServiceSettings
from everyword.memory import Memory
from everyword.types.api_keys import Permission

if TYPE_CHECKING:
    from everyword.interfaces.http.mcp_route import McpRoute

log = logging.getLogger("everyword.interfaces")

_READY_WITHIN_S = 5.0  # shorter than other requests wait for a database: a readiness probe needs an answer now
MCP_PATH = "/mcp"
STREAM_PATH = "/v1/stream"


def build(memory: Memory, settings: ServiceSettings) -> tuple[Starlette, Service]:
    """Make the application for a memory, which the caller closes afterwards."""
    service = Service(memory, settings)
    mcp = _mcp(service) if settings.mcp else None
    app = Starlette(
        routes=[
            *endpoints.routes(service),
            *transfer.routes(service),
            _stream_route(service),
            *_status_routes(service),
            *static_page.routes(),
            mcp.route if mcp is not None else _missing_mcp_route(),
        ],
        middleware=[Middleware(RequestMiddleware, service=service)],
        exception_handlers={HTTPException: _reraise},
        lifespan=lambda _: _running(service, mcp),
    )
    return app, service


def _stream_route(service: Service) -> Route:
    route = Route(STREAM_PATH, EventStream(service).respond, methods=["GET"], name="stream")
    route.methods = {"GET"}  # Starlette adds HEAD, whose response would never end
    return route


async def _reraise(_: Request, error: Exception) -> Response:
    """Leave routing errors to RequestMiddleware, which answers all errors."""
    raise error


@asynccontextmanager
async def _running(service: Service, mcp: McpRoute | None) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        if mcp is not None:
            await stack.enter_async_context(mcp.running())
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
        return json_response(document(), accepts=request.headers.get("accept-encoding", ""))

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


def _mcp(service: Service) -> McpRoute | None:
    if find_spec("mcp") is None:
        return None
    from everyword.interfaces.http.mcp_route import McpRoute  # importing it takes a second

    return McpRoute(service, MCP_PATH)


def _missing_mcp_route() -> Route:
    async def answer(_: Request) -> Response:
        return error_response(MissingExtra("MCP is not served here.", fix="Run: pip install 'everyword[mcp]'"))

    return Route(MCP_PATH, answer, methods=["GET", "POST", "DELETE"], name="mcp")
