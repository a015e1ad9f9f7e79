"""OpenTelemetry, for those who ask for it: a span a request, with the operation and how it ended."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from recollect import __version__
from recollect.core.extras import need

_EXTRA = "otel"


class Tracing:
    """Makes spans, or nothing at all."""

    def __init__(self, wanted: bool) -> None:
        self._tracer: Any = None
        self._propagate: Any = None
        if wanted:
            trace: Any = need("opentelemetry.trace", extra=_EXTRA)
            self._propagate = need("opentelemetry.propagate", extra=_EXTRA)
            self._tracer = trace.get_tracer("recollect", __version__)

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str]) -> Generator[dict[str, Any]]:
        """Trace what happens inside; what is put into the mapping becomes attributes."""
        told: dict[str, Any] = {}
        if self._tracer is None:
            yield told
            return
        parent = self._propagate.extract(dict(headers))
        with self._tracer.start_as_current_span(name, context=parent) as span:
            yield told
            for key, value in told.items():
                span.set_attribute(key, value)
