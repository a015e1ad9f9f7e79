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
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any, Literal

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from everyword.engine.retry import when_there
from everyword.errors import EverywordError, InvalidInput, InvalidSetting, Overloaded, RequestTimeout, StoreUnreachable
from everyword.interfaces.http.app import MCP_PATH, build
from everyword.interfaces.http.bodies import error_response, json_response
from everyword.interfaces.http.observability import limit_log
from everyword.interfaces.http.routes import STREAM_PATH
from everyword.interfaces.http.service import Service
from everyword.interfaces.http.settings import BACKLOG, ServiceSettings, address_of
from everyword.memory import Memory
from everyword.types.times import utc_now

Announce = Callable[[str], None]

_SLOW_READER_S = 2.0  # time for stream readers to take the last message
_WATCH_EVERY_S = 0.1  # also the time for a client that connects while the server stops to send its request
# File descriptors reserved for everything else: the memory's own files in each thread, uploads, and connections that
# were just accepted or closed.
_RESERVED_FILES = 128
_LEAST_CONNECTIONS = 16
# Connections that asyncio accepts before they are counted.
_ACCEPTED_AT_ONCE = 8
_SHARED_ACCEPT_S = 1.0  # another process may take the connection that was about to be accepted


def open_and_serve(
    open_memory: Callable[[], Memory],
    settings: ServiceSettings,
    *,
    on_ready: Announce | None = None,
    on_wait: Announce | None = None,
) -> None:
    """Open a memory, serve it until the process is told to stop, and finish the requests that have begun.

    While its database does not answer, serve 503 and retry. on_ready: called with the address once requests are
    answered. on_wait: called once with the reason, if the database does not answer.
    """
    listening = None
    try:
        memory = open_memory()
    except StoreUnreachable as error:
        if not settings.wait_for_store_s:
            raise
        if on_wait is not None:
            on_wait(f"Waiting for the database, {settings.wait_for_store_s:g} s at most. {error}")
        listening = settings.listen()
        memory = _wait_for_memory(open_memory, settings, listening)
        if memory is None:  # told to stop meanwhile
            return
    with memory:
        check_reach(memory, settings)
        make_server(memory, settings, on_ready=on_ready, listening=listening).run()


def check_reach(memory: Memory, settings: ServiceSettings) -> None:
    """Refuse to listen beyond this machine if the memory has no usable key."""
    if settings.on_loopback:
        return
    now = utc_now()
    if not any(key.usable(now) for key in memory.admin.api_keys()):
        raise InvalidSetting(
            f"Serving on {settings.host} needs an API key.",
            fix="Create one with: everyword keys create NAME --space SPACE. Or serve on 127.0.0.1.",
        )


def make_server(
    memory: Memory,
    settings: ServiceSettings,
    *,
    on_ready: Announce | None = None,
    listening: socket.socket | None = None,
) -> MemoryServer:
    """Make a server; its run() serves until stop() is called or a signal arrives."""
    app, service = build(memory, settings)
    return MemoryServer(_uvicorn_config(app, settings), service, listening or settings.listen(), on_ready)


class MemoryServer(uvicorn.Server):
    """A server that announces its address, and ends open streams when it stops."""

    def __init__(
        self, config: uvicorn.Config, service: Service, listening: socket.socket, on_ready: Announce | None
    ) -> None:
        super().__init__(config)
        self._service = service
        self._listening = listening
        self._on_ready = on_ready
        self._told_to_close: set[Any] = set()  # with a None in it from when the server stops

    def run(self, sockets: Any = None) -> None:
        """Serve on the server's own socket."""
        super().run(sockets=[self._listening])

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, and announce the address."""
        await super().startup(sockets)
        self._listening.listen(BACKLOG)
        self._watching = asyncio.create_task(self._watch_connections())
        if self._on_ready is not None:
            self._on_ready(address_of(self._listening))

    async def shutdown(self, sockets: Any = None) -> None:
        """Accept no more connections, and finish pending requests."""
        self._told_to_close = {None, *self.server_state.connections}
        try:
            await super().shutdown(sockets)
        finally:
            self._watching.cancel()

    def stop(self) -> None:
        """Answer pending requests, then end. Callable from any thread."""
        # Streams never end by themselves, so end them before uvicorn waits for pending requests.
        self._service.poller.stop()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal, which uvicorn would raise again, so that the memory can be closed."""
        self.force_exit = self.should_exit and sig == signal.SIGINT  # the second Ctrl-C stops without waiting
        self.stop()

    async def _watch_connections(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            connections: set[Any] = self.server_state.connections
            for one in list(connections):
                one.check_progress(stopping=self.should_exit)
            # uvicorn tells each connection once that the server shuts down. A connection accepted at that very moment
            # is missed: it would be served on, and then be cut off in the middle of a request.
            for late in connections - self._told_to_close if self._told_to_close else ():
                self._told_to_close.add(late)
                late.shutdown()


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
        # asyncio accepts this many before any is counted; MemoryServer.startup sets the real backlog.
        backlog=_ACCEPTED_AT_ONCE,
        ws="none",
    )


def _wait_for_memory(
    open_memory: Callable[[], Memory], settings: ServiceSettings, listening: socket.socket
) -> Memory | None:
    """Retry opening a memory while the address answers 503; return None if told to stop.

    The socket stays open, so that no client is turned away before the memory is served.
    """
    waiting = ThreadingHTTPServer(("", 0), _WaitingHandler, bind_and_activate=False)
    waiting.socket.close()
    waiting.socket = listening.dup()
    waiting.socket.settimeout(_SHARED_ACCEPT_S)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # at once, also while a connection is tried
    threading.Thread(target=waiting.serve_forever, name="everyword-waiting", daemon=True).start()
    try:
        return when_there(open_memory, within_s=settings.wait_for_store_s, stop=threading.Event())
    except KeyboardInterrupt:
        return None
    finally:
        signal.signal(signal.SIGTERM, before)
        waiting.shutdown()
        waiting.server_close()


class _WaitingHandler(BaseHTTPRequestHandler):
    """Answers that the process runs, and that everything else has to wait."""

    timeout = 15.0  # as long as a head may take, see ServiceSettings

    def do_GET(self) -> None:
        # The database's address and error are not shown, since anybody may ask.
        waiting = StoreUnreachable("The service is waiting for its database.", fix="Try again soon.")
        answer = json_response({"ok": True}) if self.path == "/healthz" else error_response(waiting)
        self.send_response_only(answer.status_code)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


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
        self, settings: ServiceSettings, idle: OrderedDict[LimitedProtocol, None], most: int, *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.conn = _StrictConnection(self)
        self._settings = settings
        self._idle = idle
        self._most = most
        self._awaited: Literal["head", "body", ""] = ""
        self._received_since = 0.0  # the start of a head, or of a window of a body
        self._received = 0  # bytes of a body in this window
        self._sent_since = 0.0  # the start of a window of a response that the client does not read
        self._unsent = 0  # bytes at the start of this window

    # Connections

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._most and self._idle:
            longest, _ = self._idle.popitem(last=False)
            longest.transport.abort()
        self._idle[self] = None
        self._note_progress()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.pop(self, None)
        super().connection_lost(exc)

    # Requests

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._note_progress()

    def begin_request(self) -> None:
        """Handle a complete head, before uvicorn calls the application."""
        self._idle.pop(self, None)
        if len(self.connections) > self._most:
            error = Overloaded("The service has too many connections.")
            self.app = error_response(error, {"connection": "close"})

    def count_body(self, size: int) -> None:
        self._received += size

    def on_response_complete(self) -> None:
        self._idle[self] = None
        super().on_response_complete()  # this may start the next request
        self._note_progress()

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidInput(self.conn.why or "The request is not valid HTTP."))

    # Time limits

    def _note_progress(self) -> None:
        """Note what is to arrive next, and since when: a first head, the rest of a head, or the rest of a body."""
        state, awaited = self.conn.their_state, ""
        if state is h11.SEND_BODY:
            awaited = "body"
        elif state is h11.IDLE and (self.cycle is None or self.conn.trailing_data[0]):  # pyright: ignore
            awaited = "head"
        if awaited != self._awaited:
            self._awaited, self._received_since, self._received = awaited, self.loop.time(), 0

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sent_since, self._unsent = self.loop.time(), self.transport.get_write_buffer_size()

    def check_progress(self, *, stopping: bool) -> None:
        """Close the connection if its client is too slow."""
        if not self.transport.is_closing():
            self._check_receiving(self.loop.time() - self._received_since)
        if self.flow.write_paused:
            self._check_sending(self.loop.time() - self._sent_since, stopping)

    def _check_receiving(self, waited: float) -> None:
        if self._awaited == "head" and waited >= self._settings.header_timeout_s:
            if self.conn.trailing_data[0]:
                self._refuse(RequestTimeout("The head of the request did not arrive in time."))
            else:
                self.transport.abort()  # nothing was sent
        elif self._awaited == "body" and waited >= self._settings.body_timeout_s:
            # If we paused reading, the client is not too slow.
            if self.flow.read_paused or self._received >= self._settings.min_body_bytes_per_s * waited:
                self._received_since, self._received = self.loop.time(), 0
            else:
                self._refuse(RequestTimeout("The body of the request did not arrive in time."))

    def _check_sending(self, waited: float, stopping: bool) -> None:
        # A stream whose client does not read blocks in the middle of a message. Aborting loses nothing: the client
        # resumes from its position. Other responses are waited for: a slow download is legitimate.
        scope: Any = self.scope
        if stopping and waited >= _SLOW_READER_S and scope["path"] in (STREAM_PATH, MCP_PATH):
            self.transport.abort()
        elif waited >= self._settings.write_timeout_s:
            unsent = self.transport.get_write_buffer_size()
            if self._unsent - unsent < self._settings.min_body_bytes_per_s * waited:
                self.transport.abort()
            self._sent_since, self._unsent = self.loop.time(), unsent

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


def _ambiguous(request: h11.Request) -> str | None:
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" not in names:
        return None
    if b"content-length" in names:
        return "A request has either Content-Length or Transfer-Encoding, not both."
    if request.http_version < b"1.1":
        return "HTTP/1.0 has no Transfer-Encoding."
    return None
