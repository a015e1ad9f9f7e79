"""What a memory holds before its reader unasked: intents, who believes what, the window, the palace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from recollect.core.values import Span


class IntentCategory(StrEnum):
    """What kind of unmet goal it is; feedback moves the threshold of each by itself."""

    TASK = "task"  # must, should, needs to
    PROMISE = "promise"  # given to somebody, or owed
    WISH = "wish"  # wanted, hoped for
    QUESTION = "question"  # undecided, not known yet
    REMINDER = "reminder"  # asked for, to be told in time


class IntentStatus(StrEnum):
    """Where an intent stands."""

    PENDING = "pending"
    SCHEDULED = "scheduled"  # accepted: it will be done
    RESOLVED = "resolved"  # done, by later words or by hand
    REJECTED = "rejected"
    DEFERRED = "deferred"  # not before a time
    EXPIRED = "expired"  # its time passed, or nobody spoke of it any more


LIVE = (IntentStatus.PENDING, IntentStatus.SCHEDULED)
CLOSED = (IntentStatus.RESOLVED, IntentStatus.REJECTED, IntentStatus.EXPIRED)


class IntentAnswer(StrEnum):
    """What a person says to an intent."""

    ACCEPT = "accept"
    MODIFY = "modify"
    DEFER = "defer"
    REJECT = "reject"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Words that something rests on."""

    event_id: str
    span: Span
    quote: str  # verbatim
    at: datetime
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A goal that the evidence points to and that is not met, with why it is thought so."""

    id: str
    statement: str  # in quoted words
    category: IntentCategory
    status: IntentStatus
    urgency: float  # 0 to 1
    importance: float  # 0 to 1
    density: float  # 0 to 1: how much in the memory gathers around it
    threshold: float  # of its category, which the density has crossed
    grounds: tuple[Evidence, ...]  # the words that show the goal unmet, the oldest first
    first_at: datetime
    last_at: datetime
    concepts: tuple[str, ...] = ()  # ids of the concepts that it stands among
    topics: tuple[str, ...] = ()  # their labels
    deadline: datetime | None = None  # exclusive: the end of Friday is the beginning of Saturday
    settled_by: Evidence | None = None  # the words, or the answer, that ended it
    until: datetime | None = None  # DEFERRED: not before
    reason: str = ""

    @property
    def events(self) -> tuple[str, ...]:
        """List the ids of the events that ground it."""
        return tuple(dict.fromkeys(ground.event_id for ground in self.grounds))

    @property
    def due(self) -> date | None:
        """Give the last day on which it is not too late."""
        return None if self.deadline is None else (self.deadline - timedelta(microseconds=1)).date()

    @property
    def priority(self) -> float:
        """Weigh how soon and how much: the order in which intents are shown."""
        return URGENCY_SHARE * self.urgency + (1 - URGENCY_SHARE) * self.importance


URGENCY_SHARE = 0.6  # of an intent's priority; the rest is importance (CogniFold)


class KnownBy(StrEnum):
    """How somebody came to believe something."""

    SAW = "saw"
    TOLD = "told"
    SAID = "said"
    DID = "did"
    FACT = "fact"  # nobody's belief: how it is, by the latest word


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Where a thing is or how it stands, as somebody believes; `holder` is None for how it is, by the latest word."""

    holder: str | None
    thing: str
    value: str
    since: datetime
    ground: Evidence
    by: KnownBy
    current: bool  # whether it agrees with the latest word
    of: str | None = None  # whose belief this is a belief about: what Anne thinks that Sally thinks


class Tier(StrEnum):
    """How near at hand something is held."""

    IMMEDIATE = "immediate"
    WORKING = "working"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowItem:
    """One thing in the window: an event, a concept or an intent, and what put it there."""

    kind: str
    id: str
    text: str
    at: datetime
    tier: Tier
    score: float
    tokens: int
    rank: float = 0.0  # PageRank, the highest of the window is 1
    recency: float = 0.0
    access: float = 0.0
    urgency: float = 1.0  # 1 to 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What matters now, without a question: three tiers within a token budget."""

    items: tuple[WindowItem, ...]
    text: str  # the items as lines for a prompt, fenced
    tokens: int
    budget: int
    tokenizer: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawer:
    """An event in the palace."""

    event_id: str
    text: str
    at: datetime
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closet:
    """What a session was about, with the events that lie in it."""

    session: str | None
    summary: str
    drawers: tuple[Drawer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hall:
    """The statements of one kind in a room; `kind` is None for what states nothing."""

    kind: str | None
    closets: tuple[Closet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A concept, as one wing knows it; `id` is None for what belongs to no concept yet."""

    id: str | None
    label: str
    events: int
    halls: tuple[Hall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PalaceWing:
    """A person or project; `name` is None for what was filed under none."""

    name: str | None
    events: int
    rooms: tuple[Room, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunnel:
    """A concept that two wings or more share."""

    concept: str
    label: str
    wings: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Palace:
    """The memory as a place to walk through: wing, room, hall, closet, drawer; tunnels join wings."""

    wings: tuple[PalaceWing, ...]
    tunnels: tuple[Tunnel, ...] = ()
