"""The memory as a picture, for whoever draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from everyword.facade.arguments import Time, checked_count
from everyword.facade.attention import Attention
from everyword.facade.folding import Conceiving
from everyword.facade.graph import Graph
from everyword.knowledge.entities import in_window, with_names
from everyword.storage.protocol import Extent, FactFilter
from everyword.text.terms import whole_until
from everyword.types.concepts import Concept, decayed
from everyword.types.events import Activity, Filter
from everyword.types.graph import Entity, Fact, Map, MapEdge, MapNode, name_key
from everyword.types.intents import LIVE, Intent
from everyword.types.times import as_datetime, from_micros, to_micros

_MOST_DRAWN = 1_000  # nodes: more can't be told apart on a screen
_FACTS_READ = 5_000  # for edges between entities
_INTENTS = 20
_QUOTES = 3  # beside a concept, the latest
_QUOTED = 240  # characters
_MENTION_WEIGHT = 0.3  # of an edge between a concept and a name in its events
_MOST_PARTS = 1_000  # of a span of time: no screen is wider
_MOST_NAMES = 500  # to choose from
_MUCH = 50  # events with a name that make it as strong as anything gets


class Charting(Graph, Conceiving, Attention):
    """Draws what the other parts know."""

    def activity(
        self,
        *,
        wing: str | None = None,
        speaker: str | None = None,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        parts: int = 120,
    ) -> Activity:
        """Count events over time, in equal parts; from the first to the last event, unless a span is given.

        Tells also whom and which wings there is to choose from, whatever is chosen now.
        """
        most = checked_count("parts", parts, _MOST_PARTS)
        which = self._filter(wing=wing, speaker=speaker, session=session, since=since, until=until)
        with self._engine.store.reader() as reader:
            found = reader.extent(self._space, which)
            begin, end = _span(which, found)
            # The last part ends behind the last event.
            width = max(1, -(-(end - begin) // most))
            counted = reader.counted(self._space, which, begin=begin, width=width) if found.events else {}
            speakers = reader.speakers(self._space, wing=self._wing, limit=_MOST_NAMES)
            wings = [self._wing] if self._wing is not None else reader.wings(self._space, limit=_MOST_NAMES)
        return Activity(
            begin=from_micros(begin) if found.events else None,
            end=from_micros(end) if found.events else None,
            events=found.events,
            counts=tuple(counted.get(part, 0) for part in range(most)),
            speakers=tuple(speakers),
            wings=tuple(wings),
        )

    def held(self, since: Time, until: Time, *, subject: str | None = None, limit: int = 100) -> list[Fact]:
        """List the facts that were true in a span of time, those that were so for the longest part of it first."""
        begin, end = as_datetime(since, "since"), as_datetime(until, "until")
        most = checked_count("limit", limit, 1 << 62)
        if self._wing is not None:  # what a wing knows is folded from its own events
            facts = [one for one in self.facts(subject) if in_window(one, begin, end)]
            return sorted(facts, key=lambda one: (-_length(one, begin, end), one.id))[:most]
        with self._engine.store.reader() as reader:
            home = None if subject is None else self._entity(reader, subject).id
            first, last = to_micros(begin)[0], to_micros(end)[0]
            facts = reader.longest_facts(self._space, home, since=first, until=last, limit=most)
            return with_names(reader, self._space, facts)

    def map(self, *, limit: int = 150) -> Map:
        """Draw concepts, entities and intents, the strongest of each, and what joins them.

        limit: how many nodes at most; half of them are concepts.
        """
        most = checked_count("limit", limit, _MOST_DRAWN)
        concepts = self.concepts(limit=max(1, most // 2))
        intents = self._live_intents()[: max(0, min(_INTENTS, most - len(concepts)))]
        entities = self.entities(limit=max(1, most - len(concepts) - len(intents)))
        ends = [one.last_at for one in (*concepts, *intents)] + [one.last_at for one in entities if one.last_at]
        # What has faded is seen beside the latest that happened: a memory that rests does not fade as a whole.
        now = max(ends, default=self._engine.clock())
        nodes = [
            *self._concept_nodes(concepts, now),
            *(node for one in entities for node in _entity_node(one, now)),
            *(_intent_node(one, now) for one in intents),
        ]
        known = {node.id for node in nodes}
        edges = [*self._concept_links(concepts, now), *_mentions(concepts, entities), *_triggers(intents)]
        edges += self._facts_between(entities)
        return Map(nodes=tuple(nodes), edges=tuple(one for one in edges if {one.source, one.target} <= known))

    def _live_intents(self) -> list[Intent]:
        """Give the intents as they stand this minute: a picture is drawn often, and a second changes nothing in it."""
        from everyword.knowledge.intents import cached_intents

        minute = self._engine.clock().replace(second=0, microsecond=0)
        with self._engine.store.reader() as reader:
            found = cached_intents(self._engine, reader, self._space, wing=self._wing, now=minute)
        return [one for one in found if one.status in LIVE]

    def _concept_nodes(self, concepts: Sequence[Concept], now: datetime) -> list[MapNode]:
        with self._engine.store.reader() as reader:
            latest = {one.id: reader.recent_members(self._space, one.id, limit=_QUOTES)[::-1] for one in concepts}
            events = reader.fetch(self._space, [seq for seqs in latest.values() for seq in seqs])
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
                    events[seq].text[: whole_until(events[seq].text, _QUOTED)]
                    for seq in latest[one.id]
                    if seq in events and self._wing in (None, events[seq].wing)
                ),
            )
            for one in concepts
        ]

    def _concept_links(self, concepts: Sequence[Concept], now: datetime) -> list[MapEdge]:
        with self._engine.store.reader() as reader:
            edges = reader.concept_edges(self._space, [one.id for one in concepts], among=True)
        return [
            MapEdge(source=one.source, target=one.target, kind=one.kind.value, weight=one.weight_at(now))
            for one in edges
        ]

    def _facts_between(self, entities: Sequence[Entity]) -> list[MapEdge]:
        known = {one.id for one in entities}
        if self._wing is None:
            with self._engine.store.reader() as reader:
                facts = reader.facts(self._space, FactFilter(open=True), limit=_FACTS_READ, sources=False)
        else:
            facts = self.facts(limit=_FACTS_READ)
        return [
            MapEdge(source=fact.subject, target=fact.object, kind=fact.relation, weight=fact.confidence)
            for fact in facts
            if fact.open and fact.subject in known and fact.object in known
        ]


def _length(fact: Fact, begin: datetime, end: datetime) -> float:
    """Tell for how many seconds of a span a fact was true."""
    since = begin if fact.valid_from is None else max(begin, fact.valid_from)
    until = end if fact.valid_to is None else min(end, fact.valid_to)
    return (until - since).total_seconds()


def _span(which: Filter, found: Extent) -> tuple[int, int]:
    """Tell from when to when is counted, in microseconds."""
    begin = found.first_at or 0 if which.since is None else to_micros(which.since)[0]
    end = (found.last_at or 0) + 1 if which.until is None else to_micros(which.until)[0]
    return begin, max(begin, end)


def _entity_node(entity: Entity, now: datetime) -> Iterable[MapNode]:
    if entity.first_at is None or entity.last_at is None:
        return ()
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    node = MapNode(
        id=entity.id,
        kind="entity",
        label=entity.name,
        description=f"{entity.type.value}{also}",
        strength=min(1.0, math.log1p(entity.events) / math.log1p(_MUCH)),
        weight=decayed(1.0, entity.last_at, now),
        events=entity.events,
        first_at=entity.first_at,
        last_at=entity.last_at,
    )
    return (node,)


def _intent_node(intent: Intent, now: datetime) -> MapNode:
    return MapNode(
        id=intent.id,
        kind="intent",
        label=intent.statement,
        description=f"{intent.category.value}, {intent.status.value}",
        strength=intent.importance,
        weight=decayed(1.0, intent.last_at, now),
        events=len(intent.events),
        first_at=intent.first_at,
        last_at=intent.last_at,
        quotes=tuple(ground.quote for ground in intent.grounds[-_QUOTES:]),
    )


def _mentions(concepts: Sequence[Concept], entities: Sequence[Entity]) -> Iterable[MapEdge]:
    named = {name_key(name): one.id for one in entities for name in (one.name, *one.aliases)}
    for concept in concepts:
        for name in concept.entities:
            if (id := named.get(name_key(name))) is not None:
                yield MapEdge(source=concept.id, target=id, kind="mentions", weight=_MENTION_WEIGHT)


def _triggers(intents: Sequence[Intent]) -> Iterable[MapEdge]:
    for intent in intents:
        for concept in intent.concepts:
            yield MapEdge(source=concept, target=intent.id, kind="triggers", weight=intent.density)
