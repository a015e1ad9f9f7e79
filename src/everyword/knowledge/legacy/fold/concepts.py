"""How concepts come about: each event confirms what is there, or helps to found what is not, one after the other.

What an event does depends on the events before it and on nothing else: not on the clock, nor on how many are folded at
a time. So folding event by event, in batches, or anew from the log comes to the same graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everyword.knowledge.legacy.fold.graph import (
    NEAREST,
    USUAL_LEVEL,
    Graph,
    Nearness,
    Node,
    Said,
    Telling,
    shared,
    telling,
)
from everyword.knowledge.legacy.fold.moments import WORD, Moment
from everyword.knowledge.legacy.fold.naming import names_well
from everyword.knowledge.legacy.fold.themes import Thresholds
from everyword.storage.protocol import COUNTED
from everyword.types.concepts import (
    DEFAULT_WEIGHT,
    LEAST_GROUNDS,
    AddEdge,
    AddNode,
    EdgeKind,
    Operation,
    RemoveNode,
    UpdatePlan,
    concept_id,
)

# How much each sign says that an event belongs to a concept; together 1.2, since an event rarely shows all of them.
THEME_COUNTS = 0.5  # a theme's words
VECTOR_COUNTS = 0.5  # the cosine of its vector to the concept's centre
WORDS_COUNT = 0.5  # the part of its words that the concept has too
NAMES_COUNT = 0.05  # a name in both: people and products turn up in everything
TIME_COUNTS = 0.05  # nearness in time, halved every week
WEEK = 7 * 86_400 * 1_000_000  # microseconds
MOST_JOINED = 2  # concepts that one event confirms
MOST_BESIDE = 2  # concepts that hold an event which belongs to none for certain
MOST_COMPANY = 24  # loose events of one theme that are looked at, the newest
MOST_TRIED = 4  # themes, and words, that an event is tried to found a concept with: the clearest
MOST_FOUNDERS = 8  # others join it afterwards
THEME_SLACK = 0.2  # by which the clearest theme of an event may be clearer than that of the concept it has its place in
FAMILIAR_COUNTS = 0.5  # power: a theme of an area that is well known here is the likelier one
LEAST_SHARED = 2  # words of two events that share no theme and found a concept
# How well a word tells what events are about, as a log-odds (fitted on development streams).
USUAL_WORTH = -0.9
MANY_COUNTS = 0.7  # for each event that has it
ENOUGH_MANY = 6
LETTER_COUNTS = 0.09  # for each letter: short words are of every talk
ENOUGH_LETTERS = 10
NAMING_COUNTS = 0.41  # how well it names anything
BESIDE_COSTS = 8.0  # for each other word that events with it share, of all that they have
LATE_COSTS = 1.8  # the last word of an event, against the first
LENGTH_COSTS = 0.87  # for the logarithm of an event's words: long ones share some by chance
LEAST_WORTH = -1.2  # of a word that is to found a concept
LEAST_NAMED = 0.5  # share of the events with it in which it stands as the name of a thing
CLEAR_ENOUGH = 0.5  # of a theme's words in its founders, on average: hints alone found nothing
WORD_FAMILIAR = 0.5  # how well a word that serves as a theme is known here
WORTH_COUNTS = 0.5  # what a word tells, beside the likeness of the events that have it
COHERENCE_COUNTS = 0.5  # likeness of the founders, beside how clearly they speak of the theme


@dataclass(slots=True)
class Scene:
    """What an event is compared with, and how telling each word is among that."""

    nodes: list[Node]
    loose: list[Moment]
    near: Mapping[str, float]  # of the nodes
    near_loose: Mapping[str, float]  # of the loose events, by their ids
    weights: Telling = field(default_factory=lambda: telling([]))
    level: float = USUAL_LEVEL  # how near a concept lies on average
    level_loose: float = USUAL_LEVEL  # and a loose event


@dataclass(frozen=True, slots=True)
class Group:
    """Events that might found a concept."""

    theme: str | None
    members: tuple[Moment, ...]
    merit: float


def scene_of(graph: Graph, moment: Moment) -> Scene:
    """Choose what an event is compared with: the nearest by vector, and those of its themes."""
    near, near_loose = graph.near(moment.vector), graph.near_loose(moment.vector)
    spoken = (*moment.themes, *(WORD + term for term in moment.terms))
    themed = [node.id for theme in spoken if (node := graph.of_theme(theme)) is not None]
    nodes = [graph.nodes[id] for id in dict.fromkeys((*(id for id, _ in near.top(NEAREST)), *themed))]
    company = [one for id, _ in near_loose.top(NEAREST) if (one := graph.loose_event(id)) is not None]
    least = graph.profile.thresholds.least_theme
    clear = {theme for theme, score in moment.themes.items() if score >= least}
    alike = [one for one in graph.loose.values() if not clear.isdisjoint(one.themes)] if clear else []
    chosen = {one.event_id: one for one in (*company, *alike[-MOST_COMPANY:]) if one.seq != moment.seq}
    loose = list(chosen.values())
    scene = Scene(nodes, loose, _known(near, (node.id for node in nodes)), _known(near_loose, chosen))
    scene.level, scene.level_loose = near.level, near_loose.level
    scene.weights = telling([*(node.own for node in nodes), *(one.terms for one in loose), moment.terms])
    return scene


def likeness(moment: Moment, node: Node, scene: Scene, said: Said) -> float:
    """Tell how much an event is like a concept; `said` are its words."""
    theme = moment.speaks_of(node.theme)
    words = said.covered(node)
    beside = NAMES_COUNT * (not node.names.isdisjoint(moment.names)) + TIME_COUNTS * _recency(moment.at, node.last_at)
    return _joined(theme, _above(scene.near.get(node.id), scene.level), words, beside)


def kinship(one: Moment, other: Moment, theme: str | None, cosine: float | None, scene: Scene) -> float:
    """Tell how much two events are alike."""
    both = min(one.speaks_of(theme), other.speaks_of(theme))
    beside = NAMES_COUNT * (not set(one.names).isdisjoint(other.names)) + TIME_COUNTS * _recency(one.at, other.at)
    words = shared(one.terms, other.terms, scene.weights)
    return _joined(both, _above(cosine, scene.level_loose), words, beside)


def reinforcing(graph: Graph, moment: Moment, scene: Scene) -> tuple[UpdatePlan, list[str], float]:
    """Let an event confirm the concepts that it belongs to; tell which, and how much it is like the first."""
    limits = graph.profile.thresholds
    said = Said(moment.terms, scene.weights)
    ranked = sorted(
        ((likeness(moment, node, scene, said), node) for node in scene.nodes), key=lambda one: (-one[0], one[1].id)
    )
    ranked = [(score, node) for score, node in ranked if not graph.kept_apart(moment.event_id, node.id)]
    best = ranked[0][0] if ranked else 0.0
    chosen = [
        (score, node) for score, node in ranked[:MOST_JOINED] if score >= limits.join and score >= best - limits.margin
    ]
    operations = tuple(
        AddEdge(
            source=moment.event_id,
            target=node.id,
            kind=EdgeKind.REINFORCES,
            weight=_counting(score),
            reason=f"likeness {score:.2f}",
            grounded_in=(moment.event_id,),
        )
        for score, node in chosen
    )
    return UpdatePlan(operations=operations), [node.id for _, node in chosen], best


def is_firm(graph: Graph, moment: Moment, theme: str | None, score: float) -> bool:
    """Tell whether an event has found its place: it belongs there clearly, and speaks of nothing else more clearly."""
    clearest = max(moment.themes.values(), default=0.0)
    speaks = theme is None or moment.speaks_of(theme) >= min(1.0, clearest) - THEME_SLACK
    return score >= graph.profile.thresholds.firm and speaks


def founding(graph: Graph, moment: Moment, scene: Scene) -> tuple[UpdatePlan, Group] | None:
    """Find the events that would found a concept together with this one, and plan it."""
    if not moment.founds:
        return None
    limits = graph.profile.thresholds
    themes = [
        theme
        for theme, score in sorted(moment.themes.items(), key=lambda one: (-one[1], one[0]))
        if score >= limits.least_theme and graph.of_theme(theme) is None
    ]
    words = _words(graph, moment)
    tried = (*themes[:MOST_TRIED], *list(words)[:MOST_TRIED], None)
    groups = [group for theme in tried if (group := _group(graph, moment, theme, scene)) is not None]
    if not groups:
        return None
    merits = {group: group.merit + WORTH_COUNTS * words.get(group.theme or "", 0.0) for group in groups}
    best = max(groups, key=lambda group: (merits[group], group.theme or ""))
    return UpdatePlan(operations=tuple(_founding(graph, best))), best


def beside(graph: Graph, moment: Moment, scene: Scene, joined: Sequence[str]) -> UpdatePlan:
    """Put an event that belongs nowhere for certain beside the nearest concepts, until it finds company of its own."""
    near = {
        id: cosine
        for id, cosine in scene.near.items()
        if id in graph.nodes
        and id not in joined
        and cosine >= graph.profile.thresholds.orphan
        and not graph.kept_apart(moment.event_id, id)
    }
    nearest = sorted(near, key=lambda id: (-near[id], id))[: max(0, MOST_BESIDE - len(joined))]
    return UpdatePlan(operations=tuple(_beside(moment, id, near[id]) for id in nearest))


def _beside(moment: Moment, id: str, cosine: float) -> AddEdge:
    return AddEdge(
        source=moment.event_id,
        target=id,
        kind=EdgeKind.REINFORCES,
        weight=round(min(cosine, COUNTED - 0.01), 3),
        reason=f"nearest, cosine {cosine:.2f}",
        grounded_in=(moment.event_id,),
    )


def gathering(graph: Graph, node: Node, scene: Scene) -> UpdatePlan:
    """Let loose events join a concept that was just founded."""
    operations: list[Operation] = []
    near = graph.near_loose(node.total, node.size)
    for one in scene.loose:
        if one.seq not in graph.loose or graph.kept_apart(one.event_id, node.id):
            continue
        seen = Scene([node], [], _known(near, [one.event_id], node.id), {}, scene.weights, scene.level)
        score = likeness(one, node, seen, Said(one.terms, scene.weights))
        if score < graph.profile.thresholds.join:
            continue
        operations += _leaving(graph, one, node.id)
        operations.append(
            AddEdge(
                source=one.event_id,
                target=node.id,
                kind=EdgeKind.REINFORCES,
                weight=_counting(score),
                reason=f"likeness {score:.2f} to a new concept",
                grounded_in=(one.event_id,),
            )
        )
    return UpdatePlan(operations=tuple(operations))


def sheltering(graph: Graph, node: Node) -> UpdatePlan:
    """Put the nearest of the events that few concepts hold beside one that was just founded."""
    near = [
        (one, cosine)
        for id, cosine in graph.near_loose(node.total, node.size).top(MOST_COMPANY)
        if (one := graph.loose_event(id)) is not None
        and len(held := graph.held.get(one.seq, {})) < MOST_BESIDE
        and node.id not in held
    ]
    return UpdatePlan(
        operations=tuple(
            _beside(one, node.id, cosine)
            for one, cosine in near
            if cosine >= graph.profile.thresholds.orphan and not graph.kept_apart(one.event_id, node.id)
        )
    )


def _words(graph: Graph, moment: Moment) -> dict[str, float]:
    """Weigh words that may serve as a theme: other loose events have them too; the most telling first.

    One other is enough for a word that tells much: a third event then comes in by its vector. Not where the two share
    a theme of the profile, which tells more: that waits for a third of its own.
    """
    least = graph.profile.thresholds.least_theme
    clear = {theme for theme, score in moment.themes.items() if score >= least}
    worth: dict[str, float] = {}
    for term in moment.terms:
        having = [one for one in graph.having(term)[-MOST_COMPANY:] if one.seq != moment.seq]
        if not having or graph.is_taken(term):
            continue
        named = sum(term in one.things for one in (moment, *having))
        if named < LEAST_NAMED * (len(having) + 1):
            continue
        two = len(having) < LEAST_GROUNDS - 1
        if two and not clear.isdisjoint(having[0].themes):
            continue
        tells = _worth(term, moment, having)
        if tells >= LEAST_WORTH:
            worth[WORD + term] = tells
    return dict(sorted(worth.items(), key=lambda one: (-one[1], one[0])))


def _worth(term: str, moment: Moment, having: Sequence[Moment]) -> float:
    """Tell how well a word tells what events are about.

    Words that always come with the same others are the name of a thing, and say nothing of what is done with it.
    """
    mine, many = set(moment.terms), len(having)
    beside = sum(len(mine.intersection(one.terms)) - 1 for one in having) / many
    place = sum(one.terms.index(term) / len(one.terms) for one in (moment, *having)) / (many + 1)
    length = sum(len(one.terms) for one in (moment, *having)) / (many + 1)
    worth = (
        USUAL_WORTH
        + MANY_COUNTS * min(many + 1, ENOUGH_MANY)
        + LETTER_COUNTS * min(len(term), ENOUGH_LETTERS)
        + NAMING_COUNTS * names_well(term)
        - BESIDE_COSTS * beside / length
        - LATE_COSTS * place
        - LENGTH_COSTS * math.log(length)
    )
    return round(worth, 6)


def _group(graph: Graph, moment: Moment, theme: str | None, scene: Scene) -> Group | None:
    """Gather founders around an event: each must be like all of the others."""
    limits = graph.profile.thresholds
    least = limits.found if theme is not None else limits.alone
    named = theme is not None and theme.startswith(WORD)
    having = graph.having(theme[len(WORD) :])[-MOST_COMPANY:] if named and theme is not None else scene.loose
    loose = [one for one in having if one.seq != moment.seq]
    company = [
        (kinship(moment, one, theme, graph.cosine(moment, one), scene), one)
        for one in loose
        if one.founds and _may_found(moment, one, theme, limits)
    ]
    company = sorted((pair for pair in company if pair[0] >= least), key=lambda pair: (-pair[0], pair[1].seq))
    members: list[Moment] = []
    del company[MOST_COMPANY:]
    mutual = limits.mutual if theme is not None else limits.alone
    for _, one in company:
        if all(kinship(one, other, theme, graph.cosine(one, other), scene) >= mutual for other in members):
            members.append(one)
        if len(members) == MOST_FOUNDERS - 1:
            break
    if named and len(members) == LEAST_GROUNDS - 2:
        members += _third(graph, moment, members[0], scene)
    if len(members) < LEAST_GROUNDS - 1:
        return None
    clear = sum(one.speaks_of(theme) for one in (moment, *members))
    if theme is not None and not named and clear < CLEAR_ENOUGH * (len(members) + 1):
        return None
    familiar = WORD_FAMILIAR if named else graph.familiarity(theme) ** FAMILIAR_COUNTS if theme is not None else 0.0
    coherent = sum(score for score, _ in company[: LEAST_GROUNDS - 1])
    return Group(theme, (*members, moment), round(clear * familiar + COHERENCE_COUNTS * coherent, 9))


def _third(graph: Graph, moment: Moment, other: Moment, scene: Scene) -> list[Moment]:
    """Find the loose event that lies nearest to two that share a word."""
    near = [
        (min(kinship(one, two, None, graph.cosine(one, two), scene) for two in (moment, other)), one)
        for one in scene.loose
        if one.founds and one.seq not in (moment.seq, other.seq)
    ]
    found = min(near, key=lambda pair: (-pair[0], pair[1].seq), default=None)
    return [found[1]] if found is not None and found[0] >= graph.profile.thresholds.third else []


def _may_found(moment: Moment, one: Moment, theme: str | None, limits: Thresholds) -> bool:
    if theme is None:  # the same greeting three times is no concept
        return len(set(moment.terms).intersection(one.terms)) >= LEAST_SHARED
    return one.speaks_of(theme) >= limits.least_theme


def _founding(graph: Graph, group: Group) -> list[Operation]:
    founders = tuple(one.event_id for one in group.members)
    id = concept_id(graph.space, founders)
    named = group.theme is not None and group.theme.startswith(WORD)
    sign = "alike" if group.theme is None else "with one word" if named else "of one theme"
    why = f"{len(founders)} events {sign}"
    operations: list[Operation] = [
        AddNode(
            id=id,
            label="" if named else group.theme or "",  # where it is empty, the executor words it from the events
            description="",
            reason=why,
            grounded_in=founders,
            body={"theme": group.theme},
        )
    ]
    broader = _broader(graph, group)
    for one in group.members:
        if group.theme is not None or broader is None:
            operations += _leaving(graph, one, id)
        operations.append(
            AddEdge(
                source=one.event_id,
                target=id,
                kind=EdgeKind.GROUNDS,
                weight=DEFAULT_WEIGHT[EdgeKind.GROUNDS],
                reason=why,
                grounded_in=(one.event_id,),
            )
        )
    if group.theme is None and broader is not None:
        operations.append(
            AddEdge(
                source=id,
                target=broader,
                kind=EdgeKind.PART_OF,
                weight=DEFAULT_WEIGHT[EdgeKind.PART_OF],
                reason="its events belong to the broader one too",
                grounded_in=founders,
            )
        )
    return operations


def _broader(graph: Graph, group: Group) -> str | None:
    """Find the concept that already holds most of some events."""
    counts: dict[str, int] = {}
    for one in group.members:
        for id in graph.held.get(one.seq, ()):
            counts[id] = counts.get(id, 0) + 1
    most = min(counts, key=lambda id: (-counts[id], id), default=None)
    return most if most is not None and 3 * counts[most] >= 2 * len(group.members) else None


def _leaving(graph: Graph, moment: Moment, to: str) -> list[Operation]:
    """Let an event leave the concepts that it confirmed for want of a better one; those it lies beside stay."""
    return [
        RemoveNode(
            id=moment.event_id,
            reason="found its own company",
            grounded_in=(moment.event_id,),
            edge=EdgeKind.REINFORCES,
            target=id,
        )
        for id, weight in graph.held.get(moment.seq, {}).items()
        if id != to and id in graph.nodes and weight >= COUNTED and graph.nodes[id].size > LEAST_GROUNDS
    ]


def _known(near: Nearness, ids: Iterable[str], under: str | None = None) -> dict[str, float]:
    return {under or id: cosine for id in ids if (cosine := near.get(id)) is not None}


def _above(cosine: float | None, level: float) -> float | None:
    """Tell how much nearer than usual something lies, 0 to 1."""
    return None if cosine is None else max(0.0, cosine - level) / (1 - level) if level < 1 else 0.0


def _joined(theme: float, cosine: float | None, words: float, beside: float) -> float:
    if cosine is None:  # without a model, themes and words must carry it alone
        scale = (THEME_COUNTS + VECTOR_COUNTS + WORDS_COUNT) / (THEME_COUNTS + WORDS_COUNT)
        return round(scale * (THEME_COUNTS * theme + WORDS_COUNT * words) + beside, 6)
    return round(THEME_COUNTS * theme + VECTOR_COUNTS * cosine + WORDS_COUNT * words + beside, 6)


def _recency(one: int, other: int) -> float:
    return 0.5 ** (abs(one - other) / WEEK)


def _counting(score: float) -> float:
    return round(min(1.0, max(COUNTED, score)), 3)
