"""Settings of the service: where it listens, and its limits, each with the reason for its default."""

from __future__ import annotations

import os
import socket as sockets
from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import fields, replace

from everyword.errors import BadLocation, InvalidSetting
from everyword.settings import LONGEST_WAIT_S

BACKLOG = 2_048  # connections that may wait to be accepted
_MAX_LIMIT = 2**40  # a larger value is surely a typo
_MAX_AUDITED = 10_000  # questions; each takes up to a kilobyte of memory
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_OWN_OPTIONS = ("port", "requests_per_s", "wait_for_store_s", "audit")  # of `everyword serve`; numbers, but no limits


class ServiceSettings(Struct, frozen=True, kw_only=True):
    """Where the service listens, what it runs, and its limits."""

    host: str = "127.0.0.1"
    port: int = 7330
    # The file descriptor of a listening socket, which several processes share.
    socket: int | None = None
    # The largest text that a memory accepts (16 MiB), with room for JSON escapes.
    max_body_bytes: int = 24 * 1024 * 1024
    # An import is spooled to disk and read in batches.
    max_import_bytes: int = 1024 * 1024 * 1024
    # Per key. An agent sends a few requests a second; more than this is a runaway loop. 0: no limit.
    requests_per_s: float = 50.0
    # Requests allowed at once before the rate applies: a page that loads, a batch that starts.
    burst: int = 200
    # Concurrent questions. Each keeps about one core busy; one more hides waits for the disk.
    asking_threads: int = field(default_factory=lambda: (os.cpu_count() or 2) + 1)
    # Concurrent writes. Each embeds its events before it takes the write lock; more would compete with questions.
    writing_threads: int = 2
    # Larger writes go to a pool of their own. Embedding about this much text takes a second.
    large_request_bytes: int = 8 * 1024
    # Large writes per key that run or wait. Each holds its text in memory.
    most_large_of_a_key: int = 16
    # Unanswered requests per key: half of the burst. Streams have a limit of their own.
    most_requests_of_a_key: int = 100
    # Requests that wait for a thread. At tens of milliseconds each, later ones would wait for half a minute.
    most_waiting: int = 1_000
    # Open /v1/stream connections. Each costs a task and one read per change.
    most_streams: int = 500
    # Per key: enough for a large office that shares one key, while other keys still find room.
    most_streams_of_a_key: int = 50
    # Open connections, streams included; fewer if the process may open fewer files. Beyond this, the longest idle
    # connection is closed.
    most_connections: int = 2_000
    # Time for the head of a request to arrive. No network takes longer for 64 KB.
    header_timeout_s: float = 15.0
    # A body slower than min_body_bytes_per_s for this long is rejected.
    body_timeout_s: float = 20.0
    # The same for a response that the client does not read; longer, since a laptop may sleep during a download.
    write_timeout_s: float = 60.0
    # The minimum rate of both: a tenth of the slowest mobile network.
    min_body_bytes_per_s: int = 500
    # How long an idle connection stays open: longer than proxies keep theirs, so that they close first.
    idle_timeout_s: int = 65
    # How long pending requests may take to finish when the service stops.
    stop_within_s: int = 30
    # How long to wait for a database server that starts at the same time. After that, a supervisor may restart us.
    # 0: fail at once.
    wait_for_store_s: float = 60.0
    # Whether this process runs queued work (vectors, readings, webhooks).
    worker: bool = True
    # Whether MCP is served at /mcp, if its package is installed.
    mcp: bool = True
    # How many of the last questions the audit log keeps in memory. 0: none.
    audit: int = 0
    # Whether requests are traced with OpenTelemetry.
    tracing: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InvalidSetting(f"port must be from 0 to 65535, not {self.port}.")
        for name in LIMITS:
            value: float = getattr(self, name)
            if not 0 < value <= _MAX_LIMIT:  # also rejects NaN
                raise InvalidSetting(f"{name} must be more than 0 and at most {_MAX_LIMIT:,}, not {value:g}.")
        if not 0 <= self.audit <= _MAX_AUDITED:
            raise InvalidSetting(f"audit must be from 0 to {_MAX_AUDITED:,}, not {self.audit}.")
        if self.requests_per_s < 0:
            raise InvalidSetting("requests_per_s must not be negative; 0 means no limit.")
        if not 0 <= self.wait_for_store_s <= LONGEST_WAIT_S:
            raise InvalidSetting(f"wait must be from 0 to {LONGEST_WAIT_S:,} seconds, not {self.wait_for_store_s:g}.")

    def with_limits(self, limits: Iterable[str]) -> ServiceSettings:
        """Return a copy with limits changed, each given as NAME=VALUE."""
        kinds = {one.name: one.type for one in fields(self) if one.name in LIMITS}
        changed: dict[str, float] = {}
        for text in limits:
            name, _, value = text.partition("=")
            if name not in kinds:
                raise InvalidSetting(f"Unknown limit {name[:80]!r}.", fix=f"Valid limits: {', '.join(LIMITS)}.")
            try:
                changed[name] = int(value) if kinds[name] is int else float(value)
            except ValueError as error:
                raise InvalidSetting(f"{name} must be a number, not {value[:40]!r}.") from error
        return replace(self, **cast("dict[str, Any]", changed))

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in LOOPBACK

    def listen(self) -> sockets.socket:
        """Bind the address, or take the socket that several processes share."""
        number = self.socket
        try:
            if number is None:
                found = sockets.getaddrinfo(self.host, self.port, type=sockets.SOCK_STREAM)
                family = min(one[0] for one in found)  # IPv4 before IPv6, where localhost is both
                number = sockets.create_server((self.host, self.port), family=family, backlog=BACKLOG).detach()
            # A socket made from its number knows that it is TCP; with others, asyncio leaves TCP_NODELAY off.
            return sockets.socket(fileno=number)
        except OSError as error:
            raise BadLocation(
                f"Can't listen on {self.host}:{self.port}.",
                fix="Choose another port with --port, or an address of this machine with --host.",
            ) from error


# Settings that `everyword serve --limit NAME=VALUE` changes.
LIMITS = tuple(one.name for one in fields(ServiceSettings) if one.type in (int, float) and one.name not in _OWN_OPTIONS)


def address_of(listening: sockets.socket) -> str:
    """Write the URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
