"""The concepts, entities and intents of a scope and the edges between them, for whoever draws it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from everyword.api.arguments import checked_count
from everyword.api.concepts import list_concepts
from everyword.api.facts import list_entities, list_facts
from everyword.api.intents import current_intents
from everyword.api.scope import Scope
from everyword.storage.protocol import CONCEPTS, FACTS, FactFilter
from everyword.text.terms import whole_until
from everyword.types.concepts import Concept, decayed
from everyword.types.graph import Entity, Map, MapEdge, MapNode, name_key
from everyword.types.intents import LIVE, Intent

_MOST_DRAWN = 1_000  # nodes: more can't be told apart on a screen
_FACTS_READ = 5_000  # for edges between entities
_INTENTS = 20
_QUOTES = 3  # beside a concept, the latest
_QUOTED = 240  # characters
_MENTION_WEIGHT = 0.3  # of an edge between a concept and a name in its events
_MUCH = 50  # events with a name that make it as strong as anything gets


def draw_map(scope: Scope, *, limit: int) -> Map:
    """Choose the strongest nodes, half of them concepts, and what joins them."""
    most = checked_count("limit", limit, _MOST_DRAWN)
    concepts = list_concepts(scope, about=None, as_of=None, limit=max(1, most // 2))
    live = [one for one in current_intents(scope) if one.status in LIVE]
    intents = live[: max(0, min(_INTENTS, most - len(concepts)))]
    entities = list_entities(scope, type=None, prefix=None, limit=max(1, most - len(concepts) - len(intents)))
    ends = [one.last_at for one in (*concepts, *intents)] + [one.last_at for one in entities if one.last_at]
    # What has faded is seen beside the latest that happened: a memory that rests does not fade as a whole.
    now = max(ends, default=scope.engine.clock())
    nodes = [
        *_concept_nodes(scope, concepts, now),
        *(node for one in entities for node in _entity_node(one, now)),
        *(_intent_node(one, now) for one in intents),
    ]
    known = {node.id for node in nodes}
    edges = [*_concept_links(scope, concepts, now), *_mentions(concepts, entities), *_triggers(intents)]
    edges += _facts_between(scope, entities)
    return Map(nodes=tuple(nodes), edges=tuple(one for one in edges if {one.source, one.target} <= known))


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
                events[seq].text[: whole_until(events[seq].text, _QUOTED)]
                for seq in latest[one.id]
                if seq in events and scope.wing in (None, events[seq].wing)
            ),
        )
        for one in concepts
    ]


def _concept_links(scope: Scope, concepts: Sequence[Concept], now: datetime) -> list[MapEdge]:
    with scope.reader(CONCEPTS) as reader:
        edges = reader.concept_edges([one.id for one in concepts], among=True)
    return [
        MapEdge(source=one.source, target=one.target, kind=one.kind.value, weight=one.weight_at(now)) for one in edges
    ]


def _facts_between(scope: Scope, entities: Sequence[Entity]) -> list[MapEdge]:
    known = {one.id for one in entities}
    if scope.wing is None:
        with scope.reader(FACTS) as reader:
            facts = reader.facts(FactFilter(open=True), limit=_FACTS_READ, sources=False)
    else:
        facts = list_facts(scope, limit=_FACTS_READ)
    return [
        MapEdge(source=fact.subject, target=fact.object, kind=fact.relation, weight=fact.confidence)
        for fact in facts
        if fact.open and fact.subject in known and fact.object in known
    ]


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
