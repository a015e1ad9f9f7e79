"""Notify clients of changed resources and of a changed list of resources.

Up to protocol revision 2025-11-25 a client subscribes and is notified on its connection. Later clients send one request
whose response is the stream. Both poll the memory in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from everyword.errors import EverywordError
from everyword.interfaces.mcp import resources, sdk
from everyword.interfaces.mcp.fast_handshake import SESSION
from everyword.interfaces.mcp.open_memory import OpenMemory
from everyword.interfaces.mcp.sdk import Call, ProtocolError
from everyword.types.events import Event
from everyword.types.feed import NOW, News

_MOST_URIS = 1_000  # per client: each is read again after a change
_KEY = "everyword"  # of the state kept with a connection


class Changed(NamedTuple):
    """The changes that a poll found."""

    uris: list[str]
    listed: bool  # the list of resources has changed


@dataclass(slots=True, kw_only=True)
class Watch:
    """The resources that one client follows, and their state at the last poll."""

    opened: OpenMemory
    uris: set[str] = field(default_factory=set[str])
    listing: bool = False  # whether the list itself is followed
    _position: str = ""
    _pulse: str = ""
    _listed: set[str] = field(default_factory=set[str])
    _digests: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def begin(self) -> None:
        """Record the current state; only later changes are reported."""
        self._position = self.opened.memory.changes(after=NOW).position
        self._pulse = self.opened.memory.admin.pulse()
        self._digests |= {uri: self._digest(uri) for uri in self.uris - self._digests.keys() if not _shown_by_feed(uri)}
        if self.listing:
            self._listed = resources.listed_sessions(self.opened)

    def poll(self) -> Changed:
        """Return the changes since the last poll."""
        pulse = self.opened.memory.admin.pulse()
        if pulse == self._pulse:
            return Changed([], listed=False)
        self._pulse = pulse
        news = self._news()
        if not news:
            return Changed([], listed=False)
        changed_sessions = {one.item.session for one in news if isinstance(one.item, Event)} - {None}
        gone = any(one.kind == "forgotten" for one in news)
        uris = [uri for uri in sorted(self.uris) if self._is_new(uri, cast("set[str]", changed_sessions), gone)]
        listed = self.listing and (gone or not changed_sessions <= self._listed)
        if listed:
            before, self._listed = self._listed, resources.listed_sessions(self.opened)
            listed = before != self._listed
        return Changed(uris, listed=listed)

    def _news(self) -> list[News]:
        news: list[News] = []
        while True:
            part = self.opened.memory.changes(after=self._position)
            news += part
            self._position = part.position
            if not part.more:
                return news

    def _is_new(self, uri: str, changed_sessions: set[str], gone: bool) -> bool:
        if uri == resources.SESSIONS:
            return gone or bool(changed_sessions)
        if uri.startswith(SESSION):
            return gone or unquote(uri[len(SESSION) :]) in changed_sessions
        before, self._digests[uri] = self._digests.get(uri), self._digest(uri)
        return before != self._digests[uri]

    def _digest(self, uri: str) -> bytes:
        """Hash the content, or the error of a resource that can't be read."""
        try:
            text = str(resources.read(self.opened, uri)["text"])
        except (ProtocolError, EverywordError) as error:
            text = str(error)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True, kw_only=True)
class _Connection:
    """A connection of an older client, with its watch and notifying task."""

    watch: Watch
    running: anyio.CancelScope | None = None


class Subscriptions:
    """Handles subscriptions of both kinds of clients."""

    def __init__(self, opened: OpenMemory) -> None:
        self._opened = opened

    @asynccontextmanager
    async def lifespan(self, _server: Any) -> AsyncGenerator[TaskGroup]:
        """Run the notifying tasks while the server runs."""
        async with anyio.create_task_group() as tasks:
            yield tasks
            tasks.cancel_scope.cancel()

    async def subscribe(self, call: Call) -> dict[str, Any]:
        """Follow a resource on the client's connection."""
        uri = str(call.params["uri"])
        if not resources.is_known(uri):
            raise ProtocolError(f"Unknown resource {uri[:200]}.")
        followed = self._followed(call)
        if len(followed.watch.uris) >= _MOST_URIS:
            raise ProtocolError(f"A client can follow at most {_MOST_URIS} resources.")
        followed.watch.uris.add(uri)
        await self._begin(call, followed)
        return {}

    async def unsubscribe(self, call: Call) -> dict[str, Any]:
        """Stop following a resource."""
        self._followed(call).watch.uris.discard(str(call.params["uri"]))
        return {}

    async def follow_list(self, call: Call) -> None:
        """Notify a client that has read the list when it changes."""
        followed = self._followed(call)
        if not followed.watch.listing:
            followed.watch.listing = True
            await self._begin(call, followed)

    async def listen(self, context: Any, params: Any) -> Any:
        """Respond with a stream of changes, until the client leaves or the server ends (2.x of the MCP package)."""
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
        from mcp.shared.exceptions import MCPError

        wanted = params.notifications
        uris = {str(uri) for uri in wanted.resource_subscriptions or ()}
        if len(uris) > _MOST_URIS:
            raise MCPError(sdk.INVALID_PARAMS, f"A client can follow at most {_MOST_URIS} resources.")
        uris = {uri for uri in uris if resources.is_known(uri)}
        watch = Watch(opened=self._opened, uris=uris, listing=bool(wanted.resources_list_changed))
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        answered: list[Any] = []
        with self._opened.following():
            await to_thread.run_sync(watch.begin)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._publish, watch, bus, handler)
                answered.append(await handler(context, params))
                tasks.cancel_scope.cancel()
        return answered[0]

    async def _publish(self, watch: Watch, bus: Any, handler: Any) -> None:
        from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated

        async for found in self._polls(watch):
            for uri in found.uris:
                await bus.publish(ResourceUpdated(uri=uri))
            if found.listed:
                await bus.publish(ResourcesListChanged())
        handler.close()

    async def _notify(self, session: Any, followed: _Connection) -> None:
        assert followed.running is not None
        with followed.running:
            async for found in self._polls(followed.watch):
                for uri in found.uris:
                    await sdk.notify(session, "notifications/resources/updated", {"uri": uri})
                if found.listed:
                    await sdk.notify(session, "notifications/resources/list_changed")

    async def _polls(self, watch: Watch) -> AsyncGenerator[Changed]:
        """Poll until the server ends; errors are retried at the next poll."""
        seen = self._opened.changes
        while await self._opened.wait_for_change(seen):
            seen = self._opened.changes  # before polling: later changes are found next time
            with suppress(EverywordError):
                yield await to_thread.run_sync(watch.poll)

    async def _begin(self, call: Call, followed: _Connection) -> None:
        with suppress(EverywordError):  # reading the resource reports it
            await to_thread.run_sync(followed.watch.begin)
        if followed.running is None:
            followed.running = anyio.CancelScope()
            call.lifespan.start_soon(self._notify, call.session, followed)

    def _followed(self, call: Call) -> _Connection:
        """Return the state of the client's connection; it ends with the connection."""
        state = sdk.connection_state(call.session)
        found: _Connection | None = state.get(_KEY)
        if found is None:
            found = state[_KEY] = _Connection(watch=Watch(opened=self._opened))

            def end() -> None:
                if found.running is not None:
                    found.running.cancel()

            sdk.at_end_of_connection(call.session, end)
        return found


def _shown_by_feed(uri: str) -> bool:
    """Return whether the feed alone shows that a resource changed, without reading it."""
    return uri == resources.SESSIONS or uri.startswith(SESSION)
