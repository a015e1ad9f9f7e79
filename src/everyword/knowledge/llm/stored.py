"""What an LLM found in an event, as it is kept: it can't be asked again offline, so that its answer is kept like a log.

No quote is kept, only its place in the event: what is read back is what was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from everyword.knowledge.comparing import SAME_WORDS
from everyword.knowledge.llm.statements import Noted
from everyword.knowledge.llm.told import ToldFact
from everyword.knowledge.relations import When
from everyword.text.terms import question_terms
from everyword.types.events import Event, Span
from everyword.types.statements import Category, SaidDate, Slot, Stance, StatementDraft, StatementKind
from everyword.types.times import from_micros, to_micros

_FAMILY = "llm/"  # whatever the versions of the prompts and the model


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReading:
    """What an LLM found in an event, and what of its answer was refused and why."""

    extractor: str = ""
    noted: tuple[Noted, ...] = ()
    facts: tuple[ToldFact, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def words(self) -> Iterator[str]:
        """Give every text in it that the LLM worded."""
        yield from self.refused
        for draft, _ in self.noted:
            yield from (draft.content, draft.about or "", draft.value or "", *draft.entities)


def to_body(reading: LLMReading) -> str:
    """Write a reading as JSON."""
    body = {
        "extractor": reading.extractor,
        "drafts": [_draft_to_json(noted) for noted in reading.noted],
        "facts": [_fact_to_json(fact) for fact in reading.facts],
        "refused": reading.refused,
    }
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def from_body(event: Event, body: str | None) -> LLMReading:
    """Read a reading back; None is one of nothing."""
    if body is None:
        return LLMReading()
    held: dict[str, Any] = json.loads(body)
    extractor = held["extractor"]
    noted = tuple(_noted(event, extractor, one) for one in held["drafts"])
    facts = tuple(_fact(one) for one in held.get("facts", ()))  # older readings have none
    return LLMReading(extractor=extractor, noted=noted, facts=facts, refused=tuple(held["refused"]))


def beside(read: Sequence[StatementDraft], noted: Sequence[Noted]) -> tuple[Noted, ...]:
    """Leave out what the reader found as well: its own is there before the LLM answers, and needs none."""
    return tuple(one for one in noted if not any(is_same(one.draft, other) for other in read))


def is_of_llm(draft: StatementDraft) -> bool:
    """Tell whether an LLM found it."""
    return draft.extractor.startswith(_FAMILY)


def is_same(one: StatementDraft, other: StatementDraft) -> bool:
    """Tell whether two drafts of one event are one statement."""
    if one.kind is not other.kind or (one.about or "").casefold() != (other.about or "").casefold():
        return False
    if (one.span, one.slot) == (other.span, other.slot):
        return True
    if not (one.span.start < other.span.end and other.span.start < one.span.end):
        return False
    return same_words(one.content, other.content)


def same_words(one: str, other: str) -> bool:
    """Tell whether two sentences have nearly all their words in common."""
    mine, theirs = set(question_terms(one)), set(question_terms(other))
    return len(mine & theirs) > SAME_WORDS * len(mine | theirs)


def _draft_to_json(noted: Noted) -> dict[str, Any]:
    draft, date = noted.draft, noted.draft.date
    return {
        "kind": draft.kind,
        "content": draft.content,
        "category": draft.category,
        "span": draft.span,
        "about": draft.about,
        "confidence": draft.confidence,
        "date": date and [_micros(date.start), _micros(date.end), date.words, date.certain],
        "valid_from": _micros(draft.valid_from),
        "valid_to": _micros(draft.valid_to),
        "entities": draft.entities,
        "negated": draft.negated,
        "tags": draft.tags,
        "slot": draft.slot,
        "value": draft.value,
        "stance": draft.stance,
        "follows": noted.follows,
    }


def _noted(event: Event, extractor: str, held: dict[str, Any]) -> Noted:
    span, date = Span(*held["span"]), held["date"]
    draft = StatementDraft(
        kind=StatementKind(held["kind"]),
        content=held["content"],
        category=Category(held["category"]),
        quote=event.text[span.start : span.end],
        event_id=event.id,
        span=span,
        speaker=event.speaker,
        about=held["about"],
        confidence=held["confidence"],
        date=SaidDate(from_micros(date[0]), from_micros(date[1]), date[2], date[3]) if date else None,
        valid_from=_moment(held["valid_from"]),
        valid_to=_moment(held["valid_to"]),
        entities=tuple(held["entities"]),
        negated=held["negated"],
        tags=tuple(held["tags"]),
        slot=Slot(*held["slot"]) if held["slot"] else None,
        value=held["value"],
        stance=Stance(held["stance"]),
        extractor=extractor,
    )
    return Noted(draft, held["follows"])


def _fact_to_json(fact: ToldFact) -> dict[str, Any]:
    return {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "span": fact.quote,
        "when": [_micros(moment) for moment in fact.when],
        "confidence": fact.confidence,
    }


def _fact(held: dict[str, Any]) -> ToldFact:
    return ToldFact(
        subject=held["subject"] and Span(*held["subject"]),
        relation=held["relation"],
        object=held["object"] and Span(*held["object"]),
        quote=Span(*held["span"]),
        when=When(*(_moment(micros) for micros in held["when"])),
        confidence=held["confidence"],
    )


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)[0]


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
