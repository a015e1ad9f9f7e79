"""The window -> a plan for the concept graph, as an LLM proposes it: words for concepts, links between them, merges.

It sees the window and nothing else, by numbers. What it answers becomes an `UpdatePlan` like any that rules make; one
operation that is not borne out by the events that it cites refuses the plan whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from recollect.core.folding import AddEdge, EdgeKind, MergeNodes, Operation, UpdateNode, UpdatePlan
from recollect.core.values import Json
from recollect.fold.llm.kept import AS_READ
from recollect.fold.llm.prompting import PLAN, extractor_of, prompt
from recollect.fold.llm.said import beyond
from recollect.fold.wording import LONGEST_DESCRIPTION, LONGEST_LABEL
from recollect.inference.llm.schema import read_json
from recollect.inference.protocol import LLM, Schema
from recollect.inference.text import well_formed

MOST_WORDED = 12  # concepts in one answer
MOST_LINKS = 8
MOST_MERGES = 2  # as with rules, a wrong one takes much along
MOST_CITED = 6  # events of one operation
SURE = 0.6  # weight of a link that an LLM sees: rules need two events that say so
ANSWER_TOKENS = 2_500

_NUMBERS: Schema = {"type": "array", "items": {"type": "integer"}, "maxItems": MOST_CITED}
_QUOTE: dict[str, Schema] = {"event": {"type": "integer"}, "quote": {"type": "string"}}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: Schema, most: int) -> Schema:
    return {"type": "array", "maxItems": most, "items": item}


SCHEMA: Schema = _object(
    {
        "words": _list(
            _object(
                {
                    "concept": {"type": "integer"},
                    "label": {"type": "string"},
                    "description": {"type": "string"},
                    "quotes": _list(_object(_QUOTE), MOST_CITED),
                }
            ),
            MOST_WORDED,
        ),
        "links": _list(
            _object(
                {
                    "from": {"type": "integer"},
                    "to": {"type": "integer"},
                    "kind": {"type": "string", "enum": [EdgeKind.RELATED_TO.value, EdgeKind.CAUSES.value]},
                    "events": _NUMBERS,
                }
            ),
            MOST_LINKS,
        ),
        "merges": _list(
            _object({"one": {"type": "integer"}, "other": {"type": "integer"}, "events": _NUMBERS}), MOST_MERGES
        ),
    }
)


class ShownConcept(NamedTuple):
    """A concept in the window."""

    id: str
    label: str
    description: str
    events: int  # how many it has in all
    by_rules: bool  # nobody but rules has worded it yet


class ShownEvent(NamedTuple):
    """An event in the window."""

    id: str
    text: str  # as it was said
    line: str  # as it is shown
    speaker: str
    concepts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The window, as an LLM is shown it."""

    concepts: tuple[ShownConcept, ...]
    events: tuple[ShownEvent, ...]
    goals: tuple[str, ...] = ()

    def prompt(self) -> str:
        """Write the window as JSON, so that no text can pose as another part."""
        numbers = {one.id: number for number, one in enumerate(self.concepts, 1)}
        shown = {
            "concepts": [
                {"number": number, "label": one.label, "description": one.description, "worded": not one.by_rules}
                for number, one in enumerate(self.concepts, 1)
            ],
            "events": [
                {
                    "number": number,
                    "text": one.line,
                    "concepts": [numbers[id] for id in one.concepts if id in numbers],
                }
                for number, one in enumerate(self.events, 1)
            ],
            "goals": list(self.goals),
        }
        return well_formed(json.dumps(shown, ensure_ascii=False, indent=1))


class Proposal(NamedTuple):
    """What an LLM proposed: a plan, or why it is none."""

    extractor: str
    plan: UpdatePlan
    refused: str | None


Shown = TypeVar("Shown", ShownConcept, ShownEvent)


class _Refused(Exception):
    """Says why a plan is not let in."""


def propose(llm: LLM, view: View) -> Proposal:
    """Let an LLM look at the window. Raise an LLMError where its answer can't be read at all."""
    reply = llm.complete(system=prompt(PLAN), prompt=view.prompt(), schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    extractor = extractor_of(PLAN, reply.model)
    answered: dict[str, list[dict[str, Any]]] = read_json(reply.text, SCHEMA)
    try:
        operations = tuple(_operations(view, answered, extractor))
    except _Refused as reason:
        return Proposal(extractor, UpdatePlan(proposed_by=extractor), str(reason))
    return Proposal(extractor, UpdatePlan(operations=operations, proposed_by=extractor), None)


def _operations(view: View, answered: Mapping[str, Sequence[Mapping[str, Any]]], extractor: str) -> Iterable[Operation]:
    worded: list[Operation] = [_worded(view, one, extractor) for one in answered["words"]]
    linked: list[Operation] = [_linked(view, one) for one in answered["links"]]
    merged = [_merged(view, one) for one in answered["merges"]]
    touched = [one.id for one in worded if isinstance(one, UpdateNode)]
    joined = [id for one in merged for id in (one.id, one.absorbed)]
    if len(set(touched)) < len(touched) or len(set(joined)) < len(joined):
        raise _Refused("it changes one concept twice")
    gone = {one.absorbed for one in merged}
    ends = {id for one in linked if isinstance(one, AddEdge) for id in (one.source, one.target)}
    if gone & {*touched, *ends}:
        raise _Refused("it words or links a concept that it merges away")
    return [*merged, *worded, *linked]


def _worded(view: View, answered: Mapping[str, Any], extractor: str) -> UpdateNode:
    concept = _at(view.concepts, answered["concept"], "concept")
    label, description = (well_formed(" ".join(answered[part].split())) for part in ("label", "description"))
    if not 0 < len(label) <= LONGEST_LABEL or not 0 < len(description) <= LONGEST_DESCRIPTION:
        raise _Refused("a label or description is too long or missing")
    quotes: list[tuple[str, str]] = []
    cited: list[ShownEvent] = []
    for one in answered["quotes"]:
        event = _at(view.events, one["event"], "event")
        quote = one["quote"].strip()
        if not quote or quote not in event.text:
            raise _Refused(f"nobody said {quote[:LONGEST_LABEL]!r}")
        if concept.id not in event.concepts:
            raise _Refused("it words a concept by an event that does not belong to it")
        quotes.append((event.id, quote))
        cited.append(event)
    if not quotes:
        raise _Refused("it words a concept and cites nothing")
    fault = beyond(f"{label}. {description}", [one.text for one in cited], [one.speaker for one in cited])
    if fault is not None:
        raise _Refused(fault)
    body: dict[str, Json] = {"quotes": [list(one) for one in quotes], "written_by": extractor}
    return UpdateNode(
        id=concept.id,
        label=label,
        description=description,
        body=body,
        reason=AS_READ,
        grounded_in=tuple(dict.fromkeys(id for id, _ in quotes)),
    )


def _linked(view: View, answered: Mapping[str, Any]) -> AddEdge:
    source, target = (_at(view.concepts, answered[end], "concept") for end in ("from", "to"))
    if source.id == target.id:
        raise _Refused("it links a concept to itself")
    return AddEdge(
        source=source.id,
        target=target.id,
        kind=EdgeKind(answered["kind"]),
        weight=SURE,
        reason=AS_READ,
        grounded_in=_cited(view, answered["events"], (source.id, target.id)),
    )


def _merged(view: View, answered: Mapping[str, Any]) -> MergeNodes:
    pair = [_at(view.concepts, answered[end], "concept") for end in ("one", "other")]
    if pair[0].id == pair[1].id:
        raise _Refused("it merges a concept with itself")
    pair.sort(key=lambda one: (-one.events, one.id))  # the stronger absorbs the other
    events = _cited(view, answered["events"], tuple(one.id for one in pair))
    return MergeNodes(id=pair[0].id, absorbed=pair[1].id, reason=AS_READ, grounded_in=events)


def _cited(view: View, numbers: Sequence[int], concepts: Sequence[str]) -> tuple[str, ...]:
    events = [_at(view.events, number, "event") for number in dict.fromkeys(numbers)]
    own = [one.id for one in events if set(one.concepts) & set(concepts)]
    if not own or len(own) < len(events):
        raise _Refused("it cites no event, or one that belongs to neither concept")
    return tuple(own)


def _at(shown: Sequence[Shown], number: int, what: str) -> Shown:
    if not 0 < number <= len(shown):
        raise _Refused(f"there is no {what} {number} in the window")
    return shown[number - 1]
