"""Artifacts: typed statements, each with the verbatim words that it rests on, and how one follows another in time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from recollect.core.ids import fingerprint
from recollect.core.values import Change, Span

ARTIFACT_PREFIX = "ar_"
BY_HAND = "by hand"  # the extractor of a statement that somebody wrote to correct another; its speaker is the editor


class ArtifactKind(StrEnum):
    """What a statement is for."""

    DECISION = "decision"
    TODO = "todo"  # something to be done: a duty, a promise, a plan
    REMINDER = "reminder"
    KEY_FACT = "key_fact"  # about a thing or a project: a name, a number, a limit, a date
    INSIGHT = "insight"
    PREFERENCE = "preference"  # likes, dislikes, and how somebody wants things done
    EVENT = "event"  # something that happened, will happen, or was felt
    RELATIONSHIP = "relationship"
    ATTRIBUTE = "attribute"  # what somebody is, has, or habitually does


TO_DO = (ArtifactKind.TODO, ArtifactKind.REMINDER)  # kinds that an intent can grow from


class Category(StrEnum):
    """Which part of a life a statement belongs to."""

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
    """Whether a statement still counts."""

    CURRENT = "current"
    SUPERSEDED = "superseded"  # a newer statement says otherwise
    RETRACTED = "retracted"  # ended, done, or taken back


class Stance(StrEnum):
    """How a statement stands to what was so before it."""

    HOLDS = "holds"
    STILL = "still"  # says itself that nothing changed
    CHANGED = "changed"  # says itself that something changed: "moved to", "instead of"
    ENDED = "ended"  # "used to", "no longer", "decided against"
    DONE = "done"  # a deed: it may settle something that was to be done
    MAYBE = "maybe"  # considered, not decided


class Slot(NamedTuple):
    """What a statement gives a value for: two statements with one slot can agree or contradict."""

    about: str
    attribute: str


class SaidDate(NamedTuple):
    """A date as the words said it, made absolute; `end` is exclusive."""

    start: datetime
    end: datetime
    words: str
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDraft:
    """A statement that was found, before it is compared with what is known."""

    kind: ArtifactKind
    content: str  # short, with its subject named, in words of the quote
    category: Category
    quote: str  # verbatim
    event_id: str
    span: Span  # of the quote in the event's text
    speaker: str | None
    about: str | None  # whom or what it is about
    confidence: float  # 0 to 1
    date: SaidDate | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None  # exclusive; None while it holds
    entities: tuple[str, ...] = ()
    negated: bool = False
    tags: tuple[str, ...] = ()
    slot: Slot | None = None
    value: str | None = None  # what the slot holds, in the words of the quote
    stance: Stance = Stance.HOLDS
    extractor: str = ""  # name/version


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(ArtifactDraft):
    """A statement that was let in, as one version in a chain."""

    id: str
    recorded_at: datetime
    status: Status = Status.CURRENT
    replaces: str | None = None  # the version that this one follows


def adopt(
    draft: ArtifactDraft, *, recorded_at: datetime, replaces: str | None = None, superseded_at: datetime | None = None
) -> Artifact:
    """Make a draft an artifact. Its id follows from its source, so that a second run makes the same one.

    `superseded_at` is for a statement that arrives late: since when a newer one, known already, holds in its place.
    """
    given = {field.name: getattr(draft, field.name) for field in fields(ArtifactDraft)}
    status = Status.CURRENT
    if draft.valid_to is not None:
        status = Status.RETRACTED  # it says itself that it is over: "used to", "no longer"
    elif superseded_at is not None:
        given["valid_to"] = superseded_at
        status = Status.SUPERSEDED
    return Artifact(**given, id=artifact_id(draft), recorded_at=recorded_at, replaces=replaces, status=status)


def artifact_id(draft: ArtifactDraft) -> str:
    """Derive the id from where the words are and what they speak of; how the content is worded does not matter."""
    attribute = draft.slot.attribute if draft.slot else None
    parts = (draft.event_id, draft.span.start, draft.span.end, draft.kind.value, draft.about, attribute)
    return ARTIFACT_PREFIX + fingerprint("artifact", *parts).hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a statement, and what the journal says of it."""

    artifact: Artifact
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The story of a statement: its versions, the oldest first."""

    versions: tuple[Version, ...]

    @property
    def current(self) -> Artifact | None:
        """Give the version that holds now; None where none does."""
        standing = [one.artifact for one in self.versions if one.artifact.status is Status.CURRENT]
        return standing[-1] if standing else None
