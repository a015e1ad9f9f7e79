"""Concepts as attention sees them: which events belong to which, and how they hang together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from recollect.fold.density import Topic
from recollect.store.protocol import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Some concepts, and the events among them that belong to each."""

    by_id: Mapping[str, Topic] = field(default_factory=dict[str, Topic])
    of_event: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def topics_of(reader: Reader, space: str, event_ids: Iterable[str]) -> Topics:
    """Find the concepts that some events belong to."""
    return Topics()
