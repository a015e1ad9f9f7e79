"""Server-sent events: what happens in a space, as it happens, from any position on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from recollect.core.errors import InvalidInput, Overloaded, RecollectError
from recollect.core.feed import NOW, Feed
from recollect.core.keys import Permission
from recollect.engine.feed import KINDS
from recollect.memory import Memory
from recollect.operations import Parameter
from recollect.serial import plain
from recollect.serve.http.access import Caller
from recollect.serve.http.answers import as_json, problem_of
from recollect.serve.http.arguments import from_query
from recollect.serve.http.service import Service

JOBS = "jobs"
END = "end"  # the last message, with what a refused request would be told
STREAM_KINDS = (*KINDS, JOBS)
PARAMETERS = (
    Parameter(name="space", kind="text", help="the space (default: the key's only one, or `default`)"),
    Parameter(name="wing", kind="text", help="see this wing of the space alone"),
    Parameter(name="after", kind="text", help="a position; Last-Event-ID says the same (default: from now on)"),
    Parameter(name="kinds", kind="texts", help=f"which of {', '.join(STREAM_KINDS)} (default: all)"),
)
BEAT_S = 15.0  # a comment goes out this often: proxies close what is silent for longer
_KEY_EVERY_S = 1.0  # how late one whose key ends is told, where nothing else happens
_NEWS_AT_ONCE = 100
_INSTEAD = "Ask /v1/changes now and then instead."
_RETRY_MS = 2_000  # how long a browser waits before it connects anew


class Stream:
    """The endpoint."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, request: Request) -> Response:
        """Begin to stream."""
        service = self._service
        caller = await service.admitted(request)
        given = from_query(PARAMETERS, request.query_params.multi_items())
        kinds = frozenset(given.get("kinds") or STREAM_KINDS)
        if not kinds <= set(STREAM_KINDS):
            raise InvalidInput(
                f"{sorted(kinds - set(STREAM_KINDS))} are no kinds of news.", fix=f"Known: {', '.join(STREAM_KINDS)}."
            )
        handle = service.handle(caller, Permission.READ, given.get("space"), given.get("wing"))
        after = request.headers.get("last-event-id") or given.get("after") or NOW
        # The position is checked before the answer begins: an error is still an answer then.
        first = await service.following.run(lambda: handle.changes(after=after, limit=_NEWS_AT_ONCE))
        check_followers(service, caller)  # last: whoever passes is counted in at once
        service.concurrency.leave(request.scope)  # streams are counted by themselves
        return StreamingResponse(
            self._lines(request, caller, handle, first if after == NOW else Feed(position=after, more=True), kinds),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _lines(
        self, request: Request, caller: Caller, handle: Memory, feed: Feed, kinds: frozenset[str]
    ) -> AsyncIterator[bytes]:
        """Write what happens, and at last why nothing more comes: whoever is cut off without a word may not know."""
        with self._service.pulse.following(caller.name):
            yield f"retry: {_RETRY_MS}\nid: {feed.position}\nevent: position\ndata: {{}}\n\n".encode()
            why: RecollectError = Overloaded("The service stops.", fix="Connect again soon, behind the last position.")
            try:
                async with aclosing(self._messages(request, caller, handle, feed, kinds)) as messages:
                    async for message in messages:
                        yield message
            except RecollectError as error:
                why = error
            yield _message(END, problem_of(why), None)

    async def _messages(
        self, request: Request, caller: Caller, handle: Memory, feed: Feed, kinds: frozenset[str]
    ) -> AsyncGenerator[bytes]:
        service, pulse = self._service, self._service.pulse
        jobs: dict[str, Any] | None = None
        while not pulse.stopping:
            seen = pulse.beats
            wanted = [one for one in feed if one.kind in kinds]
            for number, one in enumerate(wanted, 1):
                # Only the last one moves the position: whoever leaves before gets them all again.
                yield _message(one.kind, plain(one), feed.position if number == len(wanted) else None)
            if JOBS in kinds and not feed.more:
                counts = await service.following.run(handle.job_counts)
                now = {kind: {"waiting": count, "failed": failed} for kind, (count, failed) in counts.items()}
                if now != jobs:
                    jobs = now
                    yield _message(JOBS, now, feed.position)
            quiet_s = 0.0
            while True:
                await service.doors.caller(request.headers)  # a key that ended meanwhile sees nothing more
                if feed.more or pulse.beats != seen or quiet_s >= BEAT_S or pulse.stopping:
                    break
                await pulse.changed(seen, _KEY_EVERY_S)
                quiet_s += _KEY_EVERY_S
            if quiet_s >= BEAT_S:
                yield b": still here\n\n"
            position = feed.position
            feed = await service.following.run(lambda after=position: handle.changes(after=after))


def check_followers(service: Service, caller: Caller) -> None:
    """Refuse one more where as many follow as were foreseen, at all or with one key."""
    pulse, settings = service.pulse, service.settings
    if pulse.followers >= settings.most_streams:
        raise Overloaded("As many follow as the service can take.", fix=_INSTEAD)
    if caller.key is not None and pulse.following_as[caller.name] >= settings.most_streams_of_a_key:
        raise Overloaded(f"{settings.most_streams_of_a_key:,} follow with this key already.", fix=_INSTEAD)


def _message(kind: str, document: object, position: str | None) -> bytes:
    head = b"" if position is None else f"id: {position}\n".encode()
    return head + b"event: %s\ndata: %s\n\n" % (kind.encode(), as_json(document))
