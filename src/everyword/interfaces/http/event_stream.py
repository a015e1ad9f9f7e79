"""GET /v1/stream: the changes of a space as server-sent events, from any position."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from everyword.errors import EverywordError, InvalidInput, Overloaded
from everyword.interfaces.http.access import Caller
from everyword.interfaces.http.responses import encode_json, problem_of
from everyword.interfaces.http.route_table import SPACE, WING
from everyword.interfaces.http.service import Service
from everyword.interfaces.operations import Parameter, parse_query
from everyword.interfaces.operations.parameters import TEXT, TEXTS
from everyword.jobs.feed import KINDS
from everyword.memory import Memory
from everyword.types.api_keys import Permission
from everyword.types.feed import NOW, Feed
from everyword.types.serialization import to_json

JOBS = "jobs"
END = "end"  # the last message: the reason as a problem document
STREAM_KINDS = (*KINDS, JOBS)
PARAMETERS = (
    SPACE,
    WING,
    Parameter("after", TEXT, "a position; Last-Event-ID does the same (default: from now on)"),
    Parameter("kinds", TEXTS, f"which of {', '.join(STREAM_KINDS)} (default: all)"),
)
KEEPALIVE_S = 15.0  # a comment is sent this often, since proxies close silent connections
_CHECK_KEY_EVERY_S = 1.0  # how soon a revoked key ends its stream
_FIRST_BATCH = 100
_POLL_INSTEAD = "Poll /v1/changes instead."
_RETRY_MS = 2_000  # how long a browser waits before it reconnects


class EventStream:
    """The endpoint."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def respond(self, request: Request) -> Response:
        """Check the request and start to stream."""
        service = self._service
        caller = await service.authenticate(request)
        query = parse_query(PARAMETERS, request.query_params.multi_items())
        kinds = frozenset(query.get("kinds") or STREAM_KINDS)
        if not kinds <= set(STREAM_KINDS):
            unknown = ", ".join(sorted(kinds - set(STREAM_KINDS)))
            raise InvalidInput(f"Unknown kinds: {unknown}.", fix=f"Valid kinds: {', '.join(STREAM_KINDS)}.")
        handle = service.handle(caller, Permission.READ, query.get("space"), query.get("wing"))
        after = request.headers.get("last-event-id") or query.get("after") or NOW
        # Check the position before the response starts, while an error status can still be sent.
        first = await service.stream_pool.run(lambda: handle.changes(after=after, limit=_FIRST_BATCH))
        check_stream_limits(service, caller)  # last, since the stream is counted right after
        service.concurrency_limiter.leave(request.scope)  # streams have limits of their own
        return StreamingResponse(
            self._stream(request, caller, handle, first if after == NOW else Feed(position=after, more=True), kinds),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _stream(
        self, request: Request, caller: Caller, handle: Memory, feed: Feed, kinds: frozenset[str]
    ) -> AsyncIterator[bytes]:
        """Send the messages, and at the end the reason why the stream ends."""
        with self._service.poller.following(caller.name):
            yield f"retry: {_RETRY_MS}\nid: {feed.position}\nevent: position\ndata: {{}}\n\n".encode()
            why: EverywordError = Overloaded("The service stops.", fix="Reconnect soon, from the last position.")
            try:
                async with aclosing(self._messages(request, handle, feed, kinds)) as messages:
                    async for message in messages:
                        yield message
            except EverywordError as error:
                why = error
            yield _message(END, problem_of(why), None)

    async def _messages(
        self, request: Request, handle: Memory, feed: Feed, kinds: frozenset[str]
    ) -> AsyncGenerator[bytes]:
        service, poller = self._service, self._service.poller
        last_jobs: dict[str, Any] | None = None
        while not poller.stopping:
            seen = poller.changes
            wanted = [one for one in feed if one.kind in kinds]
            for number, one in enumerate(wanted, 1):
                # Only the last message moves the position: a client that leaves before gets the whole batch again.
                yield _message(one.kind, to_json(one), feed.position if number == len(wanted) else None)
            if JOBS in kinds and not feed.more:
                counts = await service.stream_pool.run(handle.admin.job_counts)
                jobs = {kind: {"waiting": count, "failed": failed} for kind, (count, failed) in counts.items()}
                if jobs != last_jobs:
                    last_jobs = jobs
                    yield _message(JOBS, jobs, feed.position)
            quiet_s = 0.0
            while True:
                await service.authenticator.caller(request.headers)  # raises if the key has ended
                if feed.more or poller.changes != seen or quiet_s >= KEEPALIVE_S or poller.stopping:
                    break
                await poller.wait_for_change(seen, _CHECK_KEY_EVERY_S)
                quiet_s += _CHECK_KEY_EVERY_S
            if quiet_s >= KEEPALIVE_S:
                yield b": still here\n\n"
            position = feed.position
            feed = await service.stream_pool.run(lambda after=position: handle.changes(after=after))


def check_stream_limits(service: Service, caller: Caller) -> None:
    """Refuse one more stream if the service or the key has too many."""
    poller, settings = service.poller, service.settings
    if poller.followers >= settings.most_streams:
        raise Overloaded("The service has too many open streams.", fix=_POLL_INSTEAD)
    if caller.key is not None and poller.followers_by_caller[caller.name] >= settings.most_streams_of_a_key:
        raise Overloaded(f"This key already has {settings.most_streams_of_a_key:,} open streams.", fix=_POLL_INSTEAD)


def _message(kind: str, document: object, position: str | None) -> bytes:
    head = b"" if position is None else f"id: {position}\n".encode()
    return head + b"event: %s\ndata: %s\n\n" % (kind.encode(), encode_json(document))
