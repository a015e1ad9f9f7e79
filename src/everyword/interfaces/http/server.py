"""Serve a memory with uvicorn: wait for the database, announce the address, and finish pending requests at the end."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from everyword.engine.retry import when_there
from everyword.errors import InvalidSetting, StoreUnreachable
from everyword.interfaces.http.app import MCP_PATH, STREAM_PATH, build
from everyword.interfaces.http.connections import ACCEPTED_AT_ONCE, protocol_for
from everyword.interfaces.http.log_limits import limit_log
from everyword.interfaces.http.responses import error_response, json_response
from everyword.interfaces.http.service import Service
from everyword.interfaces.http.settings import ServiceSettings, address_of, address_unavailable
from everyword.memory import Memory
from everyword.types.times import utc_now

Announce = Callable[[str], None]

_BACKLOG = 2_048  # connections that may wait to be accepted
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SLOW_READER_S = 2.0  # time for stream readers to take the last message
_LATE_CONNECTIONS_S = 0.1  # time for a client that has just connected to send its request


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
                one.listen(_BACKLOG)

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
        http=protocol_for(settings),
        # asyncio accepts this many before any is counted; GracefulServer.startup sets the real backlog.
        backlog=ACCEPTED_AT_ONCE,
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
