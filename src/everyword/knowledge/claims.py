"""Claims of facts: who, which relation, what, and when it holds, from statements and from what an LLM read.

Relations have the reader's names at first. People who labelled text chose these freely, so several mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from everyword.knowledge.names import NameIndex
from everyword.text.spans import begins_with_pronoun, points_back
from everyword.text.terms import STOPWORDS
from everyword.types.events import Event, Span
from everyword.types.graph import RELATIONS, EntityType, FactDraft, Mention, Relation, name_key
from everyword.types.statements import Stance, StatementDraft, StatementKind
from everyword.types.trust import source_of


class Course(StrEnum):
    """What a claim says about time."""

    HOLDS = "holds"
    BEGAN = "began"
    ENDED = "ended"
    HAPPENED = "happened"


class When(NamedTuple):
    """The times of a claim, as a `FactDraft` has them."""

    valid_from: datetime | None = None
    begun_by: datetime | None = None
    holds_at: datetime | None = None
    valid_to: datetime | None = None
    ended_by: datetime | None = None


class Meaning(NamedTuple):
    """What a name of the reader means."""

    relation: str
    course: Course = Course.HOLDS
    turned: bool = False  # the value is the subject: "my mother Rosa" makes Rosa a parent


# Words for relations between people. The reader confuses them (an aunt is a sibling), the words do not.
_KIN = {
    "sibling_of": "sister brother sibling twin",
    "parent_of": "son daughter child kid",
    "married_to": "wife husband spouse",
    "partner_of": "partner girlfriend boyfriend fiancé fiancée fiance fiancee",
    "relative_of": "aunt auntie uncle cousin niece nephew grandma grandmother grandpa grandfather grandson",
    "friend_of": "friend mate",
    "colleague_of": "colleague coworker",
    "reports_to": "boss manager supervisor",
    "knows": "neighbour neighbor teacher dentist doctor landlord landlady lawyer coach",
}
_PARENTS = "mum mom mother dad father".split()
_SAME = {
    "comes_from": "from",
    "born_on": "birthday",
    "located_in": "location",
    "has_role": "job role position title",
    "studies": "learns",
    "married_to": "spouse husband wife",
    "partner_of": "partner",
    "parent_of": "child",
    "sibling_of": "sibling",
    "relative_of": "cousin uncle aunt brother_in_law",
    "friend_of": "friend",
    "colleague_of": "colleague",
    "reports_to": "boss supervisor",
    "knows": "neighbour teacher contact",
    "owns_pet": "pet",
    "likes": "loves prefers interested_in favourite_team favorite_team",
}
_MEANINGS: dict[str, Meaning] = {
    **{name: Meaning(relation) for relation, names in _SAME.items() for name in names.split()},
    "parent": Meaning("parent_of", turned=True),
    "moved_to": Meaning("lives_in", Course.BEGAN),
    "starts_job": Meaning("works_at", Course.BEGAN),
    "worked_at": Meaning("works_at", Course.ENDED),
    "visits": Meaning("visited", Course.HAPPENED),
    "travels_to": Meaning("visited", Course.HAPPENED),
}


_KIN_MEANINGS: dict[str, Meaning] = {
    **{word: Meaning(relation) for relation, words in _KIN.items() for word in words.split()},
    **dict.fromkeys(_PARENTS, Meaning("parent_of", turned=True)),
}
_KIN_WORD = re.compile(
    rf"\b({'|'.join(sorted(_KIN_MEANINGS, key=len, reverse=True))})s?\b(-in-law| in law)?", re.IGNORECASE
)
BETWEEN_PEOPLE = frozenset((*_KIN, "parent_of"))


def kin_in(quote: str) -> Meaning | None:
    """Find the one relation between people that a quote names; None if it names none, or several."""
    found = {
        Meaning("relative_of") if match[2] else _KIN_MEANINGS[match[1].casefold()]
        for match in _KIN_WORD.finditer(quote)
    }
    return found.pop() if len(found) == 1 else None


def meaning_of(name: str | None) -> Meaning | None:
    """Look up what a name means as a relation of facts; None if it is none."""
    if name is None:
        return None
    known = RELATIONS.get(name)
    if known is not None:
        return Meaning(name, Course.HOLDS if known.lasts else Course.HAPPENED)
    return _MEANINGS.get(name)


def compared_as(name: str | None) -> str | None:
    """Give the name under which a relation is compared: "moved_to" and "lives_in" are about the same thing."""
    meaning = meaning_of(name)
    return meaning.relation if meaning is not None else name


LEAST_CONFIDENCE = 0.5  # of a statement that makes a claim
_KINDS = frozenset(map(StatementKind, "attribute fact preference relationship habit event".split()))
# Dates of a state that is over: "from 2015 to 2019", "until March".
_FROM_TO = re.compile(r"(?:from|between)\s.+\s(?:to|until|till|through|and)\s", re.IGNORECASE)
_UNTIL = re.compile(r"(?:until|till|up to)\s", re.IGNORECASE)
_HAD = frozenset(("owns", "owns_pet", "likes", "budget", "rent", "salary", "deadline", "diet"))  # one's own, by "my"
_OTHERS = re.compile(r"(?:my|our|his|her|their|he|she|they)\b", re.IGNORECASE)
_FEELINGS = frozenset(("likes", "dislikes"))
_OF_PEOPLE = frozenset((*BETWEEN_PEOPLE, "owns_pet"))  # whose subject is a person
# In 15,055 turns of talk `_is_clear` and the types of names leave out 239 of 1,831 facts, some 20 of them right.
_WORD = re.compile(r"[\w'’]+")
_DEGREE = re.compile(r"(?:so|such|too|very|really|quite)\s", re.IGNORECASE)  # what it is like, not what is liked
_DENIED = re.compile(r"\b(?:no|not|never|cannot|dont|\w+n['’]t)\b[^.,;:]*\Z", re.IGNORECASE)  # what follows at once
_VALUE_SCORE = 0.6  # of a name that is one only because a relation needs one: "lives in porto"


def claims_of(
    event: Event, drafts: Iterable[StatementDraft], mentions: Sequence[Mention], index: NameIndex
) -> list[FactDraft]:
    """Make the claims of an event's statements. Pure."""
    found = (_claim(event, draft, mentions, index) for draft in drafts)
    return [one for one in found if one is not None]


def named_values(event: Event, drafts: Iterable[StatementDraft], mentions: Sequence[Mention]) -> list[Mention]:
    """Take values as names where their relation needs one and the reader saw none."""
    found: list[Mention] = []
    for draft in drafts:
        meaning, span = _meaning(draft), value_span(event, draft)
        type = RELATIONS[meaning.relation].object if meaning is not None else None
        if type is None or span is None or any(overlap(one.span, span) for one in (*mentions, *found)):
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
    elif meaning is not None and meaning.relation not in _HAD:
        # A statement about its speaker may speak of somebody else: "My sister Maria lives in Porto".
        meaning = None if draft.about == draft.speaker and _OTHERS.match(draft.quote) else meaning
    if meaning is None or not _is_clear(draft, draft.value, meaning.relation):
        return None
    if draft.kind is not StatementKind.EVENT or meaning.course is not Course.HOLDS:
        return meaning
    # What happened may begin a state: "I moved to Faro". "I fed the cat" begins none.
    return meaning._replace(course=Course.BEGAN) if RELATIONS[meaning.relation].single else None


def _is_clear(draft: StatementDraft, value: str, relation: str) -> bool:
    """Tell whether a value says by itself what the relation is to, and the statement does not deny it unnoticed."""
    own = meaning_of(name_key(value).replace(" ", "_"))
    if _DEGREE.match(value) or (own is not None and own.relation == relation):
        return False  # "too narrow", "I got the job"
    if relation == "dislikes":
        if draft.negated:  # "I don't like" is read as this, too
            return False
    elif not draft.negated and _DENIED.search(draft.quote.partition(value)[0]):
        return False
    if any(name in value for name in draft.entities):
        return True
    if relation in _FEELINGS and draft.about == draft.speaker and begins_with_pronoun(draft.quote):
        return False  # "it was a great day": the value is what "it" is
    return not points_back(value) and any(word.casefold() not in STOPWORDS for word in _WORD.findall(value))


def _claim(event: Event, draft: StatementDraft, mentions: Sequence[Mention], index: NameIndex) -> FactDraft | None:
    meaning, span = _meaning(draft), value_span(event, draft)
    if meaning is None or span is None or draft.about is None or draft.value is None:
        return None
    relation = RELATIONS[meaning.relation]
    other: Mention | None = None
    if relation.object is not None:
        other = next((one for one in mentions if overlap(one.span, span)), None)
        if other is None or (relation.object is EntityType.PERSON) != (other.type is EntityType.PERSON):
            return None
        place = relation.object is EntityType.ORGANISATION and other.type is EntityType.PLACE
        if place and draft.kind is StatementKind.EVENT:
            return None  # "I got a job in Halifax"; who says "I work at" a place is employed there
    subject = _person(draft.about)
    same_name = {one.type for one in mentions if name_key(one.text) == name_key(subject.text)}
    if relation.name in _OF_PEOPLE and same_name and EntityType.PERSON not in same_name:
        return None
    if meaning.turned and other is not None:
        subject, other = other, subject
    over = draft.stance is Stance.ENDED or draft.negated or meaning.course is Course.ENDED
    if over and not relation.lasts:
        return None
    return _fact_draft(
        event,
        subject,
        relation,
        other or draft.value,
        index,
        span=draft.span,
        confidence=draft.confidence,
        extractor=draft.extractor,
        when=_when(event, draft, relation, meaning, over=over),
    )


def _fact_draft(
    event: Event,
    subject: Mention,
    relation: Relation,
    object: Mention | str,
    index: NameIndex,
    *,
    span: Span,
    confidence: float,
    extractor: str,
    when: When,
) -> FactDraft | None:
    """Make a claim about a subject and a name, or words; None if it has no object, or one that is its subject."""
    named = isinstance(object, Mention)
    form = index.form_of(object) if named else ""
    subject_id, object_id = index.form_of(subject), form if named else name_key(object)
    if not object_id or object_id == subject_id:
        return None
    return FactDraft(
        subject=subject_id,
        subject_name=subject.text,
        subject_form=subject_id,
        relation=relation.name,
        object=object_id,
        object_name=object.text if named else object,
        object_form=form,
        event_id=event.id,
        span=span,
        quote=event.text[span.start : span.end],
        said_at=event.at,
        recorded_at=event.recorded_at,
        source=source_of(event),
        confidence=confidence,
        extractor=extractor,
        **when._asdict(),
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


def overlap(one: Span, other: Span) -> bool:
    """Tell whether two spans have a character in common."""
    return one.start < other.end and other.start < one.end


class ToldFact(Struct, frozen=True, kw_only=True):
    """A subject, a relation and an object, by their places in the event; None is who speaks."""

    subject: Span | None
    relation: str
    object: Span | None
    quote: Span
    when: When
    confidence: float


def told_facts(
    event: Event, speaker: str, mentions: Sequence[Mention], told: Iterable[ToldFact], index: NameIndex, extractor: str
) -> list[FactDraft]:
    """Make claims of what an LLM read; whoever is no name in the event any more leaves its claim out. Pure."""
    by_place: dict[Span | None, Mention] = {None: _person(speaker), **{mention.span: mention for mention in mentions}}
    drafts: list[FactDraft] = []
    for one in told:
        relation, subject = RELATIONS.get(one.relation), by_place.get(one.subject)
        if relation is None or subject is None:
            continue
        if relation.object is not None:
            target = by_place.get(one.object)
        else:
            target = "" if one.object is None else event.text[one.object.start : one.object.end]
        draft = target and _fact_draft(
            event,
            subject,
            relation,
            target,
            index,
            span=one.quote,
            confidence=one.confidence,
            extractor=extractor,
            when=one.when,
        )
        if draft:
            drafts.append(draft)
    return drafts
