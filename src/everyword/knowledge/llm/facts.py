"""From facts that an LLM answered to places in the event: names by the table of entities, words as they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from everyword.knowledge.llm.pointing import means_speaker, place_of, quote_fault, time_said
from everyword.knowledge.llm.scene import Named, Scene
from everyword.knowledge.llm.told import ToldFact
from everyword.knowledge.llm.when import when_told
from everyword.knowledge.relations import Course
from everyword.models.protocol import Schema
from everyword.text.dates import DateMention
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
FACTS_SCHEMA: Schema = {
    "type": "array",
    "maxItems": MOST_FACTS,
    "items": {"type": "object", "properties": _ITEM, "required": list(_ITEM), "additionalProperties": False},
}


class Claimed(NamedTuple):
    """What came of the facts of an answer."""

    facts: list[ToldFact]
    refused: list[str]  # why, a line each


class _Refused(Exception):
    """Says why a fact is not let in."""


def claimed(scene: Scene, facts: Sequence[Mapping[str, Any]], extractor: str) -> Claimed:
    """Find in the event what each fact speaks of; say of each that is not let in why."""
    found: dict[tuple[object, ...], ToldFact] = {}
    refused: list[str] = []
    for one in facts:
        try:
            fact = _fact(scene, one)
        except _Refused as reason:
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
            raise _Refused(f"{relation.name} can't have such an object: {answered['object'][:LONGEST_OBJECT]}")
    if subject == target:
        raise _Refused("its subject is its object")
    course = _course(relation.lasts, Course(answered["course"]))
    began = _time(scene, quote, answered["from"], beside=course in (Course.BEGAN, Course.HAPPENED))
    ended = _time(scene, quote, answered["to"], beside=course is Course.ENDED and not answered["from"])
    at = scene.event.at
    if any(date is not None and date.start > at for date in (began, ended)):
        raise _Refused("it is still to come")
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
        raise _Refused(fault)
    place = place_of(scene.text, quote)
    if not place.end:
        raise _Refused(f"its quote is not in the event, or more than once: {quote[:LONGEST_OBJECT]}")
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
        raise _Refused(f"the {where} does not name {name[:LONGEST_OBJECT]}")
    return inside[0].span


def _words(scene: Scene, words: str, quote: Span) -> Span:
    """Find the words of an object in the quote."""
    if not 1 < len(words) <= LONGEST_OBJECT:
        raise _Refused("its object is too long or too short")
    said = scene.text[quote.start : quote.end]
    # Lower case may be longer than what it is of ("İ"): then the place would be another.
    start = said.find(words) if words in said else said.lower().find(words.lower())
    if start < 0 or len(said.lower()) != len(said):
        raise _Refused(f"its object is not in the quote: {words}")
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
