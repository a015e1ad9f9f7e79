"""The HTTP service: the table of operations as routes, with keys, a feed, webhooks, MCP and the web page.

Everything heavy is imported late: `recollect serve --help` reads only this and the settings.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.core.clock import utc_now
from recollect.core.errors import BadLocation, InvalidSetting
from recollect.core.extras import need
from recollect.serve.http.settings import ServiceSettings

if TYPE_CHECKING:
    from recollect.memory import Memory

__all__ = ["ServiceSettings", "check_reach", "run"]


def run(memory: Memory, settings: ServiceSettings, *, told: Callable[[str], None] | None = None) -> None:
    """Serve a memory until the process is told to stop; what has begun is finished first.

    told: called with the address once requests are answered.
    """
    for package in ("starlette", "uvicorn"):
        need(package, extra="serve")
    check_reach(memory, settings)
    from recollect.serve.http.server import server

    try:
        sockets = None if settings.socket is None else [socket.socket(fileno=settings.socket)]
        server(memory, settings, told=told).run(sockets=sockets)
    except SystemExit as error:  # how uvicorn says that the address is taken
        raise BadLocation(
            f"{settings.host}:{settings.port} can't be served on.", fix="Choose another port with --port."
        ) from error


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
