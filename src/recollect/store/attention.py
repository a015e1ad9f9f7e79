"""What a store must do for attention: keep marks of events, and count how often events were recalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.core.artifacts import Artifact, ArtifactKind
from recollect.core.values import Json, Span


class MarkRow(NamedTuple):
    """A place in an event that attention rests on."""

    seq: int
    kind: str
    span: Span
    body: Mapping[str, Json]


class Access(NamedTuple):
    """How often an event was found, and when last, in microseconds."""

    times: int
    last_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkFilter:
    """Which marks count. None means any."""

    wing: str | None = None
    as_of: datetime | None = None  # of events that were known then


class AttentionReader(Protocol):
    """The marks of a snapshot."""

    def marks(self, space: str, kind: str, which: MarkFilter, *, limit: int) -> list[MarkRow]:
        """Read marks of one kind, those of the newest events first."""
        ...

    def marked_after(self, space: str, kinds: Sequence[str], *, after: int, limit: int) -> list[int]:
        """List the events with a mark of these kinds, in the order in which they arrived, from behind one."""
        ...

    def newest_artifacts(self, space: str, kinds: Sequence[ArtifactKind], *, limit: int) -> list[tuple[int, Artifact]]:
        """Read statements of some kinds, whether they still count or not, the newest first, each with its event."""
        ...

    def newest_events(self, space: str, wing: str | None, *, as_of: datetime | None = None, limit: int) -> list[int]:
        """List the events that happened last, the newest first; as_of: of those that were known then."""
        ...

    def wing_counts(self, space: str, *, as_of: datetime | None = None) -> dict[str | None, int]:
        """Count the events of each wing; None: those of no wing. as_of: of those that were known then."""
        ...

    def marked_upto(self, space: str) -> int | None:
        """Tell up to which event a space is marked; None where nothing is behind."""
        ...

    def accesses(self, space: str, seqs: Sequence[int]) -> dict[int, Access]:
        """Tell how often some events were recalled; those that never were are left out."""
        ...

    def most_recalled(self, space: str, *, limit: int) -> list[int]:
        """List the events that were recalled most often."""
        ...


class AttentionWriter(AttentionReader, Protocol):
    """Changes to marks, within a transaction."""

    def put_marks(self, space: str, marks: Sequence[MarkRow]) -> None:
        """Keep the marks of events that have none yet."""
        ...

    def drop_marks(self, space: str) -> None:
        """Remove all marks of a space, to be read anew."""
        ...

    def owe_marks(self, space: str, upto: int | None) -> None:
        """Note up to which event a space is marked; None: all of it is."""
        ...

    def put_accesses(self, space: str, found: Mapping[int, Access]) -> None:
        """Add to the counts of events that are still there."""
        ...
