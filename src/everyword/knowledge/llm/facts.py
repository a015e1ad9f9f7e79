"""From facts that an LLM answered to places in the event: quotes, names, words and times as they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from everyword.knowledge.claims import Course, ToldFact, When
from everyword.knowledge.llm.grounding import Refused
from everyword.knowledge.llm.scene import Named, Scene
from everyword.models.llm.json_schema import list_schema, object_schema
from everyword.models.protocol import Schema
from everyword.text.dates import Bound, DateMention, Granularity, find_dates
from everyword.text.spans import sentences
from everyword.types.events import Span
from everyword.types.graph import RELATIONS, EntityType, name_key

LONGEST_OBJECT = 80  # characters
MOST_FACTS = 20  # of one pass: a turn that claims more is a document
# Confidence: what the reader finds is sure to a share that was measured; what an LLM finds is not.
MOST_SURE = 0.8

_ITEM: dict[str, Schema] = {
    "quote": {"type": "string"},
    "subject": {"type": "string"},
    "relation": {"type": "string", "enum": list(RELATIONS)},
    "object": {"type": "string"},
    "course": {"type": "string", "enum": [course.value for course in Course]},
    "from": {"type": ["string", "null"]},
    "to": {"type": ["string", "null"]},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
FACTS_SCHEMA = list_schema(object_schema(**_ITEM), MOST_FACTS)


class Claimed(NamedTuple):
    """What came of the facts of an answer."""

    facts: list[ToldFact]
    refused: list[str]  # why, a line each


def claimed(scene: Scene, facts: Sequence[Mapping[str, Any]], extractor: str) -> Claimed:
    """Find in the event what each fact speaks of; say of each that is not let in why."""
    found: dict[tuple[object, ...], ToldFact] = {}
    refused: list[str] = []
    for one in facts:
        try:
            fact = _fact(scene, one)
        except Refused as reason:
            refused.append(f"{extractor}: a fact: {reason}")
            continue
        found.setdefault(same_fact(fact), fact)
    return Claimed(list(found.values()), refused)


def same_fact(fact: ToldFact) -> tuple[object, ...]:
    """Say what makes two facts of one event one."""
    return fact.subject, fact.relation, fact.object, fact.when.valid_to is None


def _fact(scene: Scene, answered: Mapping[str, Any]) -> ToldFact:
    relation = RELATIONS[answered["relation"]]
    quote = _quote(scene, answered["quote"].strip())
    subject = _whom(scene, answered["subject"], None)
    if relation.object is None:
        target = _words(scene, answered["object"].strip(" .,!\"'"), quote)
    else:
        target = _whom(scene, answered["object"], quote)
        if (_type(scene, target) is EntityType.PERSON) != (relation.object is EntityType.PERSON) and not (
            relation.name == "owns_pet"  # a pet has a person's name
        ):
            raise Refused(f"{relation.name} can't have such an object: {answered['object'][:LONGEST_OBJECT]}")
    if subject == target:
        raise Refused("its subject is its object")
    course = _course(relation.lasts, Course(answered["course"]))
    began = _time(scene, quote, answered["from"], beside=course in (Course.BEGAN, Course.HAPPENED))
    ended = _time(scene, quote, answered["to"], beside=course is Course.ENDED and not answered["from"])
    at = scene.event.at
    if any(date is not None and date.start > at for date in (began, ended)):
        raise Refused("it is still to come")
    confidence = min(MOST_SURE, float(answered["confidence"]))
    return ToldFact(
        subject=subject,
        relation=relation.name,
        object=target,
        quote=quote,
        when=when_told(course, began, ended if course is Course.ENDED else None, at),
        confidence=confidence,
    )


def _quote(scene: Scene, quote: str) -> Span:
    fault = quote_fault(quote)
    if fault is not None:
        raise Refused(fault)
    place = place_of(scene.text, quote)
    if not place.end:
        raise Refused(f"its quote is not in the event, or more than once: {quote[:LONGEST_OBJECT]}")
    return place


def _whom(scene: Scene, said: str, quote: Span | None) -> Span | None:
    """Find where the event names somebody or something; None where it is who speaks. An object stands in the quote."""
    name = " ".join(said.split())
    if means_speaker(scene, name):
        return None
    key = name_key(name)
    homes = {one.id for one in scene.entities if key in {name_key(other) for other in (one.name, *one.aliases)}}
    meant = [one for one in scene.named if name_key(one.text) == key] or [
        one for one in scene.named if one.home in homes
    ]
    inside = [one for one in meant if quote is None or quote.start <= one.span.start < quote.end]
    if not inside:
        where = "turn" if quote is None or not meant else "quote"
        raise Refused(f"the {where} does not name {name[:LONGEST_OBJECT]}")
    return inside[0].span


def _words(scene: Scene, words: str, quote: Span) -> Span:
    """Find the words of an object in the quote."""
    if not 1 < len(words) <= LONGEST_OBJECT:
        raise Refused("its object is too long or too short")
    said = scene.text[quote.start : quote.end]
    # Lower case may be longer than what it is of ("İ"): then the place would be another.
    start = said.find(words) if words in said else said.lower().find(words.lower())
    if start < 0 or len(said.lower()) != len(said):
        raise Refused(f"its object is not in the quote: {words}")
    return Span(quote.start + start, quote.start + start + len(words))


def _type(scene: Scene, place: Span | None) -> EntityType:
    found: Named | None = next((one for one in scene.named if one.span == place), None)
    return EntityType.PERSON if found is None else found.type


def _course(lasts: bool, course: Course) -> Course:
    """Let what happens happen, and what lasts last, whatever was answered."""
    if not lasts:
        return Course.HAPPENED
    return Course.BEGAN if course is Course.HAPPENED else course


def _time(scene: Scene, quote: Span, words: str | None, *, beside: bool) -> DateMention | None:
    """Resolve words that say when; where none were pointed at, the time that stands in the quote, if it is `beside`."""
    wanted = (words or "").strip()
    return time_said(scene, quote, wanted) if wanted or beside else None


LONGEST_QUOTE = 600  # characters; a longer one points at nothing
SHORTEST_QUOTE = 4  # characters; less ("I", "no") stands in any text and shows nothing
_SELF = frozenset("i me my we us our speaker user self".split()) | {"the speaker", "the user"}


def quote_fault(quote: str) -> str | None:
    """Say why a quote shows nothing, before it is even looked for."""
    if len(quote) > LONGEST_QUOTE:
        return "its quote is too long to point at anything"
    if quote and len(quote) < SHORTEST_QUOTE:
        return f"its quote is too short to show anything: {quote}"
    return None


def place_of(text: str, quote: str) -> Span:
    """Find the one place of a quote; where there are more or none, an empty span."""
    start = text.find(quote)
    once = bool(quote) and start >= 0 and text.find(quote, start + 1) < 0
    return Span(start, start + len(quote)) if once else Span(0, 0)


def means_speaker(scene: Scene, name: str) -> bool:
    """Tell whether a name, or none, means who speaks."""
    role = (scene.event.role or "").casefold()
    return not name or name.casefold() in _SELF or name.casefold() in (role, scene.speaker.casefold())


def sentences_of(scene: Scene, quote: Span) -> Span:
    """Give the sentences that a quote is of."""
    touched = [one for one in sentences(scene.text) if one.start < quote.end and quote.start < one.end] or [quote]
    return Span(touched[0].start, max(touched[-1].end, quote.end))


def time_said(scene: Scene, quote: Span, when: str) -> DateMention | None:
    """Find the time in the sentences that the quote is of: the one that was pointed at, else the first of the quote."""
    text, around, wanted = scene.event.text, sentences_of(scene, quote), when.casefold()
    mentions = [
        mention
        for mention in find_dates(text[around.start : around.end], scene.event.at, nearest=True)
        if not mention.repeats
    ]
    named = [one for one in mentions if wanted and (one.text.casefold() in wanted or wanted in one.text.casefold())]
    own = [one for one in mentions if quote.start <= around.start + one.span.start < quote.end]
    return next(iter((*named, *own)), None)


_SPAN_OF = {
    Granularity.DAY: 1,
    Granularity.WEEKEND: 2,
    Granularity.WEEK: 7,
    Granularity.MONTH: 31,
    Granularity.SEASON: 92,
    Granularity.QUARTER: 92,
    Granularity.YEAR: 366,
    Granularity.DECADE: 3653,
}


def _ended(date: DateMention | None, at: datetime) -> When:
    if date is None:
        return When(valid_to=at)
    return When(valid_to=date.start, ended_by=_by(date, at))


def when_told(course: Course, began: DateMention | None, ended: DateMention | None, at: datetime) -> When:
    """Tell when a claim is true whose times somebody else pointed at."""
    if course is Course.HAPPENED:
        return When(valid_from=began.start, valid_to=min(began.end, at)) if began else When(valid_from=at, valid_to=at)
    since, by = (None, None) if began is None else (began.start, _by(began, at))
    if course is Course.ENDED:
        return _ended(ended, at)._replace(valid_from=since, begun_by=by)
    if course is Course.BEGAN and began is None:
        since = by = at
    return When(valid_from=since, begun_by=by, holds_at=at if course is Course.HOLDS else None)


def _by(date: DateMention, at: datetime) -> datetime:
    """Say when it had begun, or ended, for certain: at the end of the unit that was named, but before it was said."""
    try:
        end = date.start + timedelta(days=_SPAN_OF.get(date.granularity, 1))
    except OverflowError:
        end = at
    return max(date.start, min(end if date.bound is Bound.SINCE else date.end, at))
