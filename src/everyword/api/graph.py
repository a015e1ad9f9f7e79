"""`memory.graph`: entities, what was true of them and when, and which names mean the same one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from everyword.api.arguments import NO_LIMIT, Time, checked_count, checked_limit, checked_span, time_or_none
from everyword.api.concepts import list_concepts, quote_of
from everyword.api.facts import checked_entity_name, facts_about, find_one, list_entities, list_facts
from everyword.api.intents import read_intents
from everyword.api.scope import Scope, public
from everyword.errors import InvalidInput, NotFound
from everyword.knowledge.names import describe_edit, in_window, with_names
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import CONCEPTS, FACTS, Edit, FactFilter
from everyword.types.concepts import Concept, decayed
from everyword.types.graph import Entity, EntityEdit, Fact, Map, MapEdge, MapNode, name_key
from everyword.types.intents import LIVE, Intent
from everyword.types.times import as_datetime, from_micros, to_micros


class Graph:
    """What a memory knows of people, places, projects and things."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @public
    def entities(self, *, type: str | None = None, prefix: str | None = None, limit: int | None = None) -> list[Entity]:
        """List people, organisations, projects, places, things and topics, those that are spoken of most first.

        type: "person", "organisation", "project", "place", "thing" or "topic". prefix: how one of its names begins.
        """
        return list_entities(self.scope, type=type, prefix=prefix, limit=limit)

    @public
    def entity(self, name: str) -> Entity:
        """Read one entity by any of its names, or by its id."""
        with self.scope.reader(FACTS) as reader:
            return find_one(self.scope, reader, name)

    @public
    def timeline(
        self, entity: str, *, since: Time | None = None, until: Time | None = None, limit: int | None = None
    ) -> list[Fact]:
        """List what was true of somebody or something, and what happened to it, in the order of time.

        since/until: only what held or happened in this window (until is exclusive).
        """
        first, last = time_or_none(since, "since"), time_or_none(until, "until")
        checked_span(first, last)
        most = checked_limit(limit)
        with self.scope.reader(FACTS) as reader:
            home = find_one(self.scope, reader, entity).id
            facts = facts_about(self.scope, reader, home, FactFilter(), None, as_object=True)
        within = [fact for fact in facts if in_window(fact, first, last)]
        return sorted(within, key=lambda fact: (fact.valid_from or fact.said_at, fact.id))[:most]

    @public
    def held(self, since: Time, until: Time, *, subject: str | None = None, limit: int = 100) -> list[Fact]:
        """List the facts that were true in a span of time, those that were so for the longest part of it first."""
        begin, end = as_datetime(since, "since"), as_datetime(until, "until")
        checked_span(begin, end)
        most = checked_count("limit", limit, NO_LIMIT)
        if self.scope.wing is not None:  # what a wing knows is folded from its own events
            facts = [one for one in list_facts(self.scope, subject) if in_window(one, begin, end)]
            return sorted(facts, key=lambda one: (-_length(one, begin, end), one.id))[:most]
        with self.scope.reader(FACTS) as reader:
            home = None if subject is None else find_one(self.scope, reader, subject).id
            first, last = to_micros(begin)[0], to_micros(end)[0]
            facts = reader.longest_facts(home, since=first, until=last, limit=most)
            return with_names(reader, facts)

    @public
    def conflicts(self) -> list[Fact]:
        """List facts that contradict each other at one time, with no later statement to decide between them."""
        with self.scope.reader(FACTS) as reader:
            return facts_about(self.scope, reader, None, FactFilter(conflicts=True), None)

    @public
    def map(self, *, limit: int = 150) -> Map:
        """Draw concepts, entities and intents, the strongest of each, and what joins them.

        limit: how many nodes at most; half of them are concepts.
        """
        scope, most = self.scope, checked_count("limit", limit, _MOST_DRAWN)
        concepts = list_concepts(scope, about=None, as_of=None, limit=max(1, most // 2))
        live = [one for one in read_intents(scope) if one.status in LIVE]
        intents = live[: max(0, min(_INTENTS, most - len(concepts)))]
        entities = list_entities(scope, type=None, prefix=None, limit=max(1, most - len(concepts) - len(intents)))
        ends = [one.last_at for one in (*concepts, *intents)] + [one.last_at for one in entities if one.last_at]
        # What has faded is seen beside the latest that happened: a memory that rests does not fade as a whole.
        now = max(ends, default=scope.engine.clock())
        nodes = [
            *_concept_nodes(scope, concepts, now),
            *(_entity_node(one, one.first_at, one.last_at, now) for one in entities if one.first_at and one.last_at),
            *(_intent_node(one, now) for one in intents),
        ]
        known = {node.id for node in nodes}
        edges = _edges(scope, concepts, entities, intents, now)
        return Map(nodes=tuple(nodes), edges=tuple(one for one in edges if {one.source, one.target} <= known))

    @public
    def merge(self, gone: str, into: str) -> Entity:
        """Merge two that are one: all names of the first belong to the second from now on. `undo` reverts it."""
        from everyword.knowledge.names import merging_pins

        with self.scope.writer(FACTS) as writer:
            one, other = find_one(self.scope, writer, gone), find_one(self.scope, writer, into)
            self._pin(writer, "merge", merging_pins(one, other))
            return find_one(self.scope, writer, other.id)

    @public
    def split(self, entity: str, names: Sequence[str]) -> Entity:
        """Split names off that belong to somebody else, and return that one. `undo` reverts it."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"names takes a list, not {type(names).__name__}.")
        chosen = [checked_entity_name("names", name) for name in names]
        from everyword.knowledge.names import splitting_pins

        with self.scope.writer(FACTS) as writer:
            self._pin(writer, "split", splitting_pins(find_one(self.scope, writer, entity), chosen))
            return find_one(self.scope, writer, chosen[0])

    @public
    def undo(self, number: int) -> EntityEdit:
        """Revert a merge or split; `edits` lists them with their numbers."""
        checked_count("number", number, NO_LIMIT)
        from everyword.knowledge.graph import rehome

        with self.scope.writer(FACTS) as writer:
            if not writer.undo_edit(number):
                raise NotFound(f"There is no merge or split number {number} to undo here.", fix="`edits` lists them.")
            rehome(writer)
            return next(self._described(writer, edit) for edit in writer.edits() if edit.number == number)

    @public
    def edits(self) -> list[EntityEdit]:
        """List merges and splits by hand, the oldest first."""
        with self.scope.reader() as reader:
            return [self._described(reader, edit) for edit in reader.edits()]

    def _pin(self, writer: Writer, kind: Literal["merge", "split"], pins: Mapping[str, str]) -> None:
        from everyword.knowledge.graph import rehome

        writer.put_edit(at=self.scope.engine.now(), kind=kind, pins=pins)
        rehome(writer)

    def _described(self, reader: Reader, edit: Edit) -> EntityEdit:
        return EntityEdit(
            number=edit.number,
            at=from_micros(edit.at),
            kind=edit.kind,
            what=describe_edit(reader, edit),
            undone=edit.undone,
        )


def _length(fact: Fact, begin: datetime, end: datetime) -> float:
    """Tell for how many seconds of a span a fact was true."""
    since = begin if fact.valid_from is None else max(begin, fact.valid_from)
    until = end if fact.valid_to is None else min(end, fact.valid_to)
    return (until - since).total_seconds()


_MOST_DRAWN = 1_000  # nodes: more can't be told apart on a screen
_FACTS_READ = 5_000  # for edges between entities
_INTENTS = 20
_QUOTES = 3  # beside a concept, the latest
_MENTION_WEIGHT = 0.3  # of an edge between a concept and a name in its events
_MUCH = 50  # events with a name that make it as strong as anything gets


def _concept_nodes(scope: Scope, concepts: Sequence[Concept], now: datetime) -> list[MapNode]:
    with scope.reader(CONCEPTS) as reader:
        latest = {one.id: reader.recent_members(one.id, limit=_QUOTES)[::-1] for one in concepts}
        events = reader.fetch([seq for seqs in latest.values() for seq in seqs])
    return [
        MapNode(
            id=one.id,
            kind="concept",
            label=one.label,
            description=one.description,
            strength=one.strength,
            weight=decayed(1.0, one.last_at, now),
            events=one.events,
            first_at=one.first_at,
            last_at=one.last_at,
            quotes=tuple(
                quote_of(events[seq])
                for seq in latest[one.id]
                if seq in events and scope.wing in (None, events[seq].wing)
            ),
        )
        for one in concepts
    ]


def _entity_node(entity: Entity, first_at: datetime, last_at: datetime, now: datetime) -> MapNode:
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    return MapNode(
        id=entity.id,
        kind="entity",
        label=entity.name,
        description=f"{entity.type.value}{also}",
        strength=min(1.0, math.log1p(entity.events) / math.log1p(_MUCH)),
        weight=decayed(1.0, last_at, now),
        events=entity.events,
        first_at=first_at,
        last_at=last_at,
    )


def _intent_node(intent: Intent, now: datetime) -> MapNode:
    return MapNode(
        id=intent.id,
        kind="intent",
        label=intent.content,
        description=f"{intent.category.value}, {intent.status.value}",
        strength=intent.importance,
        weight=decayed(1.0, intent.last_at, now),
        events=len(intent.events),
        first_at=intent.first_at,
        last_at=intent.last_at,
        quotes=tuple(ground.quote for ground in intent.grounds[-_QUOTES:]),
    )


def _edges(
    scope: Scope, concepts: Sequence[Concept], entities: Sequence[Entity], intents: Sequence[Intent], now: datetime
) -> Iterable[MapEdge]:
    with scope.reader(CONCEPTS) as reader:
        links = reader.concept_edges([one.id for one in concepts], among=True)
    for link in links:
        yield MapEdge(source=link.source, target=link.target, kind=link.kind.value, weight=link.weight_at(now))
    named = {name_key(name): one.id for one in entities for name in (one.name, *one.aliases)}
    for concept in concepts:
        for name in concept.entities:
            if (id := named.get(name_key(name))) is not None:
                yield MapEdge(source=concept.id, target=id, kind="mentions", weight=_MENTION_WEIGHT)
    for intent in intents:
        for one in intent.concepts:
            yield MapEdge(source=one, target=intent.id, kind="triggers", weight=intent.density)
    if scope.wing is None:
        with scope.reader(FACTS) as reader:
            facts = reader.facts(FactFilter(open=True), limit=_FACTS_READ, sources=False)
    else:
        facts = list_facts(scope, limit=_FACTS_READ)
    for fact in facts:
        if fact.open:
            yield MapEdge(source=fact.subject, target=fact.object, kind=fact.relation, weight=fact.confidence)
