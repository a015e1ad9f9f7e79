"""Statements: typed claims with their verbatim quotes and their versions."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import fields

from everyword.types.events import Change, Span, fingerprint

STATEMENT_PREFIX = "st_"
BY_HAND = "by hand"  # extractor of a statement that a person wrote as a correction; its speaker is the editor


class StatementKind(StrEnum):
    """The kind of a statement."""

    ATTRIBUTE = "attribute"  # what somebody is or has
    FACT = "fact"  # a figure, setting, rule, name or state of a project or thing
    PREFERENCE = "preference"  # likes, dislikes, opinions
    RELATIONSHIP = "relationship"  # who somebody is to somebody
    HABIT = "habit"
    EVENT = "event"  # something that happened, once
    PLAN = "plan"  # intended or arranged; wishes and goals, too
    TASK = "task"  # has to be done: a duty, a promise, a request, a deadline
    DECISION = "decision"
    INSIGHT = "insight"  # a lesson, reason or effect
    INSTRUCTION = "instruction"  # how the assistant shall behave from now on


TO_DO = (StatementKind.PLAN, StatementKind.TASK)  # kinds that are open until they are done or dropped
DONE = "done"  # the reason in the journal for which one is closed that was fulfilled


class Category(StrEnum):
    """The part of life that a statement belongs to."""

    IDENTITY = "identity"
    RELATIONSHIPS = "relationships"
    WORK_CAREER = "work_career"
    LEARNING = "learning"
    WELLNESS = "wellness"
    LIFESTYLE = "lifestyle"
    INTERESTS = "interests"
    PREFERENCES = "preferences"
    PLANS_GOALS = "plans_goals"
    EXPERIENCES = "experiences"
    OPINIONS = "opinions"
    CONTEXT = "context"
    MISC = "misc"


class Status(StrEnum):
    """Whether a statement is still true."""

    CURRENT = "current"
    SUPERSEDED = "superseded"  # a newer statement replaces it
    RETRACTED = "retracted"  # ended, done or retracted


class Stance(StrEnum):
    """How a statement relates to what was true before it."""

    HOLDS = "holds"
    STILL = "still"  # it says that nothing changed
    CHANGED = "changed"  # it says that something changed: "moved to", "instead of"
    ENDED = "ended"  # "used to", "no longer", "decided against"
    DONE = "done"  # an action, which may complete a task
    MAYBE = "maybe"  # considered, not decided


class Slot(NamedTuple):
    """The attribute that a statement gives a value for; two statements of one slot can agree or contradict."""

    about: str
    attribute: str


class SaidDate(NamedTuple):
    """A date in words, resolved to a span of time; `end` is exclusive."""

    start: datetime
    end: datetime
    words: str
    certain: bool = True
    before: bool = False  # "before July": over when July begins

    @property
    def due(self) -> datetime:
        """Return the moment by which what is planned for this date must be done."""
        return self.start if self.before else self.end


class StatementDraft(Struct, frozen=True, kw_only=True):
    """A statement as it was read, before it is compared with known ones."""

    kind: StatementKind
    content: str  # short, names its subject, in words of the quote
    category: Category
    quote: str  # verbatim
    event_id: str
    span: Span  # of the quote in the event's text
    speaker: str | None
    about: str | None  # a person or thing
    confidence: float  # 0 to 1
    date: SaidDate | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None  # exclusive; None while it holds
    entities: tuple[str, ...] = ()
    negated: bool = False
    tags: tuple[str, ...] = ()
    slot: Slot | None = None
    value: str | None = None  # of the slot, in words of the quote
    stance: Stance = Stance.HOLDS
    lasting: float | None = None  # 0 to 1: how likely it is worth telling unasked weeks later; None: nobody judged
    extractor: str = ""  # name/version


class Statement(StatementDraft, frozen=True, kw_only=True):
    """A stored statement, as one version in a chain."""

    id: str
    recorded_at: datetime
    status: Status = Status.CURRENT
    replaces: str | None = None  # the previous version


def adopt(
    draft: StatementDraft, *, recorded_at: datetime, replaces: str | None = None, superseded_at: datetime | None = None
) -> Statement:
    """Turn a draft into a statement. Its id is derived from its source, so a second run makes the same one.

    `superseded_at` is for a statement that arrives late: when the newer one, already known, began to replace it.
    """
    given = {field.name: getattr(draft, field.name) for field in fields(StatementDraft)}
    status = Status.CURRENT
    if draft.valid_to is not None:
        status = Status.RETRACTED  # it says that it is over: "used to", "no longer"
    elif superseded_at is not None:
        given["valid_to"] = superseded_at
        status = Status.SUPERSEDED
    return Statement(**given, id=statement_id(draft), recorded_at=recorded_at, replaces=replaces, status=status)


def statement_id(draft: StatementDraft) -> str:
    """Derive the id from the quote's location and the slot; the wording of the content does not matter."""
    attribute = draft.slot.attribute if draft.slot else None
    parts = (draft.event_id, draft.span.start, draft.span.end, draft.kind.value, draft.about, attribute)
    return STATEMENT_PREFIX + fingerprint("statement", *parts).hex()


class Version(Struct, frozen=True, kw_only=True):
    """One version of a statement with its journal entries."""

    statement: Statement
    said_at: datetime  # when its event happened
    changes: tuple[Change, ...] = ()


class History(Struct, frozen=True, kw_only=True):
    """The versions of a statement, oldest first; of several statements, one after the other."""

    versions: tuple[Version, ...]

    @property
    def current(self) -> Statement | None:
        standing = [one.statement for one in self.versions if one.statement.status is Status.CURRENT]
        return standing[-1] if standing else None
