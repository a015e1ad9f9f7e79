"""Turn what the reader found in an event into statement drafts and name mentions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from unicodedata import normalize

from msgspec.structs import replace

from everyword.knowledge.claims import meaning_of
from everyword.knowledge.reading import EventReading, ReadStatement
from everyword.types.events import Event, Span
from everyword.types.graph import EntityType, Mention
from everyword.types.statements import TO_DO, Category, SaidDate, Slot, Stance, StatementDraft, StatementKind

ACTION_REQUIRED = "action:required"
_CATEGORIES: Mapping[StatementKind, Category] = {
    StatementKind.ATTRIBUTE: Category.IDENTITY,
    StatementKind.FACT: Category.CONTEXT,
    StatementKind.PREFERENCE: Category.PREFERENCES,
    StatementKind.RELATIONSHIP: Category.RELATIONSHIPS,
    StatementKind.HABIT: Category.LIFESTYLE,
    StatementKind.EVENT: Category.EXPERIENCES,
    StatementKind.PLAN: Category.PLANS_GOALS,
    StatementKind.TASK: Category.PLANS_GOALS,
    StatementKind.DECISION: Category.PLANS_GOALS,
    StatementKind.INSIGHT: Category.OPINIONS,
    StatementKind.INSTRUCTION: Category.PREFERENCES,
}
# Categories of relations that say more than the kind does.
_BY_RELATION: Mapping[str, Category] = {
    **dict.fromkeys(("job", "role", "works_at", "works_on", "salary", "position"), Category.WORK_CAREER),
    **dict.fromkeys(("studies", "learns", "exam", "grade", "teaches"), Category.LEARNING),
    **dict.fromkeys(("allergic_to", "health", "diet", "injured", "surgery", "dose"), Category.WELLNESS),
    **dict.fromkeys(("plays", "favourite_team", "interested_in", "watches", "reads"), Category.INTERESTS),
}
_TYPES: Mapping[str, EntityType] = {
    **{type: EntityType(type) for type in ("person", "organisation", "project", "place")},
    **dict.fromkeys(("pet", "product", "work"), EntityType.THING),
    **dict.fromkeys(("event", "other"), EntityType.TOPIC),
}
# The chance that a statement is one, of its kind and with its relation, from which on it claims a fact. Of 370 facts
# with one value at a time in the conversations for choosing .72 are right, .63 without; 20 of 233 right ones go.
_LEAST_CHANCE = 0.4
_JOBS = frozenset(("job", "role", "has_role", "position"))
# What lasts until it ends. What happened once does not end.
STATES = frozenset((StatementKind.ATTRIBUTE, StatementKind.PREFERENCE, StatementKind.RELATIONSHIP, StatementKind.HABIT))
# The reader has no class for what is over; English says so in a few fixed words.
_OVER = re.compile(r"\bused to (?!it\b|the\b|this\b|that\b)|\bno longer\b", re.IGNORECASE)
_LEFT = re.compile(r"\b(?:left|quit|resigned|retired|fired|laid off|moved (?:away|out))\b", re.IGNORECASE)
_ANY_MORE = re.compile(r"\bany ?more\b|\bany longer\b", re.IGNORECASE)


def drafts_of(event: Event, reading: EventReading, model: str) -> list[StatementDraft]:
    """Make drafts of the statements in a reading."""
    return [_draft(event, reading, one, model) for one in reading.statements if one.quote.strip()]


def mentions_in(reading: EventReading) -> list[Mention]:
    """Make mentions of the names in a reading."""
    return [Mention(span=one.span, text=one.text, type=_TYPES[one.type], score=one.confidence) for one in reading.names]


def tags_of(draft: StatementDraft) -> tuple[str, ...]:
    """Tag a statement with its category, and with whether something is to be done."""
    tags = [f"category:{draft.category.value}"]
    if draft.kind in TO_DO and not draft.negated and draft.valid_to is None and draft.stance is Stance.HOLDS:
        tags.append(ACTION_REQUIRED)
    return tuple(tags)


def category_of(kind: StatementKind, relation: str | None) -> Category:
    """Tell the part of life that a statement belongs to."""
    return _BY_RELATION.get(relation or "") or _CATEGORIES[kind]


def _draft(event: Event, reading: EventReading, one: ReadStatement, model: str) -> StatementDraft:
    kind = StatementKind(one.kind)
    stance = _stance(one, kind)
    over = stance is Stance.ENDED and kind in (*STATES, *TO_DO)
    value = event.text[one.value.start : one.value.end] if one.value else None
    relation = _relation(reading, one)
    draft = StatementDraft(
        kind=kind,
        # An instruction is about the assistant, who did not say it.
        content=content_of(one.quote, None if kind is StatementKind.INSTRUCTION else one.about),
        category=category_of(kind, relation),
        quote=one.quote,
        event_id=event.id,
        span=one.span,
        speaker=event.speaker,
        about=one.about,
        confidence=round(one.confidence, 3),
        date=one.date,
        valid_from=None if over else begins(one.date, kind, event.at),
        valid_to=event.at if over or stance is Stance.DONE else None,
        entities=tuple(dict.fromkeys(name.text for name in reading.names if _inside(name.span, one.span))),
        negated=one.mode == "negated",
        slot=Slot(one.about or "", relation) if relation else None,
        value=value,
        stance=stance,
        lasting=round(one.lasting, 3),
        extractor=model,
    )
    return replace(draft, tags=tags_of(draft))


def _relation(reading: EventReading, one: ReadStatement) -> str | None:
    """Tell the relation of a statement, unless it would claim a fact unsurely; a named job is an employer."""
    chance = round(one.confidence, 3) * one.relation_confidence  # the same of a reading that was stored
    if meaning_of(one.relation) is not None and chance < _LEAST_CHANCE:
        return None
    if one.relation not in _JOBS or one.value is None:
        return one.relation
    value = one.value
    return "works_at" if any(_inside(value, name.span) for name in reading.names) else one.relation


def content_of(quote: str, about: str | None) -> str:
    """Word a statement: its quote, after the name of whom it is about unless the quote has that."""
    plain = " ".join(quote.split())
    named = about is None or about.casefold() in normalize("NFC", plain).casefold()
    return plain if named else f"{about}: {plain}"


def _stance(one: ReadStatement, kind: StatementKind) -> Stance:
    if one.mode == "hypothetical":
        return Stance.MAYBE
    if one.state == "done":
        return Stance.DONE
    if one.state == "dropped" or (kind in STATES and _is_over(one)) or (kind is StatementKind.EVENT and _leaves(one)):
        return Stance.ENDED
    return Stance.HOLDS


def _is_over(one: ReadStatement) -> bool:
    return bool(_OVER.search(one.quote) or (one.mode == "negated" and _ANY_MORE.search(one.quote)))


def _leaves(one: ReadStatement) -> bool:
    """Tell whether an event ends a home or a job: "I left Porto"."""
    meaning = meaning_of(one.relation)
    return meaning is not None and meaning.relation in ("lives_in", "works_at") and bool(_LEFT.search(one.quote))


def begins(date: SaidDate | None, kind: StatementKind, at: datetime) -> datetime:
    """Say since when it is true: since the date that was said where that has passed, else since it was said."""
    return date.start if date is not None and date.start <= at and kind not in TO_DO else at


def _inside(one: Span, other: Span) -> bool:
    return other.start <= one.start and one.end <= other.end
