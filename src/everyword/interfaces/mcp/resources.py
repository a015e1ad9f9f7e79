"""MCP resources (sessions, and operations without arguments), prompts, completions, and notifications of changes.

Up to protocol revision 2025-11-25 a client subscribes and is notified on its connection. Later clients send one request
whose response is the stream. Both poll the memory in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from msgspec import Struct, field

from everyword.api.pages import entries_after
from everyword.errors import EverywordError
from everyword.interfaces.mcp import OpenMemory, results, sdk
from everyword.interfaces.mcp.fast_handshake import ANSWER, KEEP, SCHEME, SESSION
from everyword.interfaces.mcp.sdk import Call, ProtocolError
from everyword.interfaces.operations import BY_NAME, Operation
from everyword.text.rendering import event_line, indented, json_text, name, visible
from everyword.types.events import Event, Session
from everyword.types.service import NOW, News

Json = dict[str, Any]

SESSIONS = f"{SCHEME}sessions"
_PAGE_SESSIONS = 50  # listed on a page, the latest first
_MOST_LISTED = 100  # items of a resource that is a list
_MOST_COMPLETIONS = 100  # the protocol's limit
_MOST_EVENTS = 2_000  # of one session per read
# Operations that are offered as resources, by URI; they need no arguments.
_OPERATIONS = {f"{SCHEME}{name}": BY_NAME[name] for name in ("identity", "wake_up", "entities", "intents", "stats")}
_MOST_URIS = 1_000  # per client: each is read again after a change
_KEY = "everyword"  # of the state kept with a connection


def page(opened: OpenMemory, cursor: str | None) -> Json:
    """List a page of the resources: the fixed ones first, then the sessions."""

    def sessions(limit: int | None) -> list[Json]:
        return [_resource(session) for session in opened.memory.sessions(limit=limit)]

    entries = entries_after(cursor, _PAGE_SESSIONS, sessions)
    following = entries.next(_PAGE_SESSIONS)
    listed = [*(_fixed(opened) if cursor is None else ()), *entries.found[:_PAGE_SESSIONS]]
    return {"resources": listed, **({"nextCursor": following} if following else {})}


def _fixed(opened: OpenMemory) -> list[Json]:
    listed = [{"uri": SESSIONS, "name": "sessions", "title": "Sessions", "mimeType": "application/json"}]
    return listed + [
        {"uri": uri, "name": operation.name, "description": operation.summary, "mimeType": "application/json"}
        for uri, operation in _OPERATIONS.items()
        if opened.wing is None or operation.scope == "wing"  # others would tell of other wings
    ]


def listed_sessions(opened: OpenMemory) -> set[str]:
    """Return the names of the sessions on the first page."""
    return {session.name for session in opened.memory.sessions(limit=_PAGE_SESSIONS)}


def is_known(uri: str) -> bool:
    """Return whether a resource exists or may exist later, as a session may."""
    return uri in (SESSIONS, *_OPERATIONS) or (uri.startswith(SESSION) and len(uri) > len(SESSION))


def read(opened: OpenMemory, uri: str) -> Json:
    """Read a resource."""
    if uri == SESSIONS:
        return _document(uri, _list(BY_NAME["sessions"], opened.memory.sessions(limit=_MOST_LISTED + 1)))
    if uri.startswith(SESSION):
        return _transcript(opened, uri, unquote(uri[len(SESSION) :]))
    operation = _OPERATIONS.get(uri)
    if operation is None or (opened.wing is not None and operation.scope != "wing"):
        raise ProtocolError(f"Unknown resource {uri[:200]}.")
    handle = opened.memory if operation.scope == "wing" else opened.whole_space
    result: Any = operation.run(handle, opened.in_project(operation, {}))
    is_list = operation.name in results.LISTS
    return _document(uri, _list(operation, result) if is_list else operation.document(result))


def _list(operation: Operation, items: list[Any]) -> Json:
    """Return what agents get of the first items of a list."""
    more = {"more": True} if len(items) > _MOST_LISTED else {}
    return {operation.result: results.slim_list(operation.name, items[:_MOST_LISTED]), **more}


def _resource(session: Session) -> Json:
    return {
        "uri": f"{SESSION}{quote(session.name, safe='')}",
        "name": name(session.name),
        "description": f"{session.events} events, {session.first_at:%Y-%m-%d} to {session.last_at:%Y-%m-%d}",
        "mimeType": "text/plain",
    }


def _transcript(opened: OpenMemory, uri: str, session: str) -> Json:
    lines = [event_line(event) for event in opened.memory.events(session=session, limit=_MOST_EVENTS + 1)]
    if not lines:
        raise ProtocolError(f"Unknown session {session[:200]!r}.")
    if len(lines) > _MOST_EVENTS:
        lines[-1] = f"(the session continues; these are its first {_MOST_EVENTS:,} events)"
    text = opened.memory.admin.fenced("\n".join(lines))
    return {"uri": uri, "mimeType": "text/plain", "text": text}


def _document(uri: str, document: Json) -> Json:
    return {"uri": uri, "mimeType": "application/json", "text": json_text(document)}


# Completions and prompts


def completion(opened: OpenMemory, params: Mapping[str, Any]) -> Json:
    """Complete the name of a session in the URI of its resource; nothing else can be completed."""
    asked, argument = params["ref"], params["argument"]
    names: list[str] = []
    if asked.get("uri") == f"{SESSION}{{name}}" and argument["name"] == "name":
        begun = str(argument["value"]).casefold()
        names = [one.name for one in opened.memory.sessions() if one.name.casefold().startswith(begun)]
    shown = [visible(one) for one in names[:_MOST_COMPLETIONS]]
    return {"completion": {"values": shown, "total": len(names), "hasMore": len(names) > len(shown)}}


def prompt(opened: OpenMemory, name: str, arguments: Mapping[str, str] | None) -> Json:
    """Fill in a prompt."""
    if name == ANSWER:
        question = (arguments or {}).get("question", "").strip()
        if not question:
            raise ProtocolError("The argument question is missing.")
        asked = opened.in_project(BY_NAME["context"], {"query": question})
        return _prompt(_answer(opened.memory.context(**asked).text, question))
    if name == KEEP:
        return _prompt(
            "Go through this conversation. For each preference, decision, fact, plan or date in it that will matter "
            "later, call `remember` once, with the exact words that were said and who said them. Leave out small talk, "
            "secrets, and what the memory holds already. Then list what you kept."
        )
    raise ProtocolError(f"Unknown prompt {name[:200]!r}.")


def _answer(remembered: str, question: str) -> str:
    return (
        "From my memory:\n\n"
        f"{remembered or '(nothing about this)'}\n\n"
        "Answer the question below from these lines, and cite the marks of those that you use. If they do not hold the "
        "answer, call `recall` with other words; if that finds nothing either, say that you do not know.\n\n"
        f"Question: {indented(question)}"
    )


def _prompt(text: str) -> Json:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": visible(text)}}]}


# Notifications of changes


class Changed(NamedTuple):
    """The changes that a poll found."""

    uris: list[str]
    listed: bool  # the list of resources has changed


class Watch(Struct, kw_only=True):
    """The resources that one client follows, and their state at the last poll."""

    opened: OpenMemory
    uris: set[str] = field(default_factory=set[str])
    listing: bool = False  # whether the list itself is followed
    running: anyio.CancelScope | None = None  # of the task that notifies an older client
    _position: str = ""
    _pulse: str = ""
    _listed: set[str] = field(default_factory=set[str])
    _digests: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def begin(self) -> None:
        """Record the current state; only later changes are reported."""
        self._position = self.opened.memory.changes(after=NOW).position
        self._pulse = self.opened.memory.admin.pulse()
        self._digests |= {uri: self._digest(uri) for uri in self.uris - self._digests.keys()}
        if self.listing:
            self._listed = listed_sessions(self.opened)

    def poll(self) -> Changed:
        """Return the changes since the last poll."""
        pulse = self.opened.memory.admin.pulse()
        news = self._news() if pulse != self._pulse else []
        self._pulse = pulse
        if not news:
            return Changed([], listed=False)
        changed = {one.item.session for one in news if isinstance(one.item, Event)} - {None}
        gone = any(one.kind == "forgotten" for one in news)
        uris = [uri for uri in sorted(self.uris) if self._is_new(uri, cast("set[str]", changed), gone)]
        before = self._listed
        if self.listing and (gone or not changed <= before):
            self._listed = listed_sessions(self.opened)
        return Changed(uris, listed=before != self._listed)

    def _news(self) -> list[News]:
        news: list[News] = []
        while True:
            part = self.opened.memory.changes(after=self._position)
            news += part
            self._position = part.position
            if not part.more:
                return news

    def _is_new(self, uri: str, changed_sessions: set[str], gone: bool) -> bool:
        if uri == SESSIONS:
            return gone or bool(changed_sessions)
        if uri.startswith(SESSION):
            return gone or unquote(uri[len(SESSION) :]) in changed_sessions
        before, self._digests[uri] = self._digests.get(uri), self._digest(uri)
        return before != self._digests[uri]

    def _digest(self, uri: str) -> bytes:
        """Hash the content, or the error of a resource that can't be read; news tell what happens to sessions."""
        if uri == SESSIONS or uri.startswith(SESSION):
            return b""
        try:
            text = str(read(self.opened, uri)["text"])
        except (ProtocolError, EverywordError) as error:
            text = str(error)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


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
        if not is_known(uri):
            raise ProtocolError(f"Unknown resource {uri[:200]}.")
        watch = self._followed(call)
        if len(watch.uris) >= _MOST_URIS:
            raise ProtocolError(f"A client can follow at most {_MOST_URIS} resources.")
        watch.uris.add(uri)
        await self._begin(call, watch)
        return {}

    async def unsubscribe(self, call: Call) -> dict[str, Any]:
        """Stop following a resource."""
        self._followed(call).uris.discard(str(call.params["uri"]))
        return {}

    async def follow_list(self, call: Call) -> None:
        """Notify a client that has read the list when it changes."""
        watch = self._followed(call)
        if not watch.listing:
            watch.listing = True
            await self._begin(call, watch)

    async def listen(self, context: Any, params: Any) -> Any:
        """Respond with a stream of changes, until the client leaves or the server ends (2.x of the MCP package)."""
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
        from mcp.shared.exceptions import MCPError

        wanted = params.notifications
        uris = {str(uri) for uri in wanted.resource_subscriptions or ()}
        if len(uris) > _MOST_URIS:
            raise MCPError(sdk.INVALID_PARAMS, f"A client can follow at most {_MOST_URIS} resources.")
        uris = {uri for uri in uris if is_known(uri)}
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

    async def _notify(self, call: Call, watch: Watch, running: anyio.CancelScope) -> None:
        with running:
            async for found in self._polls(watch):
                for uri in found.uris:
                    await call.notify("notifications/resources/updated", {"uri": uri})
                if found.listed:
                    await call.notify("notifications/resources/list_changed")

    async def _polls(self, watch: Watch) -> AsyncGenerator[Changed]:
        """Poll until the server ends; errors are retried at the next poll."""
        seen = self._opened.changes
        while await self._opened.wait_for_change(seen):
            seen = self._opened.changes  # before polling: later changes are found next time
            with suppress(EverywordError):
                yield await to_thread.run_sync(watch.poll)

    async def _begin(self, call: Call, watch: Watch) -> None:
        with suppress(EverywordError):  # reading the resource reports it
            await to_thread.run_sync(watch.begin)
        if watch.running is None:
            watch.running = anyio.CancelScope()
            call.lifespan.start_soon(self._notify, call, watch, watch.running)
            sdk.at_end_of_connection(call.session, watch.running.cancel)

    def _followed(self, call: Call) -> Watch:
        """Return what the client of a connection follows."""
        return sdk.connection_state(call.session).setdefault(_KEY, Watch(opened=self._opened))
