"""The HTTP service: the table of operations as routes, with keys, a feed, webhooks, MCP and the web page.

Everything heavy is imported late: `recollect serve --help` reads only this and the settings.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.core.clock import utc_now
from recollect.core.errors import BadLocation, InvalidSetting, StoreUnreachable
from recollect.core.extras import need
from recollect.serve.http.settings import ServiceSettings

if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["ServiceSettings", "check_reach", "run", "run_when_there"]

Say = Callable[[str], None]

OTHER_ADDRESS = "Choose another port with --port, or with --host an address of this machine."


def run(
    memory: Memory,
    settings: ServiceSettings,
    *,
    told: Say | None = None,
    listening: Sequence[socket.socket] | None = None,
) -> None:
    """Serve a memory until the process is told to stop; what has begun is finished first.

    told: called with the address once requests are answered. listening: sockets to serve on.
    """
    _need_packages()
    check_reach(memory, settings)
    from recollect.serve.http.server import server

    with _address_or_error(settings):
        server(memory, settings, told=told).run(sockets=_sockets(settings) if listening is None else list(listening))


def run_when_there(
    opened: Callable[[], Memory], settings: ServiceSettings, *, told: Say | None = None, waits: Say | None = None
) -> None:
    """Open a memory and serve it; where its database is not there yet, answer that it is waited for.

    waits: called with what is wrong, once, where it has to be waited for.
    """
    try:
        memory, listening = opened(), None
    except StoreUnreachable as error:
        if not settings.wait_for_store_s:
            raise
        if waits is not None:
            waits(f"Waiting for the database, {settings.wait_for_store_s:g} s at most. {error}")
        _need_packages()
        from recollect.serve.http.waiting import wait_for_memory

        with _address_or_error(settings):
            memory, listening = wait_for_memory(opened, settings, _sockets(settings))
        if memory is None:  # told to stop meanwhile
            return
    with memory:
        run(memory, settings, told=told, listening=listening)


def check_reach(memory: Memory, settings: ServiceSettings) -> None:
    """Refuse to serve others than this machine where nobody would need a key."""
    if settings.on_loopback:
        return
    now = utc_now()
    if not any(key.usable(now) for key in memory.api_keys()):
        raise InvalidSetting(
            f"A memory that is served on {settings.host} needs a key.",
            fix="Make one with: recollect keys create NAME. Or serve on 127.0.0.1.",
        )


def _need_packages() -> None:
    for package in ("starlette", "uvicorn"):
        need(package, extra="serve")


def _sockets(settings: ServiceSettings) -> list[socket.socket] | None:
    return None if settings.socket is None else [socket.socket(fileno=settings.socket)]


@contextmanager
def _address_or_error(settings: ServiceSettings) -> Generator[None]:
    try:
        yield
    except SystemExit as error:  # how uvicorn says that the address is taken
        raise BadLocation(f"{settings.host}:{settings.port} can't be served on.", fix=OTHER_ADDRESS) from error
