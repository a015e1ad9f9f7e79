"""What an LLM found in an event or proposed for concepts, as it is kept: it can't be asked again offline.

No quote is kept, only its place in the event: what is read back is what was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from everyword.knowledge.claims import ToldFact, When, overlap
from everyword.knowledge.comparing import SAME_WORDS
from everyword.knowledge.llm.answers import Noted
from everyword.text.terms import question_terms
from everyword.types.concepts import (
    AddEdge,
    AddNode,
    EdgeKind,
    MergeNodes,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
)
from everyword.types.events import Event, Span
from everyword.types.statements import Category, SaidDate, Slot, Stance, StatementDraft, StatementKind
from everyword.types.times import from_micros, optional_micros, optional_moment

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
    if not overlap(one.span, other.span):
        return False
    return same_words(one.content, other.content)


def same_words(one: str, other: str) -> bool:
    """Tell whether two sentences have nearly all their words in common."""
    mine, theirs = set(question_terms(one)), set(question_terms(other))
    return len(mine & theirs) > SAME_WORDS * len(mine | theirs)


# Fields of a draft that are kept as they are.
_KEPT = "kind content category span about confidence entities negated tags slot value stance".split()


def _draft_to_json(noted: Noted) -> dict[str, Any]:
    draft, date = noted.draft, noted.draft.date
    return {
        **{name: getattr(draft, name) for name in _KEPT},
        "date": date and [optional_micros(date.start), optional_micros(date.end), date.words, date.certain],
        "valid_from": optional_micros(draft.valid_from),
        "valid_to": optional_micros(draft.valid_to),
        "follows": noted.follows,
    }


def _noted(event: Event, extractor: str, held: dict[str, Any]) -> Noted:
    span, date = Span(*held["span"]), held["date"]
    typed: dict[str, Any] = {
        "kind": StatementKind(held["kind"]),
        "category": Category(held["category"]),
        "stance": Stance(held["stance"]),
        "span": span,
        "slot": Slot(*held["slot"]) if held["slot"] else None,
        "entities": tuple(held["entities"]),
        "tags": tuple(held["tags"]),
        "date": SaidDate(from_micros(date[0]), from_micros(date[1]), date[2], date[3]) if date else None,
        "valid_from": optional_moment(held["valid_from"]),
        "valid_to": optional_moment(held["valid_to"]),
    }
    kept: dict[str, Any] = {name: held[name] for name in _KEPT}
    draft = StatementDraft(
        **kept | typed,
        quote=event.text[span.start : span.end],
        event_id=event.id,
        speaker=event.speaker,
        extractor=extractor,
    )
    return Noted(draft, held["follows"])


def _fact_to_json(fact: ToldFact) -> dict[str, Any]:
    return {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "span": fact.quote,
        "when": [optional_micros(moment) for moment in fact.when],
        "confidence": fact.confidence,
    }


def _fact(held: dict[str, Any]) -> ToldFact:
    return ToldFact(
        subject=held["subject"] and Span(*held["subject"]),
        relation=held["relation"],
        object=held["object"] and Span(*held["object"]),
        quote=Span(*held["span"]),
        when=When(*(optional_moment(micros) for micros in held["when"])),
        confidence=held["confidence"],
    )


# The reason of every operation: words of its own would have to be forgotten with those of others.
AS_READ = "as an LLM reads the window"


# The operations of a plan, and the names of their fields in the store.
_WORDING = {"id": "id", "label": "label", "description": "description", "body": "body", "events": "grounded_in"}
_OPERATIONS: Mapping[type[Operation], Mapping[str, str]] = {
    AddNode: _WORDING,
    UpdateNode: _WORDING,
    AddEdge: {"from": "source", "to": "target", "kind": "kind", "weight": "weight", "events": "grounded_in"},
    MergeNodes: {"id": "id", "absorbed": "absorbed", "events": "grounded_in"},
    RemoveNode: {"id": "id", "kind": "edge", "to": "target", "events": "grounded_in"},
}
_BY_NAME = {kind.__name__: kind for kind in _OPERATIONS}


def plan_to_json(plan: UpdatePlan) -> str:
    """Write a plan for the store."""
    operations = [
        {"op": type(one).__name__, **{name: getattr(one, field) for name, field in _OPERATIONS[type(one)].items()}}
        for one in plan.operations
    ]
    body = {"by": plan.proposed_by, "operations": operations}
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"), default=dict)


def plan_of(body: str) -> UpdatePlan:
    """Read a plan back."""
    held: dict[str, Any] = json.loads(body)
    return UpdatePlan(operations=tuple(map(_operation, held["operations"])), proposed_by=held["by"])


def _operation(held: Mapping[str, Any]) -> Operation:
    kind = _BY_NAME[held["op"]]
    fields: dict[str, Any] = {field: held[name] for name, field in _OPERATIONS[kind].items()}
    for edge in fields.keys() & {"kind", "edge"}:
        fields[edge] = None if fields[edge] is None else EdgeKind(fields[edge])
    fields |= {"grounded_in": tuple(fields["grounded_in"]), "reason": AS_READ}
    return kind(**fields)
