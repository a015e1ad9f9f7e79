"""What operators see: metrics in Prometheus text format, OpenTelemetry traces, the audit log, a limit on log lines."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from everyword import __version__
from everyword.extras import need
from everyword.types.times import utc_now

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds: from reading one row to an answer written by an LLM.
_BOUNDS = ("0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "+Inf")
_METRICS = {
    "everyword_requests_total": ("counter", "Requests by operation and status."),
    "everyword_request_seconds": ("histogram", "Time from the request's head to the end of the response."),
    "everyword_webhook_deliveries_total": ("counter", "Webhook deliveries by outcome."),
}
AUDITED = ("recall", "context", "ask", "wake_up", "window")  # operations that hand out what the memory holds
_LONGEST_QUESTION = 500  # characters
_COUNTED = {"recall": "hits", "context": "citations", "ask": "citations", "wake_up": "citations"}
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


# Metrics and traces


class Metrics:
    """Counts and durations of requests, and other counters, by metric and series."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, Counter[str]] = {name: Counter() for name in _METRICS}
        self.in_flight = 0

    def request(self, operation: str, status: int, seconds: float) -> None:
        """Record an answered request."""
        self.count("everyword_requests_total", f'operation="{operation}",status="{status}"')
        name, label = "everyword_request_seconds", f'operation="{operation}"'
        with self._lock:
            times = self._metrics[name]
            for bound in _BOUNDS:
                times[f'{name}_bucket{{{label},le="{bound}"}}'] += seconds <= float(bound)
            times[f"{name}_sum{{{label}}}"] += seconds  # pyright: ignore[reportArgumentType]
            times[f"{name}_count{{{label}}}"] += 1

    def count(self, name: str, labels: str) -> None:
        """Increment a counter."""
        with self._lock:
            self._metrics[name][f"{name}{{{labels}}}"] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        lines: list[str] = []
        with self._lock:
            for name, (kind, help) in _METRICS.items():
                lines += [f"# HELP {name} {help}", f"# TYPE {name} {kind}"]
                lines += [f"{series} {value}" for series, value in self._metrics[name].items()]
        for name, value in {"requests_in_flight": self.in_flight, **gauges}.items():
            lines += [f"# TYPE everyword_{name} gauge", f"everyword_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class Tracing:
    """Creates a span per request, or does nothing if tracing is off."""

    def __init__(self, enabled: bool) -> None:
        self._tracer: Any = None
        self._propagate: Any = None
        if enabled:
            trace: Any = need("opentelemetry.trace", extra="otel")
            self._propagate = need("opentelemetry.propagate", extra="otel")
            self._tracer = trace.get_tracer("everyword", __version__)

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str]) -> Generator[dict[str, Any]]:
        """Trace the block; entries of the yielded mapping become attributes of the span."""
        attributes: dict[str, Any] = {}
        if self._tracer is None:
            yield attributes
            return
        parent = self._propagate.extract(dict(headers))
        with self._tracer.start_as_current_span(name, context=parent) as span:
            yield attributes
            for key, value in attributes.items():
                span.set_attribute(key, value)


# The audit log


class AuditLog:
    """The last questions. Nothing of it is written to disk; it ends with the process."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._asked: deque[dict[str, Any]] = deque(maxlen=most)
        self._lock = threading.Lock()

    def note(
        self,
        *,
        who: str,
        via: str,
        operation: str,
        space: str,
        arguments: Mapping[str, Any],
        result: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep a question, if the log is on and the operation hands something out.

        who: the name of the key, or "local". via: "http" or "mcp".
        """
        if not self.most or operation not in AUDITED:
            return
        quotes = None if result is None else result.get(_COUNTED.get(operation, ""))
        asked: dict[str, Any] = {"at": utc_now().isoformat(), "who": who, "via": via}
        asked |= {"operation": operation, "space": space}
        asked["question"] = str(arguments.get("query") or arguments.get("topic") or "")[:_LONGEST_QUESTION]
        asked["quotes"] = None if quotes is None else len(quotes)  # handed out; None where that is not known
        asked["tokens"] = None if result is None else result.get("tokens")
        with self._lock:
            self._asked.append(asked)

    def forget(self, space: str, receipt: Mapping[str, Any]) -> None:
        """Drop the entries of a space of which something was forgotten: a question may still name it."""
        if receipt.get("dry_run") or not any(receipt.get("removed", {}).values()):
            return
        with self._lock:
            kept = [one for one in self._asked if one["space"] != space]
            self._asked.clear()
            self._asked.extend(kept)

    def document(self, space: str) -> dict[str, Any]:
        """List the questions in a space, the latest first."""
        with self._lock:
            asked = [one for one in reversed(self._asked) if one["space"] == space]
        return {"on": self.most > 0, "most": self.most, "asked": asked}


# Log lines


class LogRateLimit(logging.Filter):
    """Pass a few records a minute from each line of code, and report how many were dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, int], tuple[float, int]] = {}  # by line of code: start, records since

    def filter(self, record: logging.LogRecord) -> bool:
        place, now = (record.pathname, record.lineno), time.monotonic()
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
