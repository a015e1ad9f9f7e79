"""What a store must do for the concept graph: keep every version, tell how it was, and take changes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.core.folding import Concept, ConceptEdge, Debt, EdgeKind, JournalEntry
from recollect.core.values import Json

if TYPE_CHECKING:
    from recollect.store.protocol import Model

COUNTED = 0.5  # weight from which on an event counts for a concept; below, it was only put beside it


class FoldMark(NamedTuple):
    """How far a space is folded."""

    upto: int  # seq of the last event that is folded
    epoch: int  # moves when something is taken back: what a process remembers of the graph is void then
    profile: str  # name and version of the profile, and the model whose vectors were used


class Act(NamedTuple):
    """What a change of a row is due to."""

    seq: int  # of the event that caused it
    at: int  # microseconds: when the memory learned of that event
    entry: int  # number of the entry in the journal


class Member(NamedTuple):
    """An event that belongs to a concept."""

    concept: str
    seq: int
    event_id: str
    kind: EdgeKind
    weight: float
    at: int  # microseconds: when it happened
    born: int  # seq of the event that brought it there
    reason: str


class WorkRow(NamedTuple):
    """A concept at work, as it is kept for the next process."""

    id: str
    body: Mapping[str, Json]
    size: int
    touched: int
    last_at: int
    total: bytes
    recent: str  # JSON


class LooseRow(NamedTuple):
    """An event that looks for company."""

    seq: int
    at: int
    vector: bytes
    body: str  # JSON


class EdgeRow(NamedTuple):
    """One support of an edge."""

    source: str
    target: str
    kind: EdgeKind
    weight: float
    seq: int
    at: int
    reason: str


class Undone(NamedTuple):
    """What taking a change back touched."""

    concepts: frozenset[str]
    edges: tuple[tuple[str, str, str], ...]  # that were closed: source, target, kind
    events: frozenset[int]  # whose belonging changed


class FoldingReader(Protocol):
    """The concept graph of a snapshot. `as_of` is what was known at a time, in microseconds; None for now."""

    def fold_mark(self, space: str) -> FoldMark | None:
        """Tell how far a space is folded; None where nothing is."""
        ...

    def fold_waiting(self, space: str, upto: int) -> int:
        """Count the events behind a seq."""
        ...

    def vectors_owed_from(self, space: str) -> int | None:
        """Tell the first event whose vectors are still owed."""
        ...

    def pooled(self, space: str, model: Model, seqs: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        """Read the pooled vectors of some events, of each its first window."""
        ...

    def concepts(
        self, space: str, *, wing: str | None = None, as_of: datetime | None = None, after: int = 0, limit: int
    ) -> list[tuple[int, Concept]]:
        """List concepts of a wing, or of a time, in the order in which they were last worded, from behind a number."""
        ...

    def strongest_concepts(self, space: str, *, limit: int) -> list[Concept]:
        """List those that stand now, the strongest and freshest first; the wings of their events are not told."""
        ...

    def concept_wings(self, space: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Tell the wings of the events of some concepts; a concept without any is left out."""
        ...

    def concepts_by_id(
        self, space: str, ids: Sequence[str], *, wing: str | None = None, as_of: datetime | None = None
    ) -> dict[str, Concept]:
        """Look concepts up, also closed ones, by their latest wording."""
        ...

    def standing_concepts(self, space: str, ids: Sequence[str]) -> dict[str, Concept]:
        """Look up those that stand now, whatever the wing; the wings of their events are not told."""
        ...

    def concept_body(self, space: str, id: str) -> Mapping[str, Json]:
        """Read how a concept was last worded, as it was put."""
        ...

    def concept_stands(self, space: str, id: str) -> bool:
        """Tell whether a concept is there and not closed."""
        ...

    def concept_count(self, space: str) -> int:
        """Count the concepts that stand."""
        ...

    def concept_of_label(self, space: str, label: str) -> str | None:
        """Find the concept with a label."""
        ...

    def members(self, space: str, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Member]:
        """Read the events of some concepts, in the order in which they came to belong there."""
        ...

    def members_by(self, space: str, number: int) -> list[Member]:
        """Read the events that an entry of the journal brought to concepts, in the order of number."""
        ...

    def recent_members(self, space: str, id: str, *, limit: int) -> list[int]:
        """List the latest events that count for a concept, the oldest of them first."""
        ...

    def member_reach(self, space: str, id: str) -> tuple[int, int]:
        """Tell when the latest event happened that ever counted for a concept, and the seq that last changed which do.

        Events that left it are among them: what a concept knows of its past does not hang on whether it was read back.
        """
        ...

    def held_by(self, space: str, seqs: Sequence[int], *, as_of: datetime | None = None) -> dict[int, dict[str, float]]:
        """Tell which concepts hold some events, and how strongly."""
        ...

    def concept_edges(
        self, space: str, ids: Sequence[str], *, as_of: datetime | None = None, among: bool = False
    ) -> list[ConceptEdge]:
        """Read the edges between some concepts and others, each with all that supports it; among: of these alone."""
        ...

    def concept_linked(self, space: str, id: str) -> bool:
        """Tell whether any edge joins a concept to another."""
        ...

    def concept_neighbours(
        self, space: str, ids: Sequence[str], *, as_of: datetime | None = None
    ) -> list[tuple[str, str]]:
        """Tell which concepts an edge of some kind joins, where one end is one of these; each pair once."""
        ...

    def fold_journal(
        self, space: str, *, node: str | None = None, before: int | None = None, limit: int
    ) -> list[tuple[int, JournalEntry]]:
        """Read the journal, the newest first; of one node, all of its story."""
        ...

    def fold_entries(self, space: str, *, after: int, limit: int) -> list[tuple[int, JournalEntry]]:
        """Read the journal in its order, from behind a number."""
        ...

    def fold_steps(self, space: str, seq: int) -> int:
        """Count the entries that an event caused."""
        ...

    def fold_entry(self, space: str, id: str) -> tuple[int, JournalEntry] | None:
        """Look an entry up."""
        ...

    def fold_work(self, space: str, *, limit: int) -> list[WorkRow]:
        """Read the concepts that were last confirmed, the oldest first."""
        ...

    def fold_work_of(self, space: str, id: str) -> WorkRow | None:
        """Read one concept that stands."""
        ...

    def fold_loose(self, space: str) -> list[LooseRow]:
        """Read the events that look for company, in order."""
        ...

    def kept_apart(self, space: str) -> list[tuple[str, str]]:
        """Read who was told to stay apart."""
        ...


class FoldingWriter(FoldingReader, Protocol):
    """Changes to the concept graph, within a transaction."""

    def set_fold_mark(self, space: str, mark: FoldMark) -> None:
        """Note how far a space is folded."""
        ...

    def put_entry(self, space: str, seq: int, at: int, entry: JournalEntry) -> int:
        """Write an entry of the journal; tell its number."""
        ...

    def put_node(self, space: str, act: Act, id: str, body: Mapping[str, Json]) -> None:
        """Word a concept, for the first time or anew; the wording before is closed."""
        ...

    def close_node(self, space: str, act: Act, id: str, *, into: str | None = None) -> None:
        """Close a concept with all its edges; where it was absorbed, they lead to the other from now on."""
        ...

    def put_concept_edges(self, space: str, act: Act, edges: Iterable[EdgeRow]) -> None:
        """Add supports of edges."""
        ...

    def close_concept_edge(self, space: str, act: Act, source: str, target: str, kind: EdgeKind) -> None:
        """Close an edge."""
        ...

    def undo_entry(self, space: str, act: Act, number: int) -> Undone:
        """Close what an entry added, and add again what it closed."""
        ...

    def keep_apart(self, space: str, seq: int, pairs: Iterable[tuple[str, str]]) -> None:
        """Note who is to stay apart from an event on."""
        ...

    def put_work(self, space: str, row: WorkRow) -> None:
        """Keep a concept at work."""
        ...

    def drop_work(self, space: str, id: str) -> None:
        """Keep it no more."""
        ...

    def put_loose(self, space: str, row: LooseRow) -> None:
        """Note an event that looks for company."""
        ...

    def settle_loose(self, space: str, seqs: Iterable[int], *, by: int) -> None:
        """Note that some look no more, from an event on."""
        ...

    def roll_back_folding(self, space: str, seq: int) -> list[str]:
        """Take back all that an event and those after it caused; list the concepts whose sums must be made anew."""
        ...


__all__ = [
    "COUNTED",
    "Act",
    "Debt",
    "EdgeRow",
    "FoldMark",
    "FoldingReader",
    "FoldingWriter",
    "LooseRow",
    "Member",
    "Undone",
    "WorkRow",
]
