"""Limit how often each line of code writes to the log, so that clients can't fill the disk."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_MOST_A_WINDOW = 10  # records
_WINDOW_S = 60.0
# Loggers that write because of client input. asyncio logs errors of its protocols and failed accepts.
_LOGGERS = (
    "everyword.interfaces",
    "uvicorn.error",
    "asyncio",
    "mcp.server.lowlevel.server",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
)


class LogRateLimit(logging.Filter):
    """Pass a few records a minute from each line of code, and report how many were dropped."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, int], tuple[float, int]] = {}  # by line of code: start, records since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record."""
        place, now = (record.pathname, record.lineno), self._clock()
        with self._lock:
            began, count = self._windows.get(place, (now, 0))
            dropped = max(count - _MOST_A_WINDOW, 0)
            if now - began >= _WINDOW_S:
                began, count = now, 0
            self._windows[place] = (began, count + 1)
        if count == 0 and dropped:
            _add(record, f"({dropped:,} similar messages were dropped)")
        elif count + 1 == _MOST_A_WINDOW:
            _add(record, f"(similar messages are dropped for {_WINDOW_S:g} s)")
        return count < _MOST_A_WINDOW


def limit_log() -> None:
    """Limit the log records that clients can cause; once per process."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_LIMIT)


def _add(record: logging.LogRecord, note: str) -> None:
    record.msg, record.args = f"{record.getMessage()} {note}", ()


_LIMIT = LogRateLimit()
