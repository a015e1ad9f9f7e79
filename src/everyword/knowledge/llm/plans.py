"""The window -> plans for the concept graph, as an LLM proposes them: concepts, their words and events, links, merges.

It sees the window and nothing else, by numbers. Each entry of its answer becomes an `UpdatePlan` like any that rules
make, and is done whole or not at all: one that is not borne out by the events that it cites takes nothing else along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from everyword.knowledge.concept_labels import LONGEST_DESCRIPTION, LONGEST_LABEL
from everyword.knowledge.llm.grounding import as_written, beyond, unheard
from everyword.knowledge.llm.prompting import PLAN, extractor_of, prompt
from everyword.knowledge.llm.stored_plans import AS_READ
from everyword.models.llm.json_schema import read_json
from everyword.models.protocol import LLM, Schema, well_formed
from everyword.text.rendering import json_text, visible
from everyword.types.concepts import (
    DEFAULT_WEIGHT,
    LEAST_GROUNDS,
    AddEdge,
    AddNode,
    EdgeKind,
    MergeNodes,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
    concept_id,
)
from everyword.types.events import Json

MOST_MADE = 6  # concepts in one answer
MOST_WORDED = 12
MOST_MEMBERS = 24  # events that are put into a concept, or taken out of one
MOST_LINKS = 8
MOST_MERGES = 2  # as with rules, a wrong one takes much along
MOST_REMOVED = 4
MOST_CITED = 12  # events of one operation
SURE = 0.6  # weight of a link that an LLM sees: rules need two events that say so
ANSWER_TOKENS = 4_000

_NUMBERS: Schema = {"type": "array", "items": {"type": "integer"}, "maxItems": MOST_CITED}
_NUMBER: Schema = {"type": "integer"}
_TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: Schema, most: int) -> Schema:
    return {"type": "array", "maxItems": most, "items": item}


_QUOTES = _list(_object(event=_NUMBER, quote=_TEXT), MOST_CITED)
_LINK: Schema = {"type": "string", "enum": [EdgeKind.RELATED_TO.value, EdgeKind.CAUSES.value]}
SCHEMA: Schema = _object(
    removes=_list(_object(concept=_NUMBER, events=_NUMBERS), MOST_REMOVED),
    merges=_list(_object(one=_NUMBER, other=_NUMBER, events=_NUMBERS), MOST_MERGES),
    concepts=_list(_object(label=_TEXT, description=_TEXT, events=_NUMBERS, quotes=_QUOTES), MOST_MADE),
    members=_list(_object(event=_NUMBER, concept=_NUMBER, belongs={"type": "boolean"}), MOST_MEMBERS),
    words=_list(_object(concept=_NUMBER, label=_TEXT, description=_TEXT, quotes=_QUOTES), MOST_WORDED),
    links=_list(_object(**{"from": _NUMBER, "to": _NUMBER, "kind": _LINK, "events": _NUMBERS}), MOST_LINKS),
)


class ShownConcept(NamedTuple):
    """A concept in the window."""

    id: str
    label: str
    description: str
    events: int  # how many it has in all
    by_rules: bool  # nobody but rules has worded it yet


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvent:
    """An event in the window."""

    id: str
    text: str  # as it was said
    line: str  # as it is shown
    speaker: str
    concepts: Mapping[str, EdgeKind]  # that it belongs to, the strongest first


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The window, as an LLM is shown it."""

    space: str
    concepts: tuple[ShownConcept, ...]
    events: tuple[ShownEvent, ...]
    goals: tuple[str, ...] = ()
    domain: str = ""  # what the profile says of the memory

    @property
    def is_worth_a_look(self) -> bool:
        """Tell whether there is anything that rules alone have seen, or enough that they made nothing of."""
        homeless = sum(not one.concepts for one in self.events)
        return any(one.by_rules for one in self.concepts) or homeless >= LEAST_GROUNDS

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
            **({"domain": self.domain} if self.domain else {}),
        }
        return json_text(shown, indent=1)

    def of(self, id: str) -> list[ShownEvent]:
        """List the events that count for a concept, as far as they are shown."""
        return [one for one in self.events if id in one.concepts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What an LLM proposed: plans, and why some are none."""

    extractor: str
    plans: tuple[UpdatePlan, ...] = ()
    refused: tuple[str, ...] = ()


Shown = TypeVar("Shown", ShownConcept, ShownEvent)
Entry = Mapping[str, Any]


class _Refused(Exception):
    """Says why an entry is not let in."""


def propose(llm: LLM, view: View) -> Proposal:
    """Let an LLM look at the window. Raise an LLMError where its answer can't be read at all."""
    reply = llm.complete(system=prompt(PLAN), prompt=view.prompt(), schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    extractor = extractor_of(PLAN, reply.model)
    answered: dict[str, list[Entry]] = read_json(reply.text, SCHEMA)
    reader = _Answer(view, extractor)
    # What is there is put in order before something is added to it, and words come last.
    read: Mapping[str, Callable[[Entry], Iterable[Operation]]] = {
        "removes": reader.removed,
        "merges": reader.merged,
        "concepts": reader.made,
        "members": reader.member,
        "words": reader.worded,
        "links": reader.linked,
    }
    plans: list[UpdatePlan] = []
    refused: list[str] = []
    for part, operations in read.items():
        # An event comes in before another goes: a concept of three may change one of them for another.
        for entry in sorted(answered[part], key=lambda one: not one.get("belongs", True)):
            try:
                plans.append(UpdatePlan(operations=tuple(operations(entry)), proposed_by=extractor))
            except _Refused as reason:
                refused.append(str(reason))
    return Proposal(extractor=extractor, plans=tuple(plans), refused=tuple(refused))


@dataclass(frozen=True, slots=True)
class _Answer:
    """Reads the entries of an answer, and holds each against the window."""

    view: View
    extractor: str
    _worded: set[str] = field(default_factory=set[str])

    def removed(self, entry: Entry) -> Iterable[Operation]:
        concept = self._concept(entry["concept"])
        yield RemoveNode(id=concept.id, reason=AS_READ, grounded_in=self._cited(entry["events"], (concept.id,)))

    def merged(self, entry: Entry) -> Iterable[Operation]:
        pair = [self._concept(entry[end]) for end in ("one", "other")]
        if pair[0].id == pair[1].id:
            raise _Refused("it merges a concept with itself")
        pair.sort(key=lambda one: (-one.events, one.id))  # the stronger absorbs the other
        events = self._cited(entry["events"], [one.id for one in pair])
        yield MergeNodes(id=pair[0].id, absorbed=pair[1].id, reason=AS_READ, grounded_in=events)

    def made(self, entry: Entry) -> Iterable[Operation]:
        events = [self._event(number) for number in dict.fromkeys(entry["events"])]
        if len(events) < LEAST_GROUNDS:
            raise _Refused(f"it makes a concept of {len(events)} events, and {LEAST_GROUNDS} are needed")
        label, description, quotes = self._words(entry, events)
        founders = tuple(one.id for one in events)
        id = concept_id(self.view.space, founders)
        yield AddNode(
            id=id,
            label=label,
            description=description,
            reason=AS_READ,
            grounded_in=founders,
            body={"quotes": quotes, "written_by": self.extractor},
        )
        yield from (_grounding(one, id, EdgeKind.GROUNDS) for one in founders)

    def member(self, entry: Entry) -> Iterable[Operation]:
        event, concept = self._event(entry["event"]), self._concept(entry["concept"])
        kind = event.concepts.get(concept.id)
        if (kind is not None) == entry["belongs"]:
            raise _Refused("it puts an event where it is, or takes it out where it is not")
        if kind is not None:
            yield RemoveNode(
                id=event.id,
                edge=kind,
                target=concept.id,
                reason=AS_READ,
                grounded_in=(event.id,),
            )
        if kind is None:
            yield _grounding(event.id, concept.id, EdgeKind.REINFORCES)

    def worded(self, entry: Entry) -> Iterable[Operation]:
        concept = self._concept(entry["concept"])
        if concept.id in self._worded:
            raise _Refused("it words one concept twice")
        label, description, quotes = self._words(entry, self.view.of(concept.id))
        self._worded.add(concept.id)
        yield UpdateNode(
            id=concept.id,
            label=label,
            description=description,
            body={"quotes": quotes, "written_by": self.extractor},
            reason=AS_READ,
            grounded_in=tuple(dict.fromkeys(str(id) for id, _ in quotes)),
        )

    def linked(self, entry: Entry) -> Iterable[Operation]:
        source, target = (self._concept(entry[end]) for end in ("from", "to"))
        if source.id == target.id:
            raise _Refused("it links a concept to itself")
        yield AddEdge(
            source=source.id,
            target=target.id,
            kind=EdgeKind(entry["kind"]),
            weight=SURE,
            reason=AS_READ,
            grounded_in=self._cited(entry["events"], (source.id, target.id)),
        )

    def _words(self, entry: Entry, events: Sequence[ShownEvent]) -> tuple[str, str, list[list[Json]]]:
        """Read label, description and quotes of a concept of some events: each must be borne out by these."""
        label, description = (well_formed(" ".join(entry[part].split())) for part in ("label", "description"))
        if not 0 < len(label) <= LONGEST_LABEL or not 0 < len(description) <= LONGEST_DESCRIPTION:
            raise _Refused("a label or description is too long or missing")
        own = {one.id for one in events}
        quotes: list[list[Json]] = []
        for one in entry["quotes"]:
            event, quote = self._event(one["event"]), one["quote"].strip()
            place = visible(event.text).find(quote) if quote else -1
            if place < 0:
                raise _Refused(f"nobody said {quote[:LONGEST_LABEL]!r}")
            if event.id not in own:
                raise _Refused("it words a concept by an event that does not belong to it")
            quotes.append([event.id, event.text[place : place + len(quote)]])
        if not quotes:
            raise _Refused("it words a concept and cites nothing")
        texts = [one.text for one in events]
        fault = unheard(label, texts) or beyond(description, texts, [one.speaker for one in events])
        if fault is not None:
            raise _Refused(fault)
        return as_written(label, texts), description, quotes

    def _cited(self, numbers: Sequence[int], concepts: Sequence[str]) -> tuple[str, ...]:
        events = [self._event(number) for number in dict.fromkeys(numbers)]
        own = tuple(one.id for one in events if not one.concepts.keys().isdisjoint(concepts))
        if not own:
            raise _Refused("it cites no event of the concepts that it changes")
        return own

    def _concept(self, number: int) -> ShownConcept:
        return _at(self.view.concepts, number, "concept")

    def _event(self, number: int) -> ShownEvent:
        return _at(self.view.events, number, "event")


def _grounding(event: str, concept: str, kind: EdgeKind) -> AddEdge:
    return AddEdge(
        source=event,
        target=concept,
        kind=kind,
        weight=DEFAULT_WEIGHT[kind],
        reason=AS_READ,
        grounded_in=(event,),
    )


def _at(shown: Sequence[Shown], number: int, what: str) -> Shown:
    if not 0 < number <= len(shown):
        raise _Refused(f"there is no {what} {number} in the window")
    return shown[number - 1]
