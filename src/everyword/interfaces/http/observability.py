"""Metrics in Prometheus text format, and OpenTelemetry traces."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from everyword import __version__
from everyword.extras import need

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds: from reading one row to an answer written by an LLM.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts and durations of requests, and other counters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, int], int] = {}
        self._times: dict[str, tuple[list[int], float]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self.in_flight = 0

    def request(self, operation: str, status: int, seconds: float) -> None:
        """Record an answered request."""
        with self._lock:
            key = (operation, status)
            self._requests[key] = self._requests.get(key, 0) + 1
            buckets, total = self._times.get(operation, ([0] * (len(_BOUNDS) + 1), 0.0))
            buckets[bisect_left(_BOUNDS, seconds)] += 1
            self._times[operation] = (buckets, total + seconds)

    def count(self, name: str, outcome: str) -> None:
        """Increment another counter."""
        with self._lock:
            self._counts[name, outcome] = self._counts.get((name, outcome), 0) + 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """Write all metrics."""
        with self._lock:
            lines = [*self._request_lines(), *self._time_lines(), *self._count_lines()]
        lines += _header("everyword_requests_in_flight", "gauge", "Unanswered requests.")
        lines += [f"everyword_requests_in_flight {self.in_flight}"]
        for name, value in gauges.items():
            lines += [f"# TYPE everyword_{name} gauge", f"everyword_{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _request_lines(self) -> Iterable[str]:
        yield from _header("everyword_requests_total", "counter", "Requests by operation and status.")
        for (operation, status), count in sorted(self._requests.items()):
            yield f'everyword_requests_total{{operation="{operation}",status="{status}"}} {count}'

    def _time_lines(self) -> Iterable[str]:
        name = "everyword_request_seconds"
        yield from _header(name, "histogram", "Time from the request's head to the end of the response.")
        for operation, (buckets, total) in sorted(self._times.items()):
            cumulative = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), buckets, strict=True):
                cumulative += count
                yield f'{name}_bucket{{operation="{operation}",le="{bound}"}} {cumulative}'
            yield f'{name}_sum{{operation="{operation}"}} {total:.6f}'
            yield f'{name}_count{{operation="{operation}"}} {cumulative}'

    def _count_lines(self) -> Iterable[str]:
        for name in sorted({name for name, _ in self._counts}):
            yield f"# TYPE everyword_{name}_total counter"
            for (counter, outcome), count in sorted(self._counts.items()):
                if counter == name:
                    yield f'everyword_{name}_total{{outcome="{outcome}"}} {count}'


def _header(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


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
