"""Make claims of facts from the statements of an event: who, which relation, what, and when it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from everyword.knowledge.relations import BETWEEN_PEOPLE, Course, Meaning, When, kin_in, meaning_of
from everyword.types.events import Event, Span
from everyword.types.graph import RELATIONS, EntityType, FactDraft, Mention, Relation, name_key
from everyword.types.statements import Stance, StatementDraft, StatementKind
from everyword.types.trust import source_of

LEAST_CONFIDENCE = 0.5  # of a statement that makes a claim
_KINDS = frozenset(
    (
        StatementKind.ATTRIBUTE,
        StatementKind.FACT,
        StatementKind.PREFERENCE,
        StatementKind.RELATIONSHIP,
        StatementKind.HABIT,
        StatementKind.EVENT,
    )
)
# Dates of a state that is over: "from 2015 to 2019", "until March".
_FROM_TO = re.compile(r"(?:from|between)\s.+\s(?:to|until|till|through|and)\s", re.IGNORECASE)
_UNTIL = re.compile(r"(?:until|till|up to)\s", re.IGNORECASE)
_HAD = frozenset(("owns", "owns_pet", "likes", "budget", "rent", "salary", "deadline", "diet"))  # one's own, by "my"
_OTHERS = re.compile(r"(?:my|our|his|her|their|he|she|they)\b", re.IGNORECASE)
_VALUE_SCORE = 0.6  # of a name that is one only because a relation needs one: "lives in porto"


class Names(Protocol):
    """Gives names the ids of entities."""

    def id_of(self, mention: Mention, speaker: str | None = None) -> str: ...

    def form_of(self, mention: Mention, speaker: str | None = None) -> str: ...


def claims_of(
    event: Event, speaker: str, drafts: Iterable[StatementDraft], mentions: Sequence[Mention], index: Names
) -> list[FactDraft]:
    """Make the claims of an event's statements. Pure."""
    found = (_claim(event, speaker, draft, mentions, index) for draft in drafts)
    return [one for one in found if one is not None]


def named_values(event: Event, drafts: Iterable[StatementDraft], mentions: Sequence[Mention]) -> list[Mention]:
    """Take values as names where their relation needs one and the reader saw none."""
    found: list[Mention] = []
    for draft in drafts:
        meaning, span = _meaning(draft), value_span(event, draft)
        type = RELATIONS[meaning.relation].object if meaning is not None else None
        if type is None or span is None or any(_overlap(one.span, span) for one in (*mentions, *found)):
            continue
        text = event.text[span.start : span.end]
        found.append(Mention(span=span, text=text, type=type, score=_VALUE_SCORE))
    return found


def value_span(event: Event, draft: StatementDraft) -> Span | None:
    """Find the value of a statement in its event."""
    if not draft.value:
        return None
    start = event.text.find(draft.value, draft.span.start, draft.span.end)
    return Span(start, start + len(draft.value)) if start >= 0 else None


def _meaning(draft: StatementDraft) -> Meaning | None:
    """Tell which relation a statement claims; None if it claims none, or not surely."""
    if draft.kind not in _KINDS or draft.slot is None or not draft.about or not draft.value:
        return None
    if draft.stance is Stance.MAYBE or draft.confidence < LEAST_CONFIDENCE:
        return None
    meaning = meaning_of(draft.slot.attribute)
    if meaning is not None and meaning.relation in BETWEEN_PEOPLE:
        meaning = kin_in(draft.quote)
    elif meaning is not None and meaning.relation not in _HAD and _is_of_another(draft):
        meaning = None
    if meaning is None or draft.kind is not StatementKind.EVENT or meaning.course is not Course.HOLDS:
        return meaning
    # What happened may begin a state: "I moved to Faro". "I fed the cat" begins none.
    return meaning._replace(course=Course.BEGAN) if RELATIONS[meaning.relation].single else None


def _is_of_another(draft: StatementDraft) -> bool:
    """Tell whether a statement about its speaker speaks of somebody else: "My sister Maria lives in Porto"."""
    return draft.about == draft.speaker and _OTHERS.match(draft.quote) is not None


def _claim(
    event: Event, speaker: str, draft: StatementDraft, mentions: Sequence[Mention], index: Names
) -> FactDraft | None:
    meaning, span = _meaning(draft), value_span(event, draft)
    if meaning is None or span is None or draft.about is None or draft.value is None:
        return None
    relation = RELATIONS[meaning.relation]
    other: Mention | None = None
    if relation.object is not None:
        other = next((one for one in mentions if _overlap(one.span, span)), None)
        if other is None or (relation.object is EntityType.PERSON) != (other.type is EntityType.PERSON):
            return None
    subject = _person(draft.about)
    if meaning.turned and other is not None:
        subject, other = other, subject
    object, form = (
        (name_key(draft.value), "") if other is None else (index.id_of(other, speaker), index.form_of(other, speaker))
    )
    subject_id = index.id_of(subject, speaker)
    over = draft.stance is Stance.ENDED or draft.negated or meaning.course is Course.ENDED
    if not object or object == subject_id or (over and not relation.lasts):
        return None
    return FactDraft(
        subject=subject_id,
        subject_name=subject.text,
        subject_form=index.form_of(subject, speaker),
        relation=relation.name,
        object=object,
        object_name=other.text if other is not None else draft.value,
        object_form=form,
        event_id=event.id,
        span=draft.span,
        quote=draft.quote,
        said_at=event.at,
        recorded_at=event.recorded_at,
        source=source_of(event),
        confidence=draft.confidence,
        extractor=draft.extractor,
        **_when(event, draft, relation, meaning, over=over)._asdict(),
    )


def _when(event: Event, draft: StatementDraft, relation: Relation, meaning: Meaning, *, over: bool) -> When:
    """Tell when a claim holds: a date that has passed says since when, until when, or when it happened."""
    at = event.at
    date = draft.date if draft.date is not None and draft.date.start <= at else None
    if not relation.lasts:
        return When(valid_from=date.start, valid_to=date.end) if date else When(valid_from=at, valid_to=at)
    if date and date.end <= at and _FROM_TO.match(date.words):
        return When(valid_from=date.start, begun_by=date.start, valid_to=date.end, ended_by=date.end)
    if over or (date and _UNTIL.match(date.words)):
        return When(valid_to=date.start if date else at, ended_by=at)
    if date and meaning.course is Course.BEGAN:  # whether it still holds was not said
        return When(valid_from=date.start, begun_by=min(date.end, at))
    if date and draft.kind is StatementKind.ATTRIBUTE:
        return When(valid_from=date.start, begun_by=at, holds_at=at)
    return When(holds_at=at)


def _person(name: str) -> Mention:
    return Mention(span=Span(0, 0), text=name, type=EntityType.PERSON, score=1.0)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
