"""Facts that an LLM reads in an event -> claims. All of one is places in the event: only what was said gets in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from everyword.knowledge.claims import Names
from everyword.knowledge.names import kin_name
from everyword.knowledge.relations import When
from everyword.types.events import Event, Span
from everyword.types.graph import RELATIONS, EntityType, FactDraft, Mention, name_key
from everyword.types.trust import source_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldFact:
    """A subject, a relation and an object, by their places in the event; None is who speaks."""

    subject: Span | None
    relation: str
    object: Span | None
    quote: Span
    when: When
    confidence: float


def told_facts(
    event: Event, speaker: str, mentions: Sequence[Mention], told: Iterable[ToldFact], index: Names, extractor: str
) -> list[FactDraft]:
    """Make claims of what an LLM read; whoever is no name in the event any more leaves its claim out. Pure."""
    by_place = {mention.span: mention for mention in mentions}
    drafts = (_draft(event, speaker, by_place, one, index, extractor) for one in told)
    return [draft for draft in drafts if draft is not None]


def _draft(
    event: Event, speaker: str, mentions: dict[Span, Mention], told: ToldFact, index: Names, extractor: str
) -> FactDraft | None:
    relation = RELATIONS.get(told.relation)
    subject = _named(speaker) if told.subject is None else mentions.get(told.subject)
    if relation is None or subject is None:
        return None
    if relation.object is None:
        words = "" if told.object is None else event.text[told.object.start : told.object.end]
        object, object_form, object_name = name_key(words), "", words
    else:
        other = _named(speaker) if told.object is None else mentions.get(told.object)
        if other is None:
            return None
        object, object_form = index.id_of(other, speaker), index.form_of(other, speaker)
        object_name = _shown(other, speaker)
    if not object or object == (subject_id := index.id_of(subject, speaker)):
        return None
    return FactDraft(
        subject=subject_id,
        subject_name=_shown(subject, speaker),
        subject_form=index.form_of(subject, speaker),
        relation=relation.name,
        object=object,
        object_name=object_name,
        object_form=object_form,
        event_id=event.id,
        span=told.quote,
        quote=event.text[told.quote.start : told.quote.end],
        said_at=event.at,
        recorded_at=event.recorded_at,
        source=source_of(event),
        confidence=told.confidence,
        extractor=extractor,
        **told.when._asdict(),
    )


def _named(name: str) -> Mention:
    return Mention(span=Span(0, 0), text=name, type=EntityType.PERSON, score=1.0)


def _shown(mention: Mention, speaker: str) -> str:
    return kin_name(mention.owner or speaker, mention.kin) if mention.bare and mention.kin else mention.text
