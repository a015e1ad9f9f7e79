"""Telling clients that what they read has changed, whoever wrote: resources that they follow, and the list of them.

Two ways, by the revision of the protocol: up to 2025-11-25 a client subscribes on its connection and is told on it;
later ones ask once, and the answer is the stream. Both look at the memory alike, one cheap question now and then.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import anyio
import mcp_types as types
from anyio import to_thread
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from recollect.core.errors import RecollectError
from recollect.core.feed import NOW, News
from recollect.core.values import Event
from recollect.serve.mcp import resources
from recollect.serve.mcp.early import SESSION
from recollect.serve.mcp.opened import Opened

_MOST_URIS = 1_000  # that one client follows: each is read again when something happened
_KEY = "recollect"  # of what is kept with a connection


class Changed(NamedTuple):
    """What a look has found."""

    uris: list[str]
    listed: bool  # there are other resources than before


@dataclass(slots=True, kw_only=True)
class Watch:
    """What one client follows, and how it was when it last looked."""

    opened: Opened
    uris: set[str] = field(default_factory=set[str])
    listing: bool = False  # whether the list itself is followed
    _position: str = ""
    _pulse: str = ""
    _listed: set[str] = field(default_factory=set[str])
    _digests: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def begin(self) -> None:
        """Take note of how things are: only what comes later is told."""
        self._position = self.opened.memory.changes(after=NOW).position
        self._pulse = self.opened.memory.pulse()
        self._digests |= {uri: self._digest(uri) for uri in self.uris - self._digests.keys() if not _by_news(uri)}
        if self.listing:
            self._listed = resources.listed_sessions(self.opened)

    def look(self) -> Changed:
        """Find what has changed since."""
        pulse = self.opened.memory.pulse()
        if pulse == self._pulse:
            return Changed([], listed=False)
        self._pulse = pulse
        news = self._news()
        if not news:
            return Changed([], listed=False)
        spoken = {one.item.session for one in news if isinstance(one.item, Event)} - {None}
        gone = any(one.kind == "forgotten" for one in news)
        uris = [uri for uri in sorted(self.uris) if self._is_new(uri, cast("set[str]", spoken), gone)]
        listed = self.listing and (gone or not spoken <= self._listed)
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

    def _is_new(self, uri: str, spoken: set[str], gone: bool) -> bool:
        if uri == resources.SESSIONS:
            return gone or bool(spoken)
        if uri.startswith(SESSION):
            return gone or unquote(uri[len(SESSION) :]) in spoken
        before, self._digests[uri] = self._digests.get(uri), self._digest(uri)
        return before != self._digests[uri]

    def _digest(self, uri: str) -> bytes:
        """Tell one content from another; what can't be read has one too."""
        try:
            text = resources.read(self.opened, uri).text
        except (MCPError, RecollectError) as error:
            text = str(error)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True, kw_only=True)
class _Followed:
    """A connection of the older kind: what is followed on it, and the end of it."""

    watch: Watch
    running: anyio.CancelScope | None = None


class Subscriptions:
    """Serves both kinds of clients of one server."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def lifespan(self, _server: Any) -> AsyncGenerator[dict[str, Any]]:
        """Run what looks on behalf of clients, for as long as the server runs."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield {}
            tasks.cancel_scope.cancel()

    async def subscribe(
        self, asked: ServerRequestContext[Any], given: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Follow a resource on the client's connection."""
        uri = str(given.uri)
        if not resources.is_known(uri):
            raise MCPError(types.INVALID_PARAMS, f"There is no resource {uri[:200]}.")
        followed = self._followed(asked)
        if len(followed.watch.uris) >= _MOST_URIS:
            raise MCPError(types.INVALID_PARAMS, f"No more than {_MOST_URIS} resources can be followed.")
        followed.watch.uris.add(uri)
        await self._begin(asked.session, followed)
        return types.EmptyResult()

    async def unsubscribe(
        self, asked: ServerRequestContext[Any], given: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Follow it no more."""
        self._followed(asked).watch.uris.discard(str(given.uri))
        return types.EmptyResult()

    async def follow_list(self, asked: ServerRequestContext[Any]) -> None:
        """Tell a client that has read the list when there is another one."""
        followed = self._followed(asked)
        if not followed.watch.listing:
            followed.watch.listing = True
            await self._begin(asked.session, followed)

    async def listen(
        self, asked: ServerRequestContext[Any], given: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Answer with a stream of changes, until the client leaves or the server ends."""
        wanted = given.notifications
        uris = {str(uri) for uri in wanted.resource_subscriptions or ()}
        if len(uris) > _MOST_URIS:
            raise MCPError(types.INVALID_PARAMS, f"No more than {_MOST_URIS} resources can be followed.")
        uris = {uri for uri in uris if resources.is_known(uri)}
        watch = Watch(opened=self._opened, uris=uris, listing=bool(wanted.resources_list_changed))
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        answered: list[types.SubscriptionsListenResult] = []
        with self._opened.following():
            await to_thread.run_sync(watch.begin)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._publish, watch, bus, handler)
                answered.append(await handler(asked, given))
                tasks.cancel_scope.cancel()
        return answered[0]

    async def _publish(self, watch: Watch, bus: InMemorySubscriptionBus, handler: ListenHandler) -> None:
        async for found in self._looks(watch):
            for uri in found.uris:
                await bus.publish(ResourceUpdated(uri=uri))
            if found.listed:
                await bus.publish(ResourcesListChanged())
        handler.close()

    async def _tell(self, session: ServerSession, followed: _Followed) -> None:
        assert followed.running is not None
        with followed.running:
            async for found in self._looks(followed.watch):
                for uri in found.uris:
                    await session.send_resource_updated(uri)
                if found.listed:
                    await session.send_resource_list_changed()

    async def _looks(self, watch: Watch) -> AsyncGenerator[Changed]:
        """Look again and again; what can't be read now is looked at the next time."""
        seen = self._opened.beats
        while await self._opened.goes_on(seen):
            seen = self._opened.beats  # before the look: what comes during it is looked at next
            with suppress(RecollectError):
                yield await to_thread.run_sync(watch.look)

    async def _begin(self, session: ServerSession, followed: _Followed) -> None:
        with suppress(RecollectError):  # whoever reads is told what is wrong
            await to_thread.run_sync(followed.watch.begin)
        if followed.running is None and self._tasks is not None:
            followed.running = anyio.CancelScope()
            self._tasks.start_soon(self._tell, session, followed)

    def _followed(self, asked: ServerRequestContext[Any]) -> _Followed:
        """Find what is kept with the client's connection; it ends with it."""
        # The package lets handlers see the connection by no public name yet.
        connection = asked.session._connection  # pyright: ignore[reportPrivateUsage]
        found: _Followed | None = connection.state.get(_KEY)
        if found is None:
            found = connection.state[_KEY] = _Followed(watch=Watch(opened=self._opened))

            def end() -> None:
                if found.running is not None:
                    found.running.cancel()

            connection.exit_stack.callback(end)
        return found


def _by_news(uri: str) -> bool:
    """Tell whether news alone say that a resource changed: it need not be read for that."""
    return uri == resources.SESSIONS or uri.startswith(SESSION)
