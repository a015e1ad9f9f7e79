"""Rows, filters and drafts that cross the interface of a store, and the names of jobs and facts that it keeps."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from everyword.storage.nearest import seq_of
from everyword.storage.postings import Terms
from everyword.types.concepts import EdgeKind
from everyword.types.events import Event, Json, Span
from everyword.types.graph import FactDraft, KnownName
from everyword.types.service import ApiKey, Webhook
from everyword.types.statements import StatementKind, Status


class Space(Struct, frozen=True):
    """A space's row: its number and counters."""

    id: int
    name: str
    events: int
    words: int
    generation: int
    words_upto: int
    word_tail: int
    epoch: int
    last_seq: int  # of the last event that was added, also if it was forgotten since
    analysis: int  # the version of the analysis (text/terms.py) that made the postings

    def grown(self, events: int, words: int, last_seq: int) -> Space:
        """Return the row after events were added."""
        return replace(
            self,
            events=self.events + events,
            words=self.words + words,
            word_tail=self.word_tail + events,
            last_seq=last_seq,
        )


class EventRange(Struct, frozen=True):
    """The number of events, and the times of the first and the last one in microseconds."""

    events: int
    first_at: int | None
    last_at: int | None


READ = "extract"  # the kind of job that lets an LLM read an event


class StatementFilter(Struct, frozen=True, kw_only=True):
    """Conditions on statements; all must hold, None means any."""

    kind: StatementKind | None = None
    about: str | None = None
    status: Status | None = None
    tag: str | None = None
    wing: str | None = None
    as_of: datetime | None = None  # what was known then, and as it was known then


class StatementText(Struct, frozen=True):
    """The parts of a statement that ranking needs."""

    seq: int  # of the event that states it
    content: str
    current: bool


class Access(Struct, frozen=True):
    """How often an event was recalled, and when last, in microseconds."""

    times: int
    last_at: int


class FoldMark(NamedTuple):
    """How far events of a space are folded into the concept graph."""

    upto: int  # seq of the last event that is folded
    epoch: int  # moves when something is taken back: what a process remembers of the graph is void then
    profile: str  # name and version of the profile, and the model whose vectors were used


class Act(NamedTuple):
    """The cause of a change to the concept graph."""

    seq: int  # of the event that caused it
    at: int  # microseconds: when the memory learned of that event
    entry: int  # number of the entry in the journal


class Member(Struct, frozen=True):
    """An event that belongs to a concept."""

    concept: str
    seq: int
    event_id: str
    kind: EdgeKind
    weight: float
    at: int  # microseconds: when it happened
    reason: str


class WorkRow(Struct, frozen=True):
    """A concept's running sums, kept for the next process."""

    id: str
    body: Mapping[str, Json]
    size: int
    touched: int
    last_at: int
    total: bytes
    recent: str  # JSON


class EdgeRow(NamedTuple):
    """One event that supports an edge."""

    source: str
    target: str
    kind: EdgeKind
    weight: float
    seq: int
    at: int


class Undone(Struct, frozen=True):
    """The rows that undoing a change touched."""

    concepts: frozenset[str]
    edges: tuple[tuple[str, str, str], ...]  # that were closed: source, target, kind
    events: frozenset[int]  # whose belonging changed


SPEAKS = -1  # the place of a mention that is no place: the event was said by who has this name


class GraphState(Struct, frozen=True):
    """The versions by which caches of the graph's names expire."""

    version: int
    epoch: int


class NameRow(Struct, frozen=True):
    """A name, and the entity that it belongs to."""

    id: str
    home: str  # the id of an entity
    known: KnownName
    events: int
    first_at: int  # microseconds
    last_at: int


class MentionRow(NamedTuple):
    """A name in an event."""

    name: str  # id
    seq: int
    start: int
    stop: int
    type: str
    votes: int  # hundredths


class FactKey(NamedTuple):
    """Facts that are resolved together: a subject, a relation, and an object where several can hold at a time."""

    subject: str
    relation: str
    object: str | None = None  # None: any


class ClaimRow(Struct, frozen=True):
    """A claim, its number, and the event that states it."""

    number: int
    seq: int
    draft: FactDraft  # given to the entities that its names belong to


class Edit(Struct, frozen=True):
    """A merge or split of entities that a person made."""

    number: int
    at: int
    kind: str
    undone: bool
    pins: Mapping[str, str]


class FactFilter(Struct, frozen=True, kw_only=True):
    """Conditions on facts; all must hold, None means any."""

    subjects: tuple[str, ...] | None = None
    objects: tuple[str, ...] | None = None
    relation: str | None = None
    as_of: datetime | None = None  # true then
    open: bool | None = None
    conflicts: bool | None = None


class FileRead(Struct, frozen=True, kw_only=True):
    """How far an imported file was read, and its size and hash at that time."""

    path: str
    reading: str  # how it was read: what was read in another way is read again
    bytes: int = 0
    modified: int = 0  # nanoseconds since 1970; 0: only its content tells whether it changed
    hash: bytes = b""  # SHA-256 of its first `bytes`; empty where something of it was forgotten: then it is read anew
    position: Mapping[str, Json] = field(default_factory=dict[str, Json])  # of the format; empty: at the beginning
    events: int = 0
    whole: bool = False


class StoredKey(Struct, frozen=True):
    """An API key, and the hash of its secret part."""

    key: ApiKey
    hash: bytes


class StoredWebhook(Struct, frozen=True):
    """A webhook, and the secret that signs its deliveries."""

    webhook: Webhook
    secret: str


SUMMARISE = "summarise"  # the kind of job that lets an LLM write of a session; its event is the first of the session
PLAN = "plan"  # the kind of job that lets an LLM word concepts; its event is one that made a concept


class WrittenRow(NamedTuple):
    """A session summary written by an LLM."""

    session: str
    events: int  # how many it was written of
    extractor: str
    refused: int
    body: str


class PlanRow(Struct, frozen=True):
    """Changes to the concept graph that an LLM proposed after an event."""

    seq: int
    place: int  # among the plans after that event
    extractor: str
    refused: bool
    body: str


class SessionSize(Struct, frozen=True):
    """How many events a session has, and the first of them to arrive."""

    events: int
    first: int | None


EMBED = "embed"  # the kind of job that gives an event its vectors
IN_MEMORY = ":memory:"  # the location of a store that lives and ends with its process


class Model(Struct, frozen=True):
    """A model whose vectors a store holds."""

    id: int
    name: str
    version: str
    dims: int
    token_dims: int
    state: Literal["active", "building", "retired"]


class UnitVector(Struct, frozen=True, kw_only=True):
    """The vectors of one window of an event."""

    span: Span
    pooled: NDArray[np.int8]
    tokens: bytes


class Draft(Struct, frozen=True, kw_only=True):
    """A validated event with everything that its indexes need."""

    event: Event
    raw_id: bytes
    content: bytes
    moment: tuple[int, int]  # when it happened: microseconds, and the offset of its zone in seconds
    terms: Terms
    vectors: tuple[UnitVector, ...] | None = None  # None: they follow by a job
    recorded_at: int | None = None  # microseconds; None: now. An import keeps when the event was first learned.
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])  # secrets that were taken out, by kind


class Cursor(NamedTuple):
    """A position in the log ordered by time."""

    at: int
    seq: int


class Known(NamedTuple):
    """An event that is already in the log."""

    seq: int
    event: Event


class Rebuild(Struct, frozen=True):
    """A generation of postings under construction, and the space's epoch when it began."""

    generation: int
    epoch: int


class Outline(NamedTuple):
    """The fields of an event that ranking needs before its text is read."""

    session: str | None
    at: int  # microseconds since 1970
    recorded_at: int  # likewise
    speaker: str | None
    role: str | None
    source: str


class PassageRow(NamedTuple):
    """A stored window: its unit, its place in the text, how many windows the event has, its packed token vectors."""

    unit: int
    start: int
    stop: int
    windows: int
    tokens: bytes

    @property
    def seq(self) -> int:
        """Tell the event."""
        return seq_of(self.unit)

    @property
    def span(self) -> Span:
        """Give its place in the text."""
        return Span(self.start, self.stop)


class Job(Struct, frozen=True):
    """A waiting job."""

    id: int
    space: str
    kind: str
    seq: int
    attempts: int
    due_at: int  # microseconds
    error: str | None


class Tally(Struct, frozen=True, kw_only=True):
    """The counts of one space."""

    events: int = 0
    records: int = 0  # edits, which stand in the log beside the events
    sessions: int = 0
    speakers: int = 0
    wings: int = 0
    first_at: int | None = None
    last_at: int | None = None
    pending: int = 0
    vectors: int = 0


STATEMENTS, FACTS, CONCEPTS = "statements", "facts", "concepts"
# The views of the log, in the order in which they are derived, with the version of the code that derives each. Raise a
# version where the code derives something else: the view is then derived again.
VIEWS = {STATEMENTS: 5, FACTS: 3, CONCEPTS: 2}
SCRUB_OWED = "scrub_owed"  # a value of its own for each removal, until what lies on disk has been rewritten
NOT_OWED = "0"
FENCE_KEY = "fence_key"  # secret from which fences around recorded text are derived
COPYING = "copying"  # how far a copy from another store is; empty when it is complete


class Commits(threading.local):
    """The number of committed transactions, per thread."""

    count = 0


def read_text(value: str | bytes) -> str:
    """Give a text as Python has it, where a store had to keep it as bytes."""
    return value if isinstance(value, str) else bytes(value).decode("utf-8", "surrogatepass")
