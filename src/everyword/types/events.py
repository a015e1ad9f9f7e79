"""Events and their ids, and the values that reading, writing and maintaining a memory return.

An id is derived from content: the same event gets the same id in every file and on every machine. Writing it again
changes nothing, importing an export changes nothing, and a rebuilt memory cites the same ids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, cast

from msgspec import Struct, field

from everyword.lazy_patterns import lazy_pattern
from everyword.types.times import to_micros, utc_now

DEFAULT_SPACE = "default"

# Any JSON value. It is Any because a recursive alias makes callers' own annotations fail.
Json = Any


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of an event's text."""

    start: int
    end: int


class Event(Struct, frozen=True, kw_only=True):
    """One verbatim message or happening. Immutable; everything else is derived from events and cites them."""

    text: str
    id: str = ""  # derived by the memory from the key, or from text, session, speaker and time
    key: str | None = None  # the caller's own id, unique in its space
    space: str = DEFAULT_SPACE
    wing: str | None = None
    session: str | None = None
    speaker: str | None = None
    role: str | None = None
    source: str = ""  # user, assistant, import, tool or web; derived from the role where it is empty
    at: datetime = field(default_factory=utc_now)  # when it happened
    recorded_at: datetime = field(default_factory=utc_now)  # when the memory learned it
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])
    # None for an ordinary event, else the kind of an edit (types/records.py). Only the memory sets it.
    record: str | None = None


class Filter(Struct, frozen=True, kw_only=True):
    """Conditions on events; all must hold, and None means any value."""

    wing: str | None = None
    project: str | None = None  # of this wing or of none; "": of none
    session: str | None = None
    speaker: str | None = None
    since: datetime | None = None  # at >= since
    until: datetime | None = None  # at < until
    as_of: datetime | None = None  # recorded_at <= as_of
    tag: str | None = None  # derived from the event: category:..., action:required
    role: tuple[str, ...] | None = None  # one of these; "!tool" excludes a role
    source: tuple[str, ...] | None = None  # one of these; "!tool" excludes a source
    meta: Mapping[str, Json] | None = None  # each member must be equal, or a number within a range

    @property
    def empty(self) -> bool:
        return self == EVERYTHING


EVERYTHING = Filter()


def elsewhere(event: Event, project: str | None) -> str | None:
    """Name the wing of an event that belongs to another project than the one at hand."""
    return event.wing if project is not None and event.wing != project else None


RANGES = ("$gt", "$gte", "$lt", "$lte")


def is_range(wanted: Json) -> bool:
    """Tell whether a filter on a member of meta names limits, such as {"$gte": 3}, and not a value."""
    names = list(cast("Mapping[str, Json]", wanted)) if isinstance(wanted, Mapping) else []
    return bool(names) and all(name in RANGES for name in names)


class Written(Struct, frozen=True, kw_only=True):
    """The result of writing one event: stored now, or already known."""

    event: Event
    new: bool
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])  # removed secrets, by kind

    @property
    def id(self) -> str:
        return self.event.id


class WrittenBatch(list[Written]):
    """The results of writing a batch, in its order."""

    @property
    def ids(self) -> list[str]:
        return [written.id for written in self]

    @property
    def added(self) -> int:
        return sum(written.new for written in self)

    @property
    def known(self) -> int:
        return len(self) - self.added


class Imported(Struct, frozen=True, kw_only=True):
    """The result of an import."""

    read: int
    added: int
    known: int  # already there, and unchanged
    format: str = "everyword"
    differing: int = 0  # already there with other words, which were kept
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])  # entries that gave no event, by reason
    not_understood: tuple[str, ...] = ()  # examples of entries or times that could not be read
    unread_times: int = 0  # events whose written time could not be read, stored at the time of their file
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])  # removed secrets, by kind
    files: int = 1
    unchanged: int = 0  # files that were skipped because they have not changed
    sample: tuple[Event, ...] = ()  # the first events, where the import was only a preview


class Score(Struct, frozen=True, kw_only=True):
    """The score that one stage gave a hit."""

    stage: str
    score: float
    rank: int | None = None  # from 1; None where the stage does not rank
    why: str = ""


class Hit(Struct, frozen=True, kw_only=True):
    """A recalled event with its matching span and its scores."""

    event: Event
    score: float
    span: Span
    scores: tuple[Score, ...] = ()
    seq: int = 0  # position in the log; orders events of the same moment
    replaced_by: str | None = None  # id of the event that says what holds now instead, or that it was done
    # Until when it held; without `replaced_by` if somebody retracted it. None for a plan or task that was done.
    replaced_at: datetime | None = None

    @property
    def text(self) -> str:
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
    """The hits of a question, best first.

    `confidence` is a calibrated probability that the memory holds an answer; None after a search by words
    alone, where it is unknown. `pending` counts events that are searched by words alone, until they are encoded.
    """

    def __init__(self, hits: Iterable[Hit] = (), *, confidence: float | None = None, pending: int = 0) -> None:
        super().__init__(hits)
        self.confidence = confidence
        self.pending = pending


class Citation(Struct, frozen=True, kw_only=True):
    """The source of a line of a context."""

    mark: str
    event_id: str
    span: Span
    key: str | None = None


class Context(Struct, frozen=True, kw_only=True):
    """Prompt-ready text within a token budget, each line with the mark of its citation."""

    text: str
    tokens: int
    budget: int
    tokenizer: str
    citations: tuple[Citation, ...] = ()

    def __str__(self) -> str:
        return self.text


class Answer(Struct, frozen=True, kw_only=True):
    """An answer from the memory, with citations; its text is empty where the memory holds no answer."""

    question: str
    text: str = ""
    citations: tuple[Citation, ...] = ()
    quotes: tuple[str, ...] = ()  # the words of each citation, verbatim
    confidence: float | None = None  # probability that the answer is right; without a reader, that there is one
    written_by: str = "quote"  # or the name of the LLM
    nearest: str = ""  # where there is no answer: the closest line, quoted with speaker and day

    @property
    def answered(self) -> bool:
        return bool(self.text)

    def __bool__(self) -> bool:
        return self.answered

    def __str__(self) -> str:
        return self.text


class Change(Struct, frozen=True, kw_only=True):
    """One entry of a statement's journal: what changed, because of which event, and why."""

    at: datetime
    action: str
    reason: str
    statement_id: str | None = None
    target_id: str | None = None
    event_id: str | None = None


class SummaryPart(StrEnum):
    """What a quote in a session's summary tells."""

    ABOUT = "about"  # what the session was about
    DECIDED = "decided"
    DONE = "done"
    OPEN = "open"  # planned or to be done, and not done since


class Theme(Struct, frozen=True, kw_only=True):
    """A quote in a session's summary."""

    text: str
    event_id: str
    span: Span
    at: datetime
    speaker: str | None
    score: float
    part: SummaryPart = SummaryPart.ABOUT


class WrittenSentence(Struct, frozen=True, kw_only=True):
    """A sentence that an LLM wrote, and the events that support it."""

    text: str
    event_ids: tuple[str, ...]


class SessionOrder(StrEnum):
    """Which sessions are listed first."""

    LATEST = "latest"
    OLDEST = "oldest"
    LONGEST = "longest"  # by the number of events


class Session(Struct, frozen=True, kw_only=True):
    """A conversation or work session, derived from its events."""

    name: str
    wings: tuple[str, ...]
    speakers: tuple[str, ...]
    events: int
    first_at: datetime
    last_at: datetime
    keys: tuple[str, ...] = ()  # the names that it mentions most, without its speakers
    summary: tuple[Theme, ...] = ()  # the quotes that matter most, then what else was decided, done and left open
    entities: tuple[str, ...] = ()  # the names that it mentions most
    # A summary by an LLM, each sentence with its sources; empty without an LLM, and after the session has grown.
    written: tuple[WrittenSentence, ...] = ()


class Receipt(Struct, frozen=True, kw_only=True):
    """The result of `forget`.

    The memory keeps the time, the counts and the log positions of the events, so that `verify` can check that none is
    left. It does not keep the ids: an id is derived from the text, so guesses of the text could be tested against it.
    """

    at: datetime
    space: str
    dry_run: bool
    ids: tuple[str, ...] = ()  # returned by `forget`, never stored
    removed: Mapping[str, int] = field(default_factory=dict[str, int])  # number of removed rows, by kind
    scrubbed: bool = False  # no byte of the text is left on disk
    left: tuple[str, ...] = ()  # places that may still hold bytes of the text, in words

    @property
    def events(self) -> int:
        return self.removed.get("events", len(self.ids))


class Problem(Struct, frozen=True, kw_only=True):
    """A problem that `verify` found, and how to fix it."""

    where: str
    what: str
    fix: str


class Report(Struct, frozen=True, kw_only=True):
    """The result of `verify`."""

    checked: Mapping[str, int]
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


class Stats(Struct, frozen=True, kw_only=True):
    """Counts and sizes of a memory."""

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
    model: str | None  # that made the vectors
    vectors: int
    pending: int  # waiting jobs
    bytes: int
    bytes_by_part: Mapping[str, int]
    schema: int
    statements: Mapping[str, int] = field(default_factory=dict[str, int])  # current ones, by kind
    tags: Mapping[str, int] = field(default_factory=dict[str, int])  # events, by tag
    graph: Mapping[str, int] = field(default_factory=dict[str, int])  # entities, facts, conflicts ...
    concepts: int = 0  # open ones
    # Events that are not derived yet, by layer: words, statements, graph, intents, concepts.
    behind: Mapping[str, int] = field(default_factory=dict[str, int])


class Activity(Struct, frozen=True, kw_only=True):
    """Event counts over equal parts of a span of time, with the speakers and wings to choose from."""

    begin: datetime | None  # None where there are no events
    end: datetime | None
    events: int
    counts: tuple[int, ...]  # of each part, earliest first
    speakers: tuple[str, ...]  # of all times
    wings: tuple[str, ...]


# Roles of events, by who speaks.
USERS = frozenset(("user", "human"))
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))
PROGRAMS = frozenset(("system", "tool", "function", "developer"))  # set up or reported by programs
SAVED_ON_REQUEST = "saved_on_request"  # in `meta`: an agent saved it with a tool made for that


EVENT_PREFIX = "ev_"
_ID_DIGITS = 32
SHORTEST_ID = 6  # hexadecimal digits by which an event can be named: one in 16 million
_EVENT_ID = lazy_pattern(rf"{EVENT_PREFIX}([0-9a-f]{{{_ID_DIGITS}}})")
_EVENT_ID_START = lazy_pattern(rf"{EVENT_PREFIX}([0-9a-f]{{{SHORTEST_ID},{_ID_DIGITS}}})")


def fingerprint(*parts: str | int | None) -> bytes:
    """Hash fields in order; None and the empty string differ, and the lengths keep fields apart."""
    framed = "".join("-" if part is None else f"{len(text := str(part))}:{text}" for part in parts)
    return hashlib.blake2b(framed.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def event_id(raw: bytes) -> str:
    return EVENT_PREFIX + raw.hex()


def raw_event_id(text: str) -> bytes | None:
    """Decode what `event_id` wrote; None for any other text."""
    match = _EVENT_ID.fullmatch(text)
    return bytes.fromhex(match[1]) if match else None


def raw_event_ids(text: str) -> tuple[bytes, bytes] | None:
    """Decode the beginning of an event id: the first and the last id that begin so; None for any other text."""
    match = _EVENT_ID_START.fullmatch(text)
    if match is None:
        return None
    first, last = (bytes.fromhex(match[1].ljust(_ID_DIGITS, digit)) for digit in "0f")
    return first, last


def content_hash(text: str, session: str | None, speaker: str | None, at: int) -> bytes:
    """Hash what makes two events equal: text, session, speaker and time in microseconds."""
    return fingerprint(text, session, speaker, at)


def content_of(event: Event) -> bytes:
    """Hash an event's content; for a record, also its kind and payload."""
    at = to_micros(event.at)[0]
    if event.record is None:
        return content_hash(event.text, event.session, event.speaker, at)
    payload = json.dumps(dict(event.meta), sort_keys=True, separators=(",", ":"))
    return fingerprint("record", event.record, event.text, event.wing, payload, at)


def identity_of(key: str | None, content: bytes) -> bytes:
    """Derive the raw id from the caller's key, or without one from the content."""
    if key is None:
        return hashlib.blake2b(content, digest_size=16, person=b"content").digest()
    return fingerprint("key", key)
