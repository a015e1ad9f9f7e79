"""Before the memory can be opened: its database may start later than we do. Whoever asks meanwhile is told so."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.core.errors import StoreUnreachable
from recollect.engine.again import when_there
from recollect.serve.http.answers import as_json, packed, refused
from recollect.serve.http.server import Stoppable, configured
from recollect.serve.http.settings import ServiceSettings

if TYPE_CHECKING:
    from recollect.memory import Memory

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def wait_for_memory(
    opened: Callable[[], Memory], settings: ServiceSettings, sockets: Sequence[socket.socket] | None
) -> tuple[Memory | None, list[socket.socket]]:
    """Try again and again, while the address answers that it is waited for.

    Give the memory, or None where told to stop meanwhile, and the sockets, on which nobody was turned away.
    """
    waiting = _Waiting(configured(_app(), settings), opened, settings.wait_for_store_s)
    waiting.run(sockets=None if sockets is None else list(sockets))
    memory = waiting.memory
    if memory is not None and not waiting.interrupted:
        return memory, waiting.listening
    for one in waiting.listening:
        one.close()
    if memory is not None:
        memory.close()
    if waiting.error is not None and not waiting.interrupted:
        raise waiting.error
    return None, []


class _Waiting(Stoppable):
    """A server that ends when the memory is open, or can't be."""

    def __init__(self, config: uvicorn.Config, opened: Callable[[], Memory], within_s: float) -> None:
        super().__init__(config)
        self._opened = opened
        self._within_s = within_s
        self._ended = threading.Event()
        self.listening: list[socket.socket] = []
        self.memory: Memory | None = None
        self.error: Exception | None = None
        self.interrupted = False

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        # Copies: ours are closed when we end, and whoever connects in that moment waits for who comes after us.
        self.listening = self._listening()
        # A thread that the process does not wait for: to connect may take seconds.
        threading.Thread(target=self._open, name="recollect-opening", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        super().stop()

    def _told_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        super()._told_to_stop(number, frame)

    def _open(self) -> None:
        try:
            self.memory = when_there(self._opened, within_s=self._within_s, stop=self._ended)
        except Exception as error:  # whoever waits for us raises it
            self.error = error
        self.stop()


def _app() -> Starlette:
    async def healthz(_: Request) -> Response:
        return packed(as_json({"ok": True}), accepts="")

    async def anything(_: Request) -> Response:
        # Not where it is and what it says: anybody may ask.
        return refused(
            StoreUnreachable("The service waits for its database, which does not answer yet.", fix="Try again soon.")
        )

    return Starlette(routes=[Route("/healthz", healthz), Route("/{path:path}", anything, methods=_METHODS)])
