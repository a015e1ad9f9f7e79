"""Serve a memory with uvicorn: wait for the database, limit connections, and finish pending requests at the end.

uvicorn limits the size of a request head (64 KB) and the idle time between requests. `LimitedProtocol` adds:

- a head must arrive within `header_timeout_s`, however slowly bytes trickle in;
- a body must arrive at `min_body_bytes_per_s`, measured over windows of `body_timeout_s`; responses must be read at
  the same rate;
- beyond `most_connections` the longest idle connection is closed; if none is idle, the new one gets a 503;
- a request with both Content-Length and Transfer-Encoding is refused, since a proxy may read it differently.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from everyword.engine.retry import when_there
from everyword.errors import EverywordError, InvalidInput, InvalidSetting, Overloaded, RequestTimeout, StoreUnreachable
from everyword.interfaces.http.app import MCP_PATH, build
from everyword.interfaces.http.bodies import error_response, json_response
from everyword.interfaces.http.observability import limit_log
from everyword.interfaces.http.routes import STREAM_PATH
from everyword.interfaces.http.service import Service
from everyword.interfaces.http.settings import BACKLOG, ServiceSettings, address_of, address_unavailable
from everyword.memory import Memory
from everyword.types.times import utc_now

Announce = Callable[[str], None]

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SLOW_READER_S = 2.0  # time for stream readers to take the last message
_LATE_CONNECTIONS_S = 0.1  # time for a client that has just connected to send its request
# File descriptors reserved for everything else: the memory's own files in each thread, uploads, and connections that
# were just accepted or closed.
_RESERVED_FILES = 128
_LEAST_CONNECTIONS = 16
# Connections that asyncio accepts before they are counted.
_ACCEPTED_AT_ONCE = 8


def serve(
    memory: Memory,
    settings: ServiceSettings,
    *,
    on_ready: Announce | None = None,
    listening: Sequence[socket.socket] | None = None,
) -> None:
    """Serve a memory until the process is told to stop, and finish the requests that have begun.

    on_ready: called with the address once requests are answered. listening: sockets to serve on.
    """
    check_reach(memory, settings)
    with _bind_errors(settings):
        sockets = _inherited_socket(settings) if listening is None else list(listening)
        make_server(memory, settings, on_ready=on_ready).run(sockets=sockets)


def open_and_serve(
    open_memory: Callable[[], Memory],
    settings: ServiceSettings,
    *,
    on_ready: Announce | None = None,
    on_wait: Announce | None = None,
) -> None:
    """Open a memory and serve it. While its database does not answer, serve 503 and retry.

    on_wait: called once with the reason, if the database does not answer.
    """
    try:
        memory, listening = open_memory(), None
    except StoreUnreachable as error:
        if not settings.wait_for_store_s:
            raise
        if on_wait is not None:
            on_wait(f"Waiting for the database, {settings.wait_for_store_s:g} s at most. {error}")
        with _bind_errors(settings):
            memory, listening = _wait_for_memory(open_memory, settings)
        if memory is None:  # told to stop meanwhile
            return
    with memory:
        serve(memory, settings, on_ready=on_ready, listening=listening)


def check_reach(memory: Memory, settings: ServiceSettings) -> None:
    """Refuse to listen beyond this machine if the memory has no usable key."""
    if settings.on_loopback:
        return
    now = utc_now()
    if not any(key.usable(now) for key in memory.admin.api_keys()):
        raise InvalidSetting(
            f"Serving on {settings.host} needs an API key.",
            fix="Create one with: everyword keys create NAME. Or serve on 127.0.0.1.",
        )


def make_server(memory: Memory, settings: ServiceSettings, *, on_ready: Announce | None = None) -> MemoryServer:
    """Make a server; its run() serves until stop() is called or a signal arrives."""
    app, service = build(memory, settings)
    return MemoryServer(_uvicorn_config(app, settings), service, on_ready)


class GracefulServer(uvicorn.Server):
    """A uvicorn server that returns after a signal instead of raising it again, so that the memory can be closed."""

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        for one in self._duplicate_sockets():
            with one:
                one.listen(BACKLOG)

    def stop(self) -> None:
        """Answer pending requests, then end. Callable from any thread."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on SIGINT and SIGTERM."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _duplicate_sockets(self) -> list[socket.socket]:
        return [one.dup() for server in self.servers for one in server.sockets] if self.started else []

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.should_exit and number == signal.SIGINT:
            self.force_exit = True  # the second Ctrl-C stops without waiting
        self.stop()


class MemoryServer(GracefulServer):
    """A server that announces its address and ends open streams when it stops."""

    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Announce | None) -> None:
        super().__init__(config)
        self._service = service
        self._on_ready = on_ready

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, and announce the address."""
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready(address_of(self.servers[0].sockets[0]))

    async def shutdown(self, sockets: Any = None) -> None:
        """Accept no more connections, and finish pending requests."""
        tasks = [asyncio.create_task(one) for one in (self._close_late_connections(), self._abort_stalled_streams())]
        try:
            await super().shutdown(sockets)
        finally:
            for task in tasks:
                task.cancel()

    def stop(self) -> None:
        """Answer pending requests, then end. Callable from any thread."""
        # Streams never end by themselves, so end them before uvicorn waits for pending requests.
        self._service.poller.stop()
        super().stop()

    async def _close_late_connections(self) -> None:
        # uvicorn tells each connection once that the server shuts down. A connection accepted at that very moment is
        # missed: it would be served on, and then be cut off in the middle of a request.
        known = set(self.server_state.connections)
        while True:
            await asyncio.sleep(_LATE_CONNECTIONS_S)
            for late in self.server_state.connections - known:
                known.add(late)
                late.shutdown()

    async def _abort_stalled_streams(self) -> None:
        # A stream whose client does not read blocks in the middle of a message. Aborting loses nothing: the client
        # resumes from its position. Other responses are waited for: a slow download is legitimate.
        while True:
            await asyncio.sleep(_SLOW_READER_S)
            for connection in list(self.server_state.connections):
                one: Any = connection
                if one.flow.write_paused and one.scope is not None and one.scope["path"] in (STREAM_PATH, MCP_PATH):
                    one.transport.abort()


def _uvicorn_config(app: ASGIApp, settings: ServiceSettings) -> uvicorn.Config:
    limit_log()
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=settings.idle_timeout_s,
        timeout_graceful_shutdown=settings.stop_within_s,
        # Based on h11, which is always installed and limits headers to 64 KB. httptools accepts headers of any length.
        http=_protocol_for(settings),
        # asyncio accepts this many before any is counted; GracefulServer.startup sets the real backlog.
        backlog=_ACCEPTED_AT_ONCE,
        ws="none",
    )


def _wait_for_memory(
    open_memory: Callable[[], Memory], settings: ServiceSettings
) -> tuple[Memory | None, list[socket.socket]]:
    """Retry opening a memory while the address answers 503.

    Return the memory, or None if told to stop, and the listening sockets, so that no client is turned away in between.
    """
    server = _WaitingServer(_uvicorn_config(_waiting_app(), settings), open_memory, settings.wait_for_store_s)
    server.run(sockets=_inherited_socket(settings))
    memory = server.memory
    if memory is not None and not server.interrupted:
        return memory, server.listening
    for one in server.listening:
        one.close()
    if memory is not None:
        memory.close()
    if server.error is not None and not server.interrupted:
        raise server.error
    return None, []


class _WaitingServer(GracefulServer):
    """A server that ends once the memory is open or can't be opened."""

    def __init__(self, config: uvicorn.Config, open_memory: Callable[[], Memory], timeout_s: float) -> None:
        super().__init__(config)
        self._open_memory = open_memory
        self._timeout_s = timeout_s
        self._ended = threading.Event()
        self.listening: list[socket.socket] = []
        self.memory: Memory | None = None
        self.error: Exception | None = None
        self.interrupted = False

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        # Duplicates, since uvicorn closes its own: clients that connect in between wait for the next server.
        self.listening = self._duplicate_sockets()
        # A daemon thread, since connecting may take seconds and the process should not wait for it.
        threading.Thread(target=self._open, name="everyword-opening", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        super().stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        super()._on_signal(number, frame)

    def _open(self) -> None:
        try:
            self.memory = when_there(self._open_memory, within_s=self._timeout_s, stop=self._ended)
        except Exception as error:  # _wait_for_memory raises it
            self.error = error
        self.stop()


def _waiting_app() -> Starlette:
    async def healthz(_: Request) -> Response:
        return json_response({"ok": True})

    async def unavailable(_: Request) -> Response:
        # The database's address and error are not shown, since anybody may ask.
        return error_response(StoreUnreachable("The service is waiting for its database.", fix="Try again soon."))

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    return Starlette(routes=[Route("/healthz", healthz), Route("/{path:path}", unavailable, methods=methods)])


def _inherited_socket(settings: ServiceSettings) -> list[socket.socket] | None:
    return None if settings.socket is None else [socket.socket(fileno=settings.socket)]


@contextmanager
def _bind_errors(settings: ServiceSettings) -> Generator[None]:
    try:
        yield
    except SystemExit as error:  # uvicorn exits if it can't bind the address
        raise address_unavailable(settings.host, settings.port) from error


# Connections


def _protocol_for(settings: ServiceSettings) -> Any:
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
