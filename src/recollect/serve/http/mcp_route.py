"""MCP in the same process, at /mcp: the tools of `recollect mcp`, within what the caller's key opens.

Without sessions: each request is checked by itself, so that no session can be taken over with another key.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from recollect.core.errors import RecollectError
from recollect.core.keys import Permission
from recollect.memory import Memory
from recollect.operations import Operation
from recollect.serve.http.access import Caller
from recollect.serve.http.arguments import from_query
from recollect.serve.http.endpoints import SPACE, WING
from recollect.serve.http.exposed import lane_of, needed_for
from recollect.serve.http.service import Service
from recollect.serve.http.stream import BEAT_S, check_followers
from recollect.serve.mcp.opened import Opened
from recollect.serve.mcp.server import build

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Who asks at this moment, and where."""

    caller: Caller
    space: str
    wing: str | None
    headers: Headers
    scope: Scope


_ASKING: ContextVar[_Asking] = ContextVar("recollect_asking")


class McpRoute:
    """The endpoint, and what must run beside it."""

    def __init__(self, service: Service, path: str) -> None:
        self._service = service
        self._sessions = StreamableHTTPSessionManager(
            app=build(_OfTheCaller(service), connections=False),
            json_response=True,
            stateless=True,
            max_request_body_size=service.settings.max_body_bytes,
            # The guard checks Host and Origin, for every route alike.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        # A stream from the server (GET) needs a session; clients take a refusal for an answer.
        self.route = Route(path, self, methods=["POST"], name="mcp")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with who asks at hand for the tools."""
        request = Request(scope)
        caller = await self._service.admitted(request)
        given = from_query((SPACE, WING), request.query_params.multi_items())
        space = given.get("space") or caller.own_space
        caller.check(Permission.READ, space)
        token = _ASKING.set(
            _Asking(caller=caller, space=space, wing=given.get("wing"), headers=request.headers, scope=scope)
        )
        try:
            await self._sessions.handle_request(scope, receive, send)
        finally:
            _ASKING.reset(token)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run what the protocol's package needs."""
        async with self._sessions.run():
            yield


class _OfTheCaller(Opened):
    """The memory as whoever asks may see it."""

    def __init__(self, service: Service) -> None:
        super().__init__(service.memory.location)
        self._service = service

    @property
    def memory(self) -> Memory:
        asking = _ASKING.get()
        return self._service.handle(asking.caller, Permission.READ, asking.space, asking.wing)

    @property
    def whole_space(self) -> Memory:
        asking = _ASKING.get()
        return self._service.handle(asking.caller, Permission.READ, asking.space, None)

    async def in_thread(
        self, call: Callable[[], R], *, operation: Operation | None = None, given: Mapping[str, Any] | None = None
    ) -> R:
        """Run a call in its lane, in turn with the requests of others."""
        asking, lane = _ASKING.get(), "asking" if operation is None else lane_of(operation)
        if lane == "writing":
            lane = self._service.lane_for(lane, len(json.dumps(given)))
        return await self._service.run(lane, call, caller=asking.caller, space=asking.space)

    @contextmanager
    def following(self) -> Generator[None]:
        """Count somebody in, within what the service takes on."""
        caller = _ASKING.get().caller
        check_followers(self._service, caller)
        self._service.concurrency.leave(_ASKING.get().scope)  # streams are counted by themselves
        with self._service.pulse.following(caller.name):
            yield

    @property
    def beats(self) -> int:
        return self._service.pulse.beats

    async def goes_on(self, seen: int) -> bool:
        """Wait for a beat; a key that ended meanwhile sees nothing more."""
        asking, pulse = _ASKING.get(), self._service.pulse
        await pulse.changed(seen, BEAT_S)
        try:
            return not pulse.stopping and (await self._service.doors.caller(asking.headers)).name == asking.caller.name
        except RecollectError:
            return False

    def check(self, operation: Operation) -> None:
        """Refuse what the caller's key does not allow."""
        asking = _ASKING.get()
        if operation.scope == "file":
            asking.caller.check_file(needed_for(operation))
        asking.caller.check(needed_for(operation), asking.space)
