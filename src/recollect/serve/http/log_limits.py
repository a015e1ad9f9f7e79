"""Limit how often one place in the code writes to the log, so that clients can't fill the disk with it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_MOST_A_WINDOW = 10  # records: enough to see what happens
_WINDOW_S = 60.0
# Who writes because of what clients send. asyncio reports what its protocols raise, and failed accepts.
_LOGGERS = (
    "recollect.serve",
    "uvicorn.error",
    "asyncio",
    "mcp.server.lowlevel.server",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
)


class LogRateLimit(logging.Filter):
    """Let through a few records a minute from each line of code; say how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, int], tuple[float, int]] = {}  # by place: when it began, records since

    def filter(self, record: logging.LogRecord) -> bool:
        """Decide on a record."""
        place, now = (record.pathname, record.lineno), self._clock()
        with self._lock:
            began, count = self._windows.get(place, (now, 0))
            left_out = max(count - _MOST_A_WINDOW, 0)
            if now - began >= _WINDOW_S:
                began, count = now, 0
            self._windows[place] = (began, count + 1)
        if count == 0 and left_out:
            _add(record, f"({left_out:,} more like this were left out)")
        elif count + 1 == _MOST_A_WINDOW:
            _add(record, f"(more like this are left out for {_WINDOW_S:g} s)")
        return count < _MOST_A_WINDOW


def limit_log() -> None:
    """Limit what clients can make the service log; once for the process."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_LIMIT)


def _add(record: logging.LogRecord, note: str) -> None:
    record.msg, record.args = f"{record.getMessage()} {note}", ()


_LIMIT = LogRateLimit()
