"""uvicorn around the application: it starts, says where, and stops without cutting anybody off."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from recollect.memory import Memory
from recollect.serve.http.app import MCP_PATH, STREAM_PATH, build
from recollect.serve.http.connections import ACCEPTED_AT_ONCE, protocol_for
from recollect.serve.http.log_limits import limit_log
from recollect.serve.http.service import Service
from recollect.serve.http.settings import ServiceSettings

Told = Callable[[str], None]  # the address, once requests are answered

_BACKLOG = 2_048  # connections that may wait to be accepted
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_READ_WITHIN_S = 2.0  # for those who follow to take what was sent last
_LATECOMERS_EVERY_S = 0.1  # time enough for one who has just connected to ask, and then to be answered


def server(memory: Memory, settings: ServiceSettings, *, told: Told | None = None) -> Server:
    """Make a server; its run() serves until it is told to stop."""
    app, service = build(memory, settings)
    return Server(configured(app, settings), service, told)


def configured(app: ASGIApp, settings: ServiceSettings) -> uvicorn.Config:
    """Say how an application is served."""
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
        # Over h11, which is always there, and reads no more than 64 KB before it knows who asks: httptools, where that
        # is installed, takes a header of any length.
        http=protocol_for(settings),
        # asyncio accepts this many before it lets any be counted; Stoppable.startup sets how many may wait.
        backlog=ACCEPTED_AT_ONCE,
        ws="none",
    )


class Stoppable(uvicorn.Server):
    """A server that ends when told to. Unlike uvicorn's own way, the process lives on and can close the memory."""

    async def startup(self, sockets: Any = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for one in self._listening():
            with one:
                one.listen(_BACKLOG)

    def stop(self) -> None:
        """Answer what has been asked, then end; from any thread."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop when told to."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self._told_to_stop) for one in _STOPPING}
        try:
            yield
        finally:
            for one, action in before.items():
                signal.signal(one, action)

    def _listening(self) -> list[socket.socket]:
        """Duplicate the sockets that it listens on."""
        return [one.dup() for server in self.servers for one in server.sockets] if self.started else []

    def _told_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self.should_exit and number == signal.SIGINT:
            self.force_exit = True  # asked a second time: without waiting
        self.stop()


class Server(Stoppable):
    """A server that says when it answers, and sends followers home when it stops."""

    def __init__(self, config: uvicorn.Config, service: Service, told: Told | None) -> None:
        super().__init__(config)
        self._service = service
        self._told = told

    async def startup(self, sockets: Any = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started and self._told is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._told(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        """Let in nobody more, and finish what has begun."""
        beside = [asyncio.create_task(one) for one in (self._turn_away_latecomers(), self._let_go_of_the_deaf())]
        try:
            await super().shutdown(sockets)
        finally:
            for task in beside:
                task.cancel()

    async def _turn_away_latecomers(self) -> None:
        # uvicorn tells each connection once that it is the end. One that was accepted at that very moment is not
        # among them: it would be served on and on, and be cut off in the middle of a request when the time is over.
        told = set(self.server_state.connections)
        while True:
            await asyncio.sleep(_LATECOMERS_EVERY_S)
            for late in self.server_state.connections - told:
                told.add(late)
                late.shutdown()

    async def _let_go_of_the_deaf(self) -> None:
        # One who follows and does not read holds its stream in the middle of a message. It loses nothing: it goes on
        # from its position. Others are waited for: a file may well be fetched slowly.
        while True:
            await asyncio.sleep(_READ_WITHIN_S)
            for connection in list(self.server_state.connections):
                one: Any = connection
                if one.flow.write_paused and one.scope is not None and one.scope["path"] in (STREAM_PATH, MCP_PATH):
                    one.transport.abort()

    def stop(self) -> None:
        """Answer what has been asked, then end; from any thread."""
        # Streams never end by themselves: they are ended first, so that stopping does not wait for them.
        self._service.pulse.stop()
        super().stop()
