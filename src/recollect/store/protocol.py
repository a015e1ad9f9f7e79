"""What a store must do.

A store gives two things: a `Reader`, which is one consistent snapshot, and a `Writer`, which is one transaction that
commits whole or not at all. Above this line nobody knows SQL; below it nobody knows what an embedder or a recipe is.

Events are named by `seq`, the order of their arrival in the store; ids and keys are for callers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.core.values import Event, Filter, Json, Problem, Receipt, Session, Span
from recollect.store.activity import ActivityReader
from recollect.store.artifacts import ArtifactReader, ArtifactWriter
from recollect.store.attention import AttentionReader, AttentionWriter
from recollect.store.folding import FoldingReader, FoldingWriter
from recollect.store.graph import GraphReader, GraphWriter
from recollect.store.imports import ImportReader, ImportWriter
from recollect.store.postings import Ranking, Seqs, Terms
from recollect.store.service import ServiceReader, ServiceWriter
from recollect.store.tables import TableReader, TableWriter
from recollect.store.written import WrittenReader, WrittenWriter

EMBED = "embed"  # the kind of job that gives an event its vectors
IN_MEMORY = ":memory:"  # the location of a store that lives and ends with its process


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model whose vectors a store holds."""

    id: int
    name: str
    version: str
    dims: int
    token_dims: int
    state: Literal["active", "building", "retired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitVector:
    """The vectors of one window of an event."""

    span: Span
    pooled: NDArray[np.int8]
    tokens: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event that is ready to be written, with all that its indexes need."""

    event: Event
    raw_id: bytes
    content: bytes
    moment: tuple[int, int]  # when it happened: microseconds, and the offset of its zone in seconds
    terms: Terms
    vectors: tuple[UnitVector, ...] | None = None  # None: they follow by a job
    recorded_at: int | None = None  # microseconds; None: now. An import keeps when the event was first learned.
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])  # secrets that were taken out, by kind


class Cursor(NamedTuple):
    """A place in the order in which things happened."""

    at: int
    seq: int


class Known(NamedTuple):
    """An event that the log has already."""

    seq: int
    event: Event


class Rebuild(NamedTuple):
    """A generation of postings that is being built, and the space's epoch when that began."""

    generation: int
    epoch: int


class Outline(NamedTuple):
    """What ranking must know of an event before its text is read."""

    session: str | None
    speaker: str | None
    role: str | None
    at: int  # microseconds since 1970
    source: str
    recorded_at: int  # likewise

    @property
    def effective_at(self) -> int:
        """Give the time that counts for what is newest: an event dated after it was recorded counts from then."""
        return min(self.at, self.recorded_at)


class PassageRow(NamedTuple):
    """A stored window: whose, where, and its packed token vectors."""

    seq: int
    span: Span
    tokens: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that waits."""

    id: int
    space: str
    kind: str
    seq: int
    attempts: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of what a space holds."""

    events: int = 0
    records: int = 0  # edits, which stand in the log beside the events
    sessions: int = 0
    speakers: int = 0
    wings: int = 0
    first_at: int | None = None
    last_at: int | None = None
    pending: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What a store found when it compared its indexes with its log."""

    checked: Mapping[str, int] = field(default_factory=dict[str, int])
    problems: tuple[Problem, ...] = ()


class Reader(
    ActivityReader,
    ArtifactReader,
    GraphReader,
    ImportReader,
    ServiceReader,
    FoldingReader,
    AttentionReader,
    WrittenReader,
    Protocol,
):
    """One consistent snapshot of a store."""

    def spaces(self) -> list[str]:
        """List the spaces that hold or held events."""
        ...

    def find(self, space: str, raw_ids: Sequence[bytes]) -> dict[bytes, Known]:
        """Look events up by their raw ids."""
        ...

    def find_key(self, space: str, key: str) -> Known | None:
        """Look an event up by the caller's key."""
        ...

    def fetch(self, space: str, seqs: Sequence[int]) -> dict[int, Event]:
        """Read events by seq; those that are gone are left out."""
        ...

    def outlines(self, space: str, seqs: Sequence[int]) -> dict[int, Outline]:
        """Read where events stand and who spoke, without their texts."""
        ...

    def around(self, space: str, seqs: Sequence[int], reach: int) -> list[list[int]]:
        """List for each event of a session the run of up to `reach` events on both sides of it, itself included.

        A run is in the order in which things were said. An event outside any session stands alone.
        """
        ...

    def page(
        self, space: str, which: Filter, *, after: Cursor | None = None, newest_first: bool = False, limit: int
    ) -> list[tuple[Cursor, Event]]:
        """Read some events in the order in which they happened, from behind a cursor; no records."""
        ...

    def log(self, space: str, *, after: int = 0, limit: int) -> list[tuple[int, Event]]:
        """Read the log in the order of arrival, from behind a seq: events, and records among them."""
        ...

    def records(self, space: str, kinds: Sequence[str]) -> list[Known]:
        """Read the records of some kinds, in the order of the log."""
        ...

    def latest_identity(self, space: str, wing: str | None) -> Event | None:
        """Read the identity that was written last for a wing; None: the one for all."""
        ...

    def matching(self, space: str, which: Filter) -> Seqs | None:
        """List the events that a filter lets through, sorted and without records; None for all."""
        ...

    def sessions(self, space: str, which: Filter, *, limit: int | None = None) -> list[Session]:
        """List sessions, the latest first: all, or so many of them."""
        ...

    def by_words(self, space: str, terms: Mapping[int, float], k: int, allowed: Seqs | None) -> Ranking:
        """Rank events by BM25 over weighted terms."""
        ...

    def rarest(self, space: str, terms: Collection[int], most_bytes: int) -> list[int]:
        """Choose the rarest of some terms, as many as so much of the index tells about; one at least."""
        ...

    def by_vector(self, space: str, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        """Rank events by the cosine of their nearest window."""
        ...

    def prepare(self, space: str, model: Model) -> None:
        """Read what `by_vector` will need, so that it can be read while a question is still being encoded."""
        ...

    def passages(self, space: str, model: Model, seqs: Sequence[int]) -> list[PassageRow]:
        """Read the stored windows of events, grouped by event in the order given."""
        ...

    def models(self) -> list[Model]:
        """List the models whose vectors are here."""
        ...

    def without_vectors(self, space: str, model: Model, *, after: int, limit: int) -> list[tuple[int, Event]]:
        """List events that a model has not seen, from behind a seq."""
        ...

    def jobs(self, *, kind: str | None = None, due_before: int | None = None, limit: int) -> list[Job]:
        """List work that waits, oldest first."""
        ...

    def receipts(self, space: str) -> list[Receipt]:
        """List what was forgotten."""
        ...

    def tally(self, space: str) -> Tally:
        """Count what a space holds."""
        ...

    def total_events(self) -> int:
        """Count the events of all spaces."""
        ...

    def fact(self, name: str) -> str | None:
        """Read a fact about the file itself."""
        ...


class Writer(
    Reader,
    ArtifactWriter,
    GraphWriter,
    ImportWriter,
    ServiceWriter,
    FoldingWriter,
    AttentionWriter,
    WrittenWriter,
    Protocol,
):
    """One transaction."""

    def append(self, space: str, drafts: Sequence[Draft], model: Model | None, *, now: int, queue: bool) -> list[Event]:
        """Add events with their index entries; `queue` leaves a job for each that has no vectors of `model` yet."""
        ...

    def put_vectors(self, space: str, model: Model, vectors: Mapping[int, Sequence[UnitVector]]) -> None:
        """Add the vectors of events that are in the log, and settle their jobs."""
        ...

    def remove(self, space: str, seqs: Seqs) -> dict[str, int]:
        """Take events out of the log, and everything derived from them; count what went."""
        ...

    def unindex(self, space: str, indexed: Mapping[int, Event]) -> None:
        """Take what was indexed as events, and are records now, out of the indexes; as they were when indexed."""
        ...

    def put_receipt(self, receipt: Receipt, seqs: Collection[int]) -> None:
        """Keep a receipt: its counts and the numbers of the events that went, not their ids."""
        ...

    def add_model(
        self, *, name: str, version: str, dims: int, token_dims: int, state: Literal["active", "building"]
    ) -> Model:
        """Register a model."""
        ...

    def activate(self, model: Model) -> None:
        """Search with this model from now on; the one before it is retired, its missing events become jobs."""
        ...

    def drop_vectors(self, model: Model, *, limit: int) -> int:
        """Remove some vectors of a retired model; 0 when none is left and the model is gone."""
        ...

    def restart_words(self, space: str) -> Rebuild:
        """Begin a new generation of postings beside the one in use."""
        ...

    def index_words(self, space: str, rebuild: Rebuild, rows: Sequence[tuple[int, Terms]]) -> None:
        """Add events to a generation that is not in use yet."""
        ...

    def adopt_words(
        self, space: str, rebuild: Rebuild, tail: Sequence[tuple[int, Terms]], *, upto: int, words: int
    ) -> bool:
        """Search the new generation from now on: it holds events up to `upto`, `tail` those behind.

        False, and nothing done, when events were removed since it began: `words` would be off.
        """
        ...

    def drop_postings(self, space: str, *, limit: int) -> int:
        """Remove some chunks of generations that are out of use; 0 when none is left."""
        ...

    def fail_job(self, job: Job, *, error: str, due_at: int) -> None:
        """Put a job back for later, with the reason."""
        ...

    def note_failure(self, space: str, kind: str, seqs: Sequence[int], *, error: str) -> None:
        """Keep why what these events owe could not be done at once; it is due as before."""
        ...

    def drop_job(self, job: Job) -> None:
        """Remove a job that has nothing to do any more."""
        ...

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact about the file itself."""
        ...


class Store(Protocol):
    """Where a memory lives."""

    @property
    def location(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def commits(self) -> int:
        """Count what this thread has written here: whoever is broken off can tell whether anything was kept."""
        ...

    def reader(self) -> AbstractContextManager[Reader]:
        """Take a snapshot; it lasts for the `with` block."""
        ...

    def writer(self, *, patience_s: float | None = None) -> AbstractContextManager[Writer]:
        """Wait for the turn to write and begin a transaction; commits at the end of the `with` block.

        patience_s: how long to wait for it, where that is not busy_timeout_s.
        """
        ...

    def table_reader(self) -> AbstractContextManager[TableReader]:
        """Take a snapshot of the tables themselves, to copy them."""
        ...

    def table_writer(self) -> AbstractContextManager[TableWriter]:
        """Begin a transaction on the tables themselves; commits at the end of the `with` block."""
        ...

    def exchange(self) -> AbstractContextManager[tuple[Writer, TableWriter]]:
        """Begin a transaction both on what a store means and on its tables; commits at the end of the `with` block."""
        ...

    def tend(self) -> int:
        """Do what the store itself has to look after, such as an index that a grown space needs; count it."""
        ...

    @property
    def scrubs_itself(self) -> bool:
        """Tell whether forgetting scrubs at once; not where that would lock out others who share the store."""
        ...

    @property
    def unscrubbed(self) -> tuple[str, ...]:
        """Name where removed words may still lie until scrub() was called."""
        ...

    def scrub(self) -> tuple[str, ...]:
        """Rewrite what lies on disk so that nothing removed can be read from it; name what this does not reach.

        Raises StoreBusy where others keep it from removing all.
        """
        ...

    def audit(self, *, deep: bool = True, only: str | None = None) -> Audit:
        """Check the store's own consistency: its pages, counters, and indexes against the log; of one space alone."""
        ...

    def renew_digests(self, tables: Collection[str]) -> None:
        """Take tables that were made anew from the log as they are: `audit` compares them with this from now on."""
        ...

    def backup(self, path: str) -> None:
        """Write a consistent copy to a new file while others read and write."""
        ...

    def schema(self) -> int:
        """Tell the version of the schema."""
        ...

    def size(self, *, by_part: bool = False) -> tuple[int, dict[str, int]]:
        """Tell the bytes on disk, in all and by part."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


__all__ = [
    "EMBED",
    "Audit",
    "Cursor",
    "Draft",
    "Job",
    "Json",
    "Known",
    "Model",
    "Outline",
    "PassageRow",
    "Ranking",
    "Reader",
    "Rebuild",
    "Seqs",
    "Store",
    "Tally",
    "Terms",
    "UnitVector",
    "Writer",
]
