"""What callers give and get: frozen values, one word of the vocabulary each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from recollect.core.clock import utc_now

DEFAULT_SPACE = "default"

# What JSON can hold. Spelled Any because a recursive alias makes every caller's own type annotations fail.
Json = Any


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of an event's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One verbatim message or happening. Immutable; everything else is derived from events and cites them."""

    text: str
    id: str = ""  # given by the memory; follows from the key, or from what was said, by whom, where and when
    key: str | None = None  # the caller's own id, unique in its space
    space: str = DEFAULT_SPACE
    wing: str | None = None
    session: str | None = None
    speaker: str | None = None
    role: str | None = None
    source: str = ""  # user, assistant, import, tool or web; the memory derives it from the role where it is left empty
    at: datetime = field(default_factory=utc_now)  # when it happened
    recorded_at: datetime = field(default_factory=utc_now)  # when the memory learned it
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])
    # None for what was said or done. Else the kind of an edit (core/records.py): only the memory itself sets it.
    record: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events count. None means any; all conditions must hold."""

    wing: str | None = None
    session: str | None = None
    speaker: str | None = None
    since: datetime | None = None  # at >= since
    until: datetime | None = None  # at < until
    as_of: datetime | None = None  # recorded_at <= as_of: what was known then
    tag: str | None = None  # a facet that was derived from it: topic:..., relationship:..., action:required
    role: tuple[str, ...] | None = None  # one of these; "!tool" excludes
    source: tuple[str, ...] | None = None  # likewise
    meta: Mapping[str, Json] | None = None  # each named member must equal the value given

    @property
    def empty(self) -> bool:
        """Tell whether every event counts."""
        return self == EVERYTHING


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of one event: stored now, or known already."""

    event: Event
    new: bool
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])  # secrets that were taken out, by kind

    @property
    def id(self) -> str:
        """Give the event's id."""
        return self.event.id


class WrittenBatch(list[Written]):
    """What became of a batch, in its order."""

    @property
    def ids(self) -> list[str]:
        """List the events' ids, in the order given."""
        return [written.id for written in self]

    @property
    def added(self) -> int:
        """Count the events that are new."""
        return sum(written.new for written in self)

    @property
    def known(self) -> int:
        """Count the events that were there already."""
        return len(self) - self.added


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import read, and what became of it."""

    read: int
    added: int
    known: int  # there already, and left as they were
    format: str = "recollect"
    differing: int = 0  # there already with other words, which stayed
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])  # what became no event, by reason
    not_understood: tuple[str, ...] = ()  # the first of those that the format does not explain
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])  # secrets that were taken out, by kind
    files: int = 1
    unchanged: int = 0  # files that were not read: they are as they were when all of them was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one stage said about a hit."""

    stage: str
    score: float
    rank: int | None = None  # from 1; None where a stage does not rank
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled event, where in it the match is, and how it got its place."""

    event: Event
    score: float
    span: Span
    scores: tuple[Score, ...] = ()
    seq: int = 0  # its place in the log: tells which of two turns of one moment came first

    @property
    def text(self) -> str:
        """Give the event's text, verbatim."""
        return self.event.text

    @property
    def quote(self) -> str:
        """Give the matching part of the text, verbatim."""
        return self.event.text[self.span.start : self.span.end]

    def explain(self) -> list[dict[str, Json]]:
        """List each stage that touched this hit: its score, the rank it gave, and why."""
        return [
            {"stage": score.stage, "score": score.score, "rank": score.rank, "why": score.why} for score in self.scores
        ]


class Hits(list[Hit]):
    """What a question found, best first, and how sure it is that an answer is among it.

    `confidence` is a calibrated probability that the memory holds an answer; None where it can't be told, as when words
    alone were searched.
    """

    def __init__(self, hits: Iterable[Hit] = (), *, confidence: float | None = None) -> None:
        super().__init__(hits)
        self.confidence = confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where a line of a context comes from."""

    mark: str
    event_id: str
    span: Span
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Prompt-ready text within a token budget, each line with the mark of its citation."""

    text: str
    tokens: int
    budget: int
    tokenizer: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer from the memory alone, with where each part of it comes from; no text where the memory holds none."""

    question: str
    text: str = ""
    citations: tuple[Citation, ...] = ()
    quotes: tuple[str, ...] = ()  # the words of each citation, verbatim
    confidence: float | None = None  # that the memory holds an answer
    written_by: str = "quote"  # or the name of the LLM

    @property
    def answered(self) -> bool:
        """Tell whether there is an answer."""
        return bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed, weighted, dated link between two things, by their ids."""

    source: str
    target: str
    kind: str
    weight: float  # 0 to 1
    at: datetime | None  # since when
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the journal: what was done, to what, because of which event, and why."""

    at: datetime
    action: str
    reason: str
    artifact_id: str | None = None
    target_id: str | None = None
    event_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """A sentence that says what a session was about, verbatim."""

    text: str
    event_id: str
    span: Span
    at: datetime
    speaker: str | None
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSentence:
    """A sentence that an LLM wrote, and the events that it rests on."""

    text: str
    event_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation or work session, as its events tell it."""

    name: str
    wings: tuple[str, ...]
    speakers: tuple[str, ...]
    events: int
    first_at: datetime
    last_at: datetime
    keys: tuple[str, ...] = ()  # phrases that tell it from others, the most telling first
    summary: tuple[Theme, ...] = ()  # its most central sentences, in the order in which they were said
    entities: tuple[str, ...] = ()  # whom and what it speaks of most
    # What an LLM wrote of all of it, each sentence with its sources; empty where none did, or it has grown since.
    written: tuple[WrittenSentence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What `forget` removed.

    The memory keeps the time, the counts and the numbers of the events, by which `verify` checks that none of them is
    still there. It does not keep the ids: an id follows from what was said, so that guesses could be tested on it.
    """

    at: datetime
    space: str
    dry_run: bool
    ids: tuple[str, ...] = ()  # given to the caller of `forget` alone
    removed: Mapping[str, int] = field(default_factory=dict[str, int])  # how many of each kind of derived thing
    scrubbed: bool = False  # what the store keeps on disk was rewritten: no byte of the text is left in it
    left: tuple[str, ...] = ()  # where bytes of the text may still be, in words

    @property
    def events(self) -> int:
        """Count the events that went."""
        return self.removed.get("events", len(self.ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that `verify` found wrong, where, and what to do about it."""

    where: str
    what: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `verify` checked and what it found."""

    checked: Mapping[str, int]
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What a memory holds and what it weighs."""

    location: str
    space: str
    spaces: int
    events: int  # in this space
    events_total: int
    sessions: int
    speakers: int
    wings: int
    first_at: datetime | None
    last_at: datetime | None
    model: str | None  # whose vectors are searched
    vectors: int
    pending: int  # jobs that wait
    bytes: int
    bytes_by_part: Mapping[str, int]
    schema: int
    artifacts: Mapping[str, int] = field(default_factory=dict[str, int])  # current ones, by kind
    tags: Mapping[str, int] = field(default_factory=dict[str, int])  # events, by tag
    graph: Mapping[str, int] = field(default_factory=dict[str, int])  # entities, facts, conflicts ...
    concepts: int = 0  # that stand
    # Events of which something is not derived yet, by what: words, artifacts, graph, intents, concepts.
    behind: Mapping[str, int] = field(default_factory=dict[str, int])
