"""MCP at /mcp: the tools of `everyword mcp`, limited to what the caller's key allows.

There are no MCP sessions. Each request is authenticated by itself, so that no session can be used with another key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from everyword.errors import EverywordError
from everyword.interfaces.http.routes import KEEPALIVE_S, SPACE, WING, check_stream_limits, pool_of, required_permission
from everyword.interfaces.http.service import Caller, Service
from everyword.interfaces.mcp import OpenMemory
from everyword.interfaces.mcp.server import build
from everyword.interfaces.mcp.tools import ToolSet, tool_set_of
from everyword.interfaces.operations import Operation, Parameter, parse_query
from everyword.interfaces.operations.parameters import TEXT
from everyword.memory import Memory
from everyword.types.service import Permission

R = TypeVar("R")


class _McpRequest(Struct, frozen=True, kw_only=True):
    """The current request: its caller and its space."""

    caller: Caller
    space: str
    wing: str | None
    tools: ToolSet | None
    headers: Headers
    scope: Scope


_TOOLS = Parameter("tools", TEXT, "the tools to offer: core or all (default: all)")
_REQUEST: ContextVar[_McpRequest] = ContextVar("everyword_mcp_request")


class McpEndpoint:
    """The endpoint as an application."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._server = build(_CallerMemory(service), connections=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate the request and pass it to the MCP server."""
        request = Request(scope)
        caller = await self._service.authenticate(request)
        received = parse_query((SPACE, WING, _TOOLS), request.query_params.multi_items())
        space = received.get("space") or caller.default_space
        caller.check(Permission.READ, space)
        token = _REQUEST.set(
            _McpRequest(
                caller=caller,
                space=space,
                wing=received.get("wing"),
                tools=tool_set_of(received.get("tools")),
                headers=request.headers,
                scope=scope,
            )
        )
        sessions = StreamableHTTPSessionManager(
            app=self._server,
            json_response=True,
            stateless=True,
            max_request_body_size=self._service.settings.max_body_bytes,
            # RequestMiddleware checks Host and Origin for every route.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        try:
            async with sessions.run():
                await sessions.handle_request(scope, receive, send)
        finally:
            _REQUEST.reset(token)


class _CallerMemory(OpenMemory):
    """The memory, limited to what the caller may see."""

    def __init__(self, service: Service) -> None:
        super().__init__(service.memory.location)
        self._service = service

    @property
    def memory(self) -> Memory:
        request = _REQUEST.get()
        return self._service.handle(request.caller, Permission.READ, request.space, request.wing)

    @property
    def whole_space(self) -> Memory:
        request = _REQUEST.get()
        return self._service.handle(request.caller, Permission.READ, request.space, None)

    async def in_thread(
        self, call: Callable[[], R], *, operation: Operation | None = None, received: Mapping[str, Any] | None = None
    ) -> R:
        """Run a call in its thread pool, in turn with other callers."""
        request, pool = _REQUEST.get(), "asking" if operation is None else pool_of(operation)
        if operation is not None:
            self._service.audit.note(
                who=request.caller.key.name,
                via="mcp",
                operation=operation.name,
                space=request.space,
                arguments=received or {},
            )
        if pool == "writing":
            pool = self._service.pool_for(pool, len(json.dumps(received)))
        result = await self._service.run(pool, call, caller=request.caller, space=request.space)
        if operation is not None and operation.destructive:
            self._service.audit.forget(request.space, cast("dict[str, Any]", result).get("structuredContent", {}))
        return result

    @contextmanager
    def following(self) -> Generator[None]:
        """Count a subscription while it is open, within the limits of the service."""
        request = _REQUEST.get()
        check_stream_limits(self._service, request.caller)
        self._service.concurrency_limiter.leave(request.scope)  # streams have limits of their own
        with self._service.poller.following(request.caller.key.id):
            yield

    @property
    def changes(self) -> int:
        return self._service.poller.changes

    async def wait_for_change(self, after: int) -> bool:
        """Wait for a change or the keepalive interval; return False if the service stops or the key has ended."""
        request, poller = _REQUEST.get(), self._service.poller
        await poller.wait_for_change(after, KEEPALIVE_S)
        try:
            caller = await self._service.authenticator.caller(request.headers)
        except EverywordError:
            return False
        return not poller.stopping and caller.key.id == request.caller.key.id

    @property
    def tool_set(self) -> ToolSet | None:
        """The tools that the request asks for."""
        return _REQUEST.get().tools

    def check(self, operation: Operation) -> None:
        """Raise NotAllowed for an operation that the caller's key does not allow."""
        request = _REQUEST.get()
        if operation.scope == "file":
            request.caller.check_all_spaces(required_permission(operation))
        request.caller.check(required_permission(operation), request.space)
