"""What a store must do to tell how much was said over time."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from recollect.core.values import Filter


class Extent(NamedTuple):
    """How many events there are, and when the first and the last one happened, in microseconds."""

    events: int
    first_at: int | None
    last_at: int | None


class ActivityReader(Protocol):
    """Counts of a snapshot's events."""

    def extent(self, space: str, which: Filter) -> Extent:
        """Count the events that a filter lets through, and tell from when to when they are."""
        ...

    def counted(self, space: str, which: Filter, *, begin: int, width: int) -> dict[int, int]:
        """Count events by which part of time they are in: the first begins at `begin`, each is `width` µs long."""
        ...

    def speakers(self, space: str, *, wing: str | None = None, limit: int) -> list[str]:
        """List who spoke, sorted."""
        ...

    def wings(self, space: str, *, limit: int) -> list[str]:
        """List the wings, sorted."""
        ...
