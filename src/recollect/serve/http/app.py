"""The application: routes, what stands around them, and what runs beside them."""

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

from recollect.core.errors import MissingExtra, Overloaded, RecollectError
from recollect.core.keys import Permission
from recollect.memory import Memory
from recollect.serve.http import endpoints, page, transfer
from recollect.serve.http.answers import as_json, packed, refused
from recollect.serve.http.guard import Guard
from recollect.serve.http.metrics import MEDIA_TYPE
from recollect.serve.http.openapi import document
from recollect.serve.http.service import Service
from recollect.serve.http.settings import ServiceSettings
from recollect.serve.http.stream import Stream

if TYPE_CHECKING:
    from recollect.serve.http.mcp_route import McpRoute

log = logging.getLogger("recollect.serve")

_READY_WITHIN_S = 5.0  # a server that is away is waited for much longer; who asks whether it is there must know now
MCP_PATH = "/mcp"
STREAM_PATH = "/v1/stream"


def build(memory: Memory, settings: ServiceSettings) -> tuple[Starlette, Service]:
    """Make the application over a memory, which stays the caller's to close."""
    service = Service(memory, settings)
    mcp = _mcp(service) if settings.mcp else None
    app = Starlette(
        routes=[
            *endpoints.routes(service),
            *transfer.routes(service),
            _stream_route(service),
            *_own_routes(service),
            *page.routes(),
            *([mcp.route] if mcp is not None else [_without_mcp()]),
        ],
        middleware=[Middleware(Guard, service=service)],
        exception_handlers={HTTPException: _leave},
        lifespan=lambda _: _running(service, mcp),
    )
    return app, service


def _stream_route(service: Service) -> Route:
    route = Route(STREAM_PATH, Stream(service).answer, methods=["GET"], name="stream")
    route.methods = {"GET"}  # not HEAD, which comes along with it: a stream without its messages would never end
    return route


async def _leave(_: Request, error: Exception) -> Response:
    """Hand errors of routing to the guard, where all are answered."""
    raise error


@asynccontextmanager
async def _running(service: Service, mcp: McpRoute | None) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        if mcp is not None:
            await stack.enter_async_context(mcp.running())
        beating = asyncio.create_task(service.pulse.run())
        warming = asyncio.create_task(service.warm())
        if service.worker is not None:
            service.worker.start()
        service.ready = True
        try:
            yield
        finally:
            service.ready = False
            service.pulse.stop()
            warming.cancel()
            await asyncio.gather(beating, warming, return_exceptions=True)
            await asyncio.to_thread(service.close)


def _own_routes(service: Service) -> list[BaseRoute]:
    async def openapi(request: Request) -> Response:
        return packed(as_json(document()), accepts=request.headers.get("accept-encoding", ""))

    async def healthz(_: Request) -> Response:
        return packed(as_json({"ok": True}), accepts="")

    async def readyz(_: Request) -> Response:
        if not service.ready:
            return refused(Overloaded("The service is starting or stopping."))
        try:
            await asyncio.wait_for(service.looking.run(service.memory.pulse), _READY_WITHIN_S)
        except (RecollectError, TimeoutError) as error:
            # Where it is and what it says is for the log: anybody may ask.
            log.warning("The memory can't be read now: %s", str(error) or f"no answer within {_READY_WITHIN_S:g} s")
            return refused(Overloaded("The memory can't be read now."))
        return packed(as_json({"ok": True}), accepts="")

    async def metrics(request: Request) -> Response:
        (await service.admitted(request)).check_file(Permission.READ)
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
    from recollect.serve.http.mcp_route import McpRoute  # which takes a second to import

    return McpRoute(service, MCP_PATH)


def _without_mcp() -> Route:
    async def answer(_: Request) -> Response:
        return refused(MissingExtra("MCP is not served here.", fix="Run: pip install 'recollect[mcp]'"))

    return Route(MCP_PATH, answer, methods=["GET", "POST", "DELETE"], name="mcp")
