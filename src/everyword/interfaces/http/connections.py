"""Limits per connection: timeouts for slow clients, a cap on connections, and strict request parsing.

uvicorn limits the size of a request head (64 KB) and the idle time between requests. This protocol adds:

- a head must arrive within `header_timeout_s`, however slowly bytes trickle in;
- a body must arrive at `min_body_bytes_per_s`, measured over windows of `body_timeout_s`; responses must be read at
  the same rate;
- beyond `most_connections` the longest idle connection is closed; if none is idle, the new one gets a 503;
- a request with both Content-Length and Transfer-Encoding is refused, since a proxy may read it differently.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from everyword.errors import EverywordError, InvalidInput, Overloaded, RequestTimeout
from everyword.interfaces.http.responses import error_response
from everyword.interfaces.http.settings import ServiceSettings

# File descriptors reserved for everything else: the memory's own files in each thread, uploads, and connections that
# were just accepted or closed.
_RESERVED_FILES = 128
_LEAST_CONNECTIONS = 16
# Connections that asyncio accepts before they are counted.
ACCEPTED_AT_ONCE = 8


def protocol_for(settings: ServiceSettings) -> Any:
    """Return the factory that uvicorn calls for each connection of one server."""
    idle: OrderedDict[LimitedProtocol, None] = OrderedDict()
    most = _connection_limit(settings.most_connections)

    def make(*args: Any, **options: Any) -> LimitedProtocol:
        return LimitedProtocol(settings, idle, most, *args, **options)

    return make


def _connection_limit(wanted: int) -> int:
    """Lower the limit to what the process may open."""
    try:
        import resource  # not on Windows, where sockets are not files
    except ImportError:
        return wanted
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(files - _RESERVED_FILES, _LEAST_CONNECTIONS))


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with limits.

    idle: the connections without a pending request, longest idle first; shared by all connections of a server.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        idle: OrderedDict[LimitedProtocol, None],
        most: int,
        *args: Any,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.conn = _StrictConnection(self)
        self._settings = settings
        self._idle = idle
        self._most = most
        self._receiving = _Timer(self.loop)  # a head or a body
        self._receiving_body = False
        self._received = 0  # bytes of a body in this window
        self._sending = _Timer(self.loop)
        self._unsent = 0  # bytes at the start of this window

    # Connections

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._most and self._idle:
            longest, _ = self._idle.popitem(last=False)
            longest.transport.abort()
        self._idle[self] = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.pop(self, None)
        self._receiving.cancel()
        self._sending.cancel()
        super().connection_lost(exc)

    # Requests

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self._receiving.running:
            self._await_head()  # the first bytes of another request
        else:
            self._follow_body()

    def begin_request(self) -> None:
        """Handle a complete head, before uvicorn calls the application."""
        self._idle.pop(self, None)
        self._receiving.cancel()
        if len(self.connections) > self._most:
            self.app = _overloaded

    def count_body(self, size: int) -> None:
        """Count bytes of a body."""
        self._received += size

    def on_response_complete(self) -> None:
        self._idle[self] = None
        super().on_response_complete()  # this may start the next request
        self._follow_body()

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidInput(self.conn.why or "The request is not valid HTTP."))

    # Time limits

    def _await_head(self) -> None:
        self._receiving_body = False
        self._receiving.start(self._settings.header_timeout_s, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(RequestTimeout("The head of the request did not arrive in time."))
        else:
            self.transport.abort()  # nothing was sent

    def _follow_body(self) -> None:
        if self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            if not self._receiving_body or not self._receiving.running:
                self._receiving_body = True
                self._start_body_window()
        elif self._receiving_body:
            self._receiving_body = False
            self._receiving.cancel()

    def _start_body_window(self) -> None:
        self._received = 0
        self._receiving.start(self._settings.body_timeout_s, self._check_body)

    def _check_body(self) -> None:
        # If we paused reading, the client is not too slow.
        if self.flow.read_paused or self._received >= self._least_bytes(self._settings.body_timeout_s):
            self._start_body_window()
        else:
            self._refuse(RequestTimeout("The body of the request did not arrive in time."))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_sending_window()

    def resume_writing(self) -> None:
        self._sending.cancel()
        super().resume_writing()

    def _start_sending_window(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._sending.start(self._settings.write_timeout_s, self._check_sending)

    def _check_sending(self) -> None:
        taken = self._unsent - self.transport.get_write_buffer_size()
        if taken >= self._least_bytes(self._settings.write_timeout_s):
            self._start_sending_window()
        else:
            self.transport.abort()

    def _least_bytes(self, seconds: float) -> float:
        return self._settings.min_body_bytes_per_s * seconds

    def _refuse(self, error: EverywordError) -> None:
        """Send an error, unless a response has started, and close the connection."""
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # drops what the application still sends
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and not self.transport.is_closing():
            answer = error_response(error, {"connection": "close"})
            for event in (
                h11.Response(
                    status_code=answer.status_code,
                    headers=answer.raw_headers,
                    reason=HTTPStatus(answer.status_code).phrase,
                ),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _StrictConnection(h11.Connection):
    """A parser that refuses ambiguous requests and reports its progress to the protocol."""

    def __init__(self, protocol: LimitedProtocol) -> None:
        size = protocol.config.h11_max_incomplete_event_size
        super().__init__(h11.SERVER, **({} if size is None else {"max_incomplete_event_size": size}))
        self._protocol = protocol
        self.why: str | None = None

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.why = _ambiguous(event)
            if self.why is not None:
                raise h11.RemoteProtocolError(self.why)
            self._protocol.begin_request()
        elif isinstance(event, h11.Data):
            self._protocol.count_body(len(event.data))
        return event


class _Timer:
    """At most one scheduled call."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._scheduled: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        """Whether a call is scheduled."""
        return self._scheduled is not None

    def start(self, seconds: float, call: Callable[[], None]) -> None:
        """Schedule a call, and cancel the one before."""
        self.cancel()
        self._scheduled = self._loop.call_later(seconds, self._fire, call)

    def cancel(self) -> None:
        """Cancel the scheduled call."""
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def _fire(self, call: Callable[[], None]) -> None:
        self._scheduled = None
        call()


def _ambiguous(request: h11.Request) -> str | None:
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" not in names:
        return None
    if b"content-length" in names:
        return "A request has either Content-Length or Transfer-Encoding, not both."
    if request.http_version < b"1.1":
        return "HTTP/1.0 has no Transfer-Encoding."
    return None


async def _overloaded(scope: Scope, receive: Receive, send: Send) -> None:
    error = Overloaded("The service has too many connections.")
    await error_response(error, {"connection": "close"})(scope, receive, send)
