"""How much was said over time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The events of a span of time, counted in equal parts of it, and who and what there is to choose from."""

    begin: datetime | None  # None where nothing was said
    end: datetime | None
    events: int
    counts: tuple[int, ...]  # of each part, the earliest first
    speakers: tuple[str, ...]  # of all times
    wings: tuple[str, ...]
