"""What the graph owes after each event: one concept for one thing, neighbours for what stands alone, causes, words.

Each pays at most a little at a time, so that no event costs more than another. Decay is not here: it is computed from
dates when an edge is read (`core.folding.decayed`), so that it costs nothing and never drifts.
"""

from __future__ import annotations

from itertools import chain

from everyword.knowledge.legacy.fold.concepts import THEME_COUNTS, WORDS_COUNT
from everyword.knowledge.legacy.fold.graph import Graph, Node, Said, telling
from everyword.knowledge.legacy.fold.moments import WORD, Moment, words_of
from everyword.types.concepts import (
    DEFAULT_WEIGHT,
    LEAST_GROUNDS,
    AddEdge,
    EdgeKind,
    MergeNodes,
    Operation,
    UpdatePlan,
)

NEIGHBOURS = 3  # that a concept without any is given
LOOKED_AT = 8  # nearest concepts that one might be merged with: the first are nearly always those
CAUSE_LEAST = 0.2  # likeness of the words of a cause to the concept that it is looked for in
MOST_SEARCHED = 64  # concepts that a cause is looked for in, those that were last confirmed
MOST_ABSORBED = 2_000  # events of the smaller of two: a merge must not hold up the next event
BROADER_HAS = 0.6  # share of the narrower one's events with the broader one's main word
NARROWER_HAS = 0.35  # share of the broader one's events with the narrower one's main word, at most


def merging(graph: Graph, node: Node) -> UpdatePlan:
    """Let the stronger of two concepts absorb the other where they are as good as one; one pair at a time."""
    for id, cosine in graph.near(node.total, node.size).top(LOOKED_AT):
        if cosine < graph.profile.thresholds.merge:
            break
        other = graph.nodes[id]
        if id == node.id or graph.kept_apart(id, node.id) or _two_themes(node, other):
            continue
        stays, goes = sorted((node, other), key=lambda one: (one.theme is None, -one.size, one.id))
        if goes.size > MOST_ABSORBED:
            continue
        merge = MergeNodes(
            id=stays.id,
            absorbed=goes.id,
            reason=f"cosine {cosine:.2f}",
            grounded_in=(),
        )
        return UpdatePlan(operations=(merge,))
    return UpdatePlan()


def completing(graph: Graph, node: Node, moment: Moment) -> UpdatePlan:
    """Give a concept that stands alone the neighbours that lie nearest."""
    near = [(id, cosine) for id, cosine in graph.near(node.total, node.size).top(NEIGHBOURS + 1) if id != node.id]
    chosen = [
        (id, cosine)
        for id, cosine in near[:NEIGHBOURS]
        if cosine >= graph.profile.thresholds.neighbour and not graph.kept_apart(id, node.id)
    ]
    return UpdatePlan(
        operations=tuple(_related(node.id, id, f"cosine {cosine:.2f}", moment, cosine) for id, cosine in chosen)
    )


def relating(graph: Graph, joined: list[str], moment: Moment) -> UpdatePlan:
    """Link two concepts that one event belongs to, unless one is already known to be the broader."""
    if len(joined) < 2:
        return UpdatePlan()
    one, other = joined[:2]
    if graph.kept_apart(one, other):
        return UpdatePlan()
    narrower = _narrower(graph.nodes[one], graph.nodes[other])
    if narrower is not None:
        small, large = narrower
        part = AddEdge(
            source=small,
            target=large,
            kind=EdgeKind.PART_OF,
            weight=DEFAULT_WEIGHT[EdgeKind.PART_OF],
            reason="most of its events speak of the broader one too",
            grounded_in=(moment.event_id,),
        )
        return UpdatePlan(operations=(part,))
    return UpdatePlan(operations=(_related(one, other, "an event belongs to both", moment, 1.0),))


def causing(graph: Graph, main: str, moment: Moment) -> UpdatePlan:
    """Link the concept of a cause to that of its effect, where an event says outright that one led to the other."""
    source = _concept_of(graph, moment.cause) if moment.cause else None
    if source is None:
        return UpdatePlan()
    effect = next((id for id in (main, _concept_of(graph, moment.effect)) if id not in (None, source)), None)
    if effect is None or graph.kept_apart(source, effect):
        return UpdatePlan()
    edge = AddEdge(
        source=source,
        target=effect,
        kind=EdgeKind.CAUSES,
        weight=DEFAULT_WEIGHT[EdgeKind.CAUSES],
        reason="an event gives one as the cause of the other",
        grounded_in=(moment.event_id,),
    )
    return UpdatePlan(operations=(edge,))


def _concept_of(graph: Graph, words: str) -> str | None:
    """Find the concept that some words speak of: by its theme, and by the event of it that they repeat most of."""
    terms, names = words_of(words)
    said = frozenset((*terms, *names))
    themes = graph.profile.read(words)
    spoken = (*themes, *(WORD + term for term in terms))
    themed = {node.id for theme in spoken if (node := graph.of_theme(theme)) is not None}
    held = [
        node
        for node in list(graph.nodes.values())[-MOST_SEARCHED:]
        if node.id in themed or not said.isdisjoint(node.counts) or not said.isdisjoint(node.names)
    ]
    # How telling other words are, nobody asks.
    repeated = {node.id: [seen.words & said for seen in node.window] for node in held}
    asked = Said(said, telling([*chain.from_iterable(repeated.values()), said]))
    scores = {
        node.id: THEME_COUNTS * min(1.0, themes.get(node.theme or "", 0.0))
        + WORDS_COUNT * max(map(asked.repeated, filter(None, repeated[node.id])), default=0.0)
        for node in held
    }
    best = min(scores, key=lambda id: (-round(scores[id], 6), id), default=None)
    return best if best is not None and scores[best] >= CAUSE_LEAST else None


def _related(one: str, other: str, reason: str, moment: Moment, share: float) -> Operation:
    first, second = sorted((one, other))  # it has no direction: one way of writing it
    return AddEdge(
        source=first,
        target=second,
        kind=EdgeKind.RELATED_TO,
        weight=round(DEFAULT_WEIGHT[EdgeKind.RELATED_TO] * min(1.0, share), 3),
        reason=reason,
        grounded_in=(moment.event_id,),
    )


def _two_themes(one: Node, other: Node) -> bool:
    told = [node.theme for node in (one, other) if node.theme is not None and not node.theme.startswith(WORD)]
    return len(told) == 2


def _narrower(one: Node, other: Node) -> tuple[str, str] | None:
    """Tell which of two is part of the other: its events speak of the other's main word, and not the reverse."""
    small, large = sorted((one, other), key=lambda node: (node.size, node.id))
    if small.size < LEAST_GROUNDS or large.size <= small.size:
        return None
    mine, theirs = small.main_word, large.main_word
    if mine == theirs or not mine or not theirs:
        return None
    broad = small.share(theirs) >= BROADER_HAS and large.share(mine) <= NARROWER_HAS
    return (small.id, large.id) if broad else None
