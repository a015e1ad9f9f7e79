"""Intents, the window, the palace, identity and wake-up: what a memory shows without a question."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from everyword.types.events import Citation, Context, Score, Span


class IntentCategory(StrEnum):
    """The kind of an unmet goal; feedback moves the threshold of each kind separately."""

    TASK = "task"  # has to be done: a duty, a promise, a request
    PLAN = "plan"  # intended, arranged or wished for


class IntentStatus(StrEnum):
    """The status of an intent."""

    PENDING = "pending"
    SCHEDULED = "scheduled"  # accepted: it will be done
    RESOLVED = "resolved"  # done, by later words or by hand
    REJECTED = "rejected"
    DEFERRED = "deferred"  # not before a time
    EXPIRED = "expired"  # its time passed, or nobody mentions it any more


LIVE = (IntentStatus.PENDING, IntentStatus.SCHEDULED)


class IntentAnswer(StrEnum):
    """A person's answer to an intent."""

    ACCEPT = "accept"
    MODIFY = "modify"
    DEFER = "defer"
    REJECT = "reject"
    DONE = "done"
    UNDO = "undo"  # takes the last answer back


class Evidence(Struct, frozen=True, kw_only=True):
    """A quote that supports a claim."""

    event_id: str
    span: Span
    quote: str  # verbatim
    at: datetime
    speaker: str | None = None


class Intent(Struct, frozen=True, kw_only=True):
    """An unmet goal with the quotes that show it."""

    id: str
    statement: str  # in quoted words
    content: str  # the same, after the name of whom it is about
    category: IntentCategory
    status: IntentStatus
    urgency: float  # 0 to 1
    importance: float  # 0 to 1
    density: float  # 0 to 1: the chance that it is open; of a proposed one, how often it came up
    threshold: float  # of its category; what is open is above it
    grounds: tuple[Evidence, ...]  # the quotes that show the unmet goal, oldest first
    first_at: datetime
    last_at: datetime
    concepts: tuple[str, ...] = ()  # ids of related concepts
    topics: tuple[str, ...] = ()  # their labels
    deadline: datetime | None = None  # exclusive: the end of Friday is the beginning of Saturday
    settled_by: Evidence | None = None  # the quote or answer that ended it
    until: datetime | None = None  # DEFERRED: not before
    reason: str = ""

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(ground.event_id for ground in self.grounds))

    @property
    def due(self) -> date | None:
        """Return the last day before the deadline."""
        return None if self.deadline is None else (self.deadline - timedelta(microseconds=1)).date()

    @property
    def priority(self) -> float:
        """Combine urgency and importance; intents are shown in this order."""
        return URGENCY_SHARE * self.urgency + (1 - URGENCY_SHARE) * self.importance


URGENCY_SHARE = 0.6  # of an intent's priority; the rest is importance (CogniFold)


class Tier(StrEnum):
    """How close to the present conversation an item is."""

    IMMEDIATE = "immediate"
    WORKING = "working"
    BACKGROUND = "background"


class WindowItem(Struct, frozen=True, kw_only=True):
    """An event, concept or intent in the window, with its scores."""

    kind: str
    id: str
    text: str
    at: datetime
    tier: Tier
    score: float
    tokens: int
    rank: float = 0.0  # PageRank, scaled so that the highest in the window is 1
    recency: float = 0.0
    access: float = 0.0
    urgency: float = 1.0  # 1 to 2


class Window(Struct, frozen=True, kw_only=True):
    """What matters now, in three tiers within a token budget."""

    items: tuple[WindowItem, ...]
    text: str  # the items as lines for a prompt, fenced
    tokens: int
    budget: int
    tokenizer: str
    at: datetime


class Drawer(Struct, frozen=True, kw_only=True):
    """An event in the palace."""

    event_id: str
    text: str
    at: datetime
    speaker: str | None = None


class Closet(Struct, frozen=True, kw_only=True):
    """A session's summary and events in the palace."""

    session: str | None
    summary: str
    drawers: tuple[Drawer, ...]


class Hall(Struct, frozen=True, kw_only=True):
    """The statements of one kind in a room; `kind` is None for events that state nothing."""

    kind: str | None
    closets: tuple[Closet, ...]


class Room(Struct, frozen=True, kw_only=True):
    """A concept, as one wing knows it; `id` is None for events without a concept."""

    id: str | None
    label: str
    events: int  # in all
    halls: tuple[Hall, ...]


class PalaceWing(Struct, frozen=True, kw_only=True):
    """A person or project; `name` is None for events without a wing."""

    name: str | None
    events: int  # in all
    rooms: tuple[Room, ...]  # those that are shown
    rooms_in_all: int = 0  # concepts that have events in this wing


class Tunnel(Struct, frozen=True, kw_only=True):
    """A concept that two or more wings share."""

    concept: str
    label: str
    wings: tuple[str | None, ...]


class Palace(Struct, frozen=True, kw_only=True):
    """The memory as a place to walk through: wing, room, hall, closet, drawer; tunnels join wings."""

    wings: tuple[PalaceWing, ...]
    tunnels: tuple[Tunnel, ...] = ()


class Identity(Struct, frozen=True, kw_only=True):
    """Who the agent is or whom it serves; every wake-up starts with it."""

    text: str
    event_id: str
    set_at: datetime
    wing: str | None = None  # only for this project


class WakeUpLine(Struct, frozen=True, kw_only=True):
    """One line of a wake-up, with its citation and the reasons for it."""

    layer: int  # 0: identity, 1: what matters now, 2: the given topic
    kind: str
    text: str
    citation: Citation
    priority: float
    reasons: tuple[Score, ...] = ()


class WakeUp(Context, frozen=True, kw_only=True):
    """A context without a question: the identity, and the few things that matter now."""

    lines: tuple[WakeUpLine, ...] = ()
    considered: int = 0  # number of candidates for the lines
