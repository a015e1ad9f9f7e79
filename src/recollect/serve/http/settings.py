"""How the service is run: where it listens, and how much it takes on. Every default has a reason here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from recollect.core.errors import InvalidSetting
from recollect.core.settings import LONGEST_WAIT_S

DEFAULT_PORT = 7330
_MOST = 2**40  # of any limit: more is a slip of the pen
LOOPBACK = ("127.0.0.1", "localhost", "::1")

# Settings that `recollect serve --limit NAME=VALUE` changes.
LIMITS = (
    "max_body_bytes",
    "max_import_bytes",
    "burst",
    "asking_threads",
    "writing_threads",
    "large_request_bytes",
    "most_large_of_a_key",
    "most_requests_of_a_key",
    "most_waiting",
    "most_streams",
    "most_streams_of_a_key",
    "most_connections",
    "header_timeout_s",
    "body_timeout_s",
    "write_timeout_s",
    "min_body_bytes_per_s",
    "idle_timeout_s",
    "stop_within_s",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The limits and choices of a service."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    # A socket that listens already, by its number: several processes share one.
    socket: int | None = None
    # The largest text that a memory takes (16 MiB), and room for JSON's escapes.
    max_body_bytes: int = 24 * 1024 * 1024
    # An import is spooled to disk and read in batches.
    max_import_bytes: int = 1024 * 1024 * 1024
    # Of one key. An agent asks a few times a second at most; this many are a loop that went wrong. 0: no limit.
    requests_per_s: float = 50.0
    # How many may come at once before the rate counts: a page that loads, a batch that starts.
    burst: int = 200
    # Questions that are worked on at a time: each keeps about a core busy; one more hides the waits for the disk.
    asking_threads: int = field(default_factory=lambda: (os.cpu_count() or 2) + 1)
    # Writes embed their events before they queue for the turn to write; more would only compete with questions.
    writing_threads: int = 2
    # Bytes of a write above which it goes to the lane of large ones. About this much text takes a second to embed.
    large_request_bytes: int = 8 * 1024
    # Large writes of one key that may run or wait: each holds its text in memory.
    most_large_of_a_key: int = 16
    # Requests of one key that have no answer yet: half of the burst. Streams are counted by themselves.
    most_requests_of_a_key: int = 100
    # Requests that may wait for a thread. At tens of milliseconds each, those behind would wait for half a minute.
    most_waiting: int = 1_000
    # Connections that follow /v1/stream: each costs a task and one read for each change.
    most_streams: int = 500
    # Of one key: a program on each desk of a large office, while the other keys still find room.
    most_streams_of_a_key: int = 50
    # Connections at a time, streams included; fewer where the process may open fewer files. Beyond, the one that has
    # been idle longest is closed.
    most_connections: int = 2_000
    # For the head of a request to arrive, and for a new connection to send one: no network takes longer for 64 KB.
    header_timeout_s: float = 15.0
    # A body that brings less than the least rate for this long is given up.
    body_timeout_s: float = 20.0
    # The same for an answer that is not read; longer, since a laptop may sleep over a download.
    write_timeout_s: float = 60.0
    # The least rate of both: a tenth of the slowest mobile network.
    min_body_bytes_per_s: int = 500
    # How long a connection may stay open without a request: longer than proxies keep theirs, so that it is never we who
    # close first.
    idle_timeout_s: int = 65
    # How long requests that have begun may take to finish when the service is told to stop.
    stop_within_s: int = 30
    # How long a database server may take to come up beside us: machines start in minutes, containers in seconds. What
    # starts us may then start us again. 0: it must be there.
    wait_for_store_s: float = 60.0
    # Whether waiting work (vectors, readings, webhooks) is done here.
    worker: bool = True
    # Whether MCP is served at /mcp, where its package is installed.
    mcp: bool = True
    # Whether requests are traced by OpenTelemetry.
    tracing: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InvalidSetting(f"port must be from 0 to 65535, not {self.port}.")
        for name in LIMITS:
            value: float = getattr(self, name)
            if not 0 < value <= _MOST:  # also refuses what is no number (nan)
                raise InvalidSetting(f"{name} must be more than 0, and at most {_MOST:,}, not {value:g}.")
        if self.requests_per_s < 0:
            raise InvalidSetting("requests_per_s must not be negative; 0 is no limit.")
        if not 0 <= self.wait_for_store_s <= LONGEST_WAIT_S:
            raise InvalidSetting(f"wait must be from 0 to {LONGEST_WAIT_S:,} seconds, not {self.wait_for_store_s:g}.")

    def with_limits(self, given: Iterable[str]) -> ServiceSettings:
        """Change limits that are written as NAME=VALUE."""
        kinds = {one.name: one.type for one in fields(self) if one.name in LIMITS}
        changed: dict[str, float] = {}
        for text in given:
            name, _, value = text.partition("=")
            if name not in kinds:
                raise InvalidSetting(f"There is no limit {name[:80]!r}.", fix=f"Known: {', '.join(LIMITS)}.")
            try:
                changed[name] = int(value) if kinds[name] == "int" else float(value)
            except ValueError as error:
                raise InvalidSetting(f"{name} must be a number, not {value[:40]!r}.") from error
        return replace(self, **cast("dict[str, Any]", changed))

    @property
    def on_loopback(self) -> bool:
        """Tell whether only this machine can connect."""
        return self.host in LOOPBACK
