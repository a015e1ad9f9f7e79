"""What an LLM found in an event or proposed for concepts, as it is kept: it can't be asked again offline.

No quote is kept, only its place in the event: what is read back is what was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from everyword.knowledge.claims import ToldFact, overlap
from everyword.knowledge.comparing import SAME_WORDS
from everyword.knowledge.llm.answers import Noted
from everyword.text.terms import question_terms
from everyword.types.concepts import AddEdge, AddNode, MergeNodes, Operation, RemoveNode, UpdateNode, UpdatePlan
from everyword.types.events import Event
from everyword.types.serialization import from_json, to_json
from everyword.types.statements import StatementDraft

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
    bare = replace(reading, noted=tuple(Noted(replace(draft, quote=""), follows) for draft, follows in reading.noted))
    return json.dumps(to_json(bare), ensure_ascii=True, separators=(",", ":"))


def from_body(event: Event, body: str | None) -> LLMReading:
    """Read a reading back; None is one of nothing."""
    if body is None:
        return LLMReading()
    reading: LLMReading = from_json(LLMReading, json.loads(body))
    return replace(reading, noted=tuple(Noted(_quoting(event, draft), follows) for draft, follows in reading.noted))


def _quoting(event: Event, draft: StatementDraft) -> StatementDraft:
    return replace(draft, quote=event.text[draft.span.start : draft.span.end])


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


# The reason of every operation: words of its own would have to be forgotten with those of others.
AS_READ = "as an LLM reads the window"


_OPERATIONS: dict[str, type[Operation]] = {
    kind.__name__: kind for kind in (AddNode, UpdateNode, AddEdge, MergeNodes, RemoveNode)
}


def plan_to_json(plan: UpdatePlan) -> str:
    """Write a plan for the store."""
    operations = [[type(one).__name__, to_json(one)] for one in plan.operations]
    return json.dumps([plan.proposed_by, operations], ensure_ascii=True, separators=(",", ":"))


def plan_of(body: str) -> UpdatePlan:
    """Read a plan back."""
    proposed_by, operations = json.loads(body)
    return UpdatePlan(
        operations=tuple(from_json(_OPERATIONS[kind], one) for kind, one in operations), proposed_by=proposed_by
    )
