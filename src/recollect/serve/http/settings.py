"""How the service is run: where it listens, and how much it takes on. Every default has a reason here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from recollect.core.errors import InvalidSetting
from recollect.core.settings import LONGEST_WAIT_S

DEFAULT_PORT = 7330
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
        for name in ("max_body_bytes", "max_import_bytes", "burst", "asking_threads", "writing_threads"):
            if getattr(self, name) < 1:
                raise InvalidSetting(f"{name} must be at least 1.")
        if self.requests_per_s < 0:
            raise InvalidSetting("requests_per_s must not be negative; 0 is no limit.")
        if not 0 <= self.wait_for_store_s <= LONGEST_WAIT_S:
            raise InvalidSetting(f"wait must be from 0 to {LONGEST_WAIT_S:,} seconds, not {self.wait_for_store_s:g}.")

    @property
    def on_loopback(self) -> bool:
        """Tell whether only this machine can connect."""
        return self.host in LOOPBACK
