"""Decide what an event does to the concept graph: join a concept, found one with others, or wait.

Only vectors decide. A decision depends on the events before it and on nothing else, so folding event by event, in
batches, or anew from the log gives the same graph.
"""

from __future__ import annotations

from everyword.knowledge.concept_graph import Graph, Moment, Node, summed
from everyword.types.concepts import (
    DEFAULT_WEIGHT,
    LEAST_GROUNDS,
    AddEdge,
    AddNode,
    EdgeKind,
    MergeNodes,
    Operation,
    UpdatePlan,
    concept_id,
)

MOST_FOUNDERS = 8  # others join afterwards
_MOST_COMPARED = 24  # nearest loose events
_MOST_NEIGHBOURS = 3  # related concepts of a new one
_MOST_ABSORBED = 2_000  # events of the smaller of two concepts that are merged: one event must not take long


def joining(graph: Graph, moment: Moment) -> UpdatePlan:
    """Let an event join the nearest concept, if that is near enough."""
    for id, cosine in graph.near(moment.vector, 1, most=2, least=graph.limit(graph.profile.thresholds.join)):
        if not graph.kept_apart(moment.event_id, id):
            return UpdatePlan(operations=(_join(moment, id, cosine),))
    return UpdatePlan()


def founding(graph: Graph, moment: Moment) -> UpdatePlan:
    """Let an event found a concept with loose events that are all alike."""
    limits = graph.profile.thresholds
    if not moment.founds:
        return UpdatePlan()
    founders = [moment]
    for one, _ in graph.near_loose(moment.vector, 1, most=_MOST_COMPARED, least=limits.pair):
        if not one.founds or one.seq == moment.seq or len(founders) == MOST_FOUNDERS:
            continue
        cosines = [graph.cosine(one, other) for other in founders]
        if min(cosines) >= limits.pair and sum(cosines) >= graph.limit(limits.found) * len(cosines):
            founders.append(one)
    if len(founders) < LEAST_GROUNDS:
        return UpdatePlan()
    ids = tuple(sorted(one.event_id for one in founders))
    id = concept_id(graph.space, ids)
    made = AddNode(
        id=id, label="", description="", reason=f"{len(founders)} events are about the same", grounded_in=ids
    )
    grounds = (
        AddEdge(
            source=one.event_id,
            target=id,
            kind=EdgeKind.GROUNDS,
            weight=DEFAULT_WEIGHT[EdgeKind.GROUNDS],
            reason="one of the events that it was found in",
            grounded_in=(one.event_id,),
        )
        for one in sorted(founders, key=lambda one: one.seq)
    )
    return UpdatePlan(operations=(made, *grounds))


def gathering(graph: Graph, node: Node) -> UpdatePlan:
    """Let loose events join a concept that was just founded."""
    near = graph.near_loose(
        node.total, node.size, most=_MOST_COMPARED, least=graph.limit(graph.profile.thresholds.join)
    )
    fitting = [(one, cosine) for one, cosine in near if not graph.kept_apart(one.event_id, node.id)]
    return UpdatePlan(operations=tuple(_join(one, node.id, cosine) for one, cosine in fitting))


def relating(graph: Graph, node: Node, moment: Moment) -> UpdatePlan:
    """Link a concept to the nearest others."""
    least = graph.profile.thresholds.neighbour
    near = graph.near(node.total, node.size, most=_MOST_NEIGHBOURS + 1, least=least)
    operations: list[Operation] = []
    for id, cosine in [(id, cosine) for id, cosine in near if id != node.id][:_MOST_NEIGHBOURS]:
        if graph.kept_apart(id, node.id):
            continue
        first, second = sorted((node.id, id))  # it has no direction, so it is written in one way
        operations.append(
            AddEdge(
                source=first,
                target=second,
                kind=EdgeKind.RELATED_TO,
                weight=round(min(1.0, cosine), 3),
                reason=f"similar events (cosine {cosine:.2f})",
                grounded_in=(moment.event_id,),
            )
        )
    return UpdatePlan(operations=tuple(operations))


def merging(graph: Graph, node: Node) -> UpdatePlan:
    """Let the larger of two concepts that are about the same absorb the other."""
    for id, cosine in graph.near(node.total, node.size, most=4, least=graph.profile.thresholds.merge):
        if id == node.id or graph.kept_apart(id, node.id):
            continue
        stays, goes = sorted((node, graph.nodes[id]), key=lambda one: (-one.size, one.id))
        if goes.size <= _MOST_ABSORBED:
            reason = f"about the same (cosine {cosine:.2f})"
            return UpdatePlan(operations=(MergeNodes(id=stays.id, absorbed=goes.id, reason=reason, grounded_in=()),))
    return UpdatePlan()


def the_same(graph: Graph, founders: list[Moment]) -> str | None:
    """Find the concept that events would found a second time."""
    near = graph.near(
        summed(one.vector for one in founders), len(founders), most=1, least=graph.profile.thresholds.merge
    )
    return near[0][0] if near else None


def _join(moment: Moment, id: str, cosine: float) -> AddEdge:
    return AddEdge(
        source=moment.event_id,
        target=id,
        kind=EdgeKind.REINFORCES,
        weight=round(min(1.0, (1 + cosine) / 2), 3),
        reason=f"similar to its events (cosine {cosine:.2f})",
        grounded_in=(moment.event_id,),
    )
