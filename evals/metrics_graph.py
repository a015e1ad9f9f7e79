"""Measure a graph that a memory made of a stream of events, without an LLM: the structural metrics of CogEval.

A graph is plain data, so that any system can be measured:

    {"concepts": [{"label": ..., "events": [keys], "embedding": optional, "id": optional}],
     "edges": [{"source": ..., "target": ..., "kind": ...}],        ends are ids, or labels where there are none
     "intents": [{"statement": ..., "events": [keys], "concepts": [ids or labels]}]}

The gold graph is the one that `evals.tasks.cogeval` gives for a store. Embeddings come in as a function.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Graph = Mapping[str, Any]
Embed = Callable[[str], Sequence[float]]

LABEL_MATCH = 0.75  # cosine from which two labels mean the same concept; CogniFold's, for text-embedding-3-small
STATEMENT_MATCH = 0.75  # cosine from which a statement is the gold goal; the same rule
SUPPORT_SHARE = 0.5  # of an intent's events that must lie in the gold intent's concepts, if it isn't matched by wording
GROUNDING_LINKS = 2  # links from which an intent counts as grounded
DAMPING = 0.85  # of PageRank
PAGERANK_ROUNDS = 100  # the error is .85^100 of a rank, far below what a Gini shows


def graph_metrics(
    produced: Graph, gold: Graph, *, texts: Mapping[str, str], embed: Embed, threshold: float = LABEL_MATCH
) -> dict[str, float]:
    """Compute every metric of a produced graph. `texts` maps event keys to their texts."""
    precision, recall, f1 = gold_f1(produced, gold, embed, threshold=threshold)
    intent_precision, intent_recall = intent_scores(produced, gold, embed)
    return {
        "gold_precision": precision,
        "gold_recall": recall,
        "gold_f1": f1,
        "purity": purity(produced, texts, embed),
        "chain_discovery": chain_discovery(produced, gold),
        "clustering": clustering(produced),
        "modularity": modularity(produced),
        "edge_type_entropy": edge_type_entropy(produced),
        "compression": compression(produced, len(texts)),
        "pagerank_gini": pagerank_gini(produced),
        "proactivity": proactivity(produced),
        "intent_precision": intent_precision,
        "intent_recall": intent_recall,
        "concepts": float(len(produced["concepts"])),
        "intents": float(len(produced["intents"])),
    }


def gold_f1(
    produced: Graph, gold: Graph, embed: Embed, *, threshold: float = LABEL_MATCH
) -> tuple[float, float, float]:
    """Match produced to gold concepts one to one by their labels; give precision, recall and F1."""
    made = [_concept_vector(concept, embed) for concept in produced["concepts"]]
    wanted = [_unit(embed(concept["label"])) for concept in gold["concepts"]]
    matched = _matched([[_cosine(one, other) for other in wanted] for one in made], threshold)
    precision = matched / len(made) if made else 0.0
    recall = matched / len(wanted) if wanted else 0.0
    return precision, recall, _harmonic(precision, recall)


def purity(produced: Graph, texts: Mapping[str, str], embed: Embed) -> float:
    """Average the pairwise cosine of the events in each concept, over the concepts with two events or more."""
    vectors: dict[str, np.ndarray] = {}
    means: list[float] = []
    for concept in produced["concepts"]:
        keys = list(dict.fromkeys(concept["events"]))
        for key in keys:
            vectors.setdefault(key, _unit(embed(texts[key])))
        pairs = [_cosine(vectors[one], vectors[other]) for one, other in itertools.combinations(keys, 2)]
        if pairs:
            means.append(sum(pairs) / len(pairs))
    return sum(means) / len(means) if means else 0.0


def chain_discovery(produced: Graph, gold: Graph, *, longest: int | None = None) -> float:
    """Tell the share of planted chains whose first and last event lie in two concepts with a path between them.

    A path runs along edges in either direction, and through events that two concepts share. `longest` bounds its
    edges, since in a graph that hangs together any two ends have some path.
    """
    neighbours = _neighbours(produced)
    for concept_events in _holders(produced).values():
        for one, other in itertools.permutations(concept_events, 2):
            neighbours.setdefault(one, set()).add(other)
    holders = _holders(produced)
    found = 0
    for chain in gold["chains"]:
        starts, ends = holders.get(chain["events"][0], set()), holders.get(chain["events"][-1], set())
        found += any(_distance(neighbours, start, ends - {start}, longest) is not None for start in starts)
    return found / len(gold["chains"]) if gold["chains"] else 0.0


def clustering(produced: Graph) -> float:
    """Average the local clustering coefficient of the concepts, edges taken without direction."""
    neighbours = _neighbours(produced)
    local: list[float] = []
    for concept in _ids(produced):
        around = neighbours.get(concept, set())
        possible = len(around) * (len(around) - 1) / 2
        closed = sum(other in neighbours.get(one, set()) for one, other in itertools.combinations(sorted(around), 2))
        local.append(closed / possible if possible else 0.0)
    return sum(local) / len(local) if local else 0.0


def modularity(produced: Graph) -> float:
    """Give Newman's Q of the communities that greedy merging finds."""
    neighbours = {node: around for node, around in _neighbours(produced).items() if around}
    doubled = sum(map(len, neighbours.values()))
    if not doubled:
        return 0.0
    communities = [{node} for node in neighbours]
    while True:
        gains = [
            (_merge_gain(communities[one], communities[other], neighbours, doubled), -one, -other)
            for one, other in itertools.combinations(range(len(communities)), 2)
        ]
        gain, one, other = max(gains, default=(0.0, 0, 0))
        if gain <= 0:
            return sum(_community_q(community, neighbours, doubled) for community in communities)
        communities[-one] |= communities.pop(-other)


def edge_type_entropy(produced: Graph) -> float:
    """Give Shannon's entropy of the kinds of the edges, in bits."""
    counts = Counter(edge["kind"] for edge in produced["edges"]).values()
    total = sum(counts)
    return sum(-count / total * math.log2(count / total) for count in counts)


def compression(produced: Graph, events: int) -> float:
    """Divide the events of the stream by the concepts made of them."""
    return events / len(produced["concepts"]) if produced["concepts"] else 0.0


def pagerank_gini(produced: Graph) -> float:
    """Give the Gini coefficient of the concepts' PageRank: 0 where all weigh the same."""
    ranks = sorted(pagerank(produced).values())
    if not ranks:
        return 0.0
    count = len(ranks)
    return sum((2 * place - count - 1) * rank for place, rank in enumerate(ranks, 1)) / (count * sum(ranks))


def pagerank(produced: Graph) -> dict[str, float]:
    """Compute the PageRank of the concepts along the direction of the edges."""
    ids = _ids(produced)
    targets: dict[str, list[str]] = {node: [] for node in ids}
    for edge in produced["edges"]:
        if edge["source"] in targets and edge["target"] in targets:
            targets[edge["source"]].append(edge["target"])
    ranks = dict.fromkeys(ids, 1 / len(ids)) if ids else {}
    for _ in range(PAGERANK_ROUNDS if ids else 0):
        loose = sum(ranks[node] for node in ids if not targets[node])
        fresh = dict.fromkeys(ids, (1 - DAMPING + DAMPING * loose) / len(ids))
        for node, linked in targets.items():
            for target in linked:
                fresh[target] += DAMPING * ranks[node] / len(linked)
        ranks = fresh
    return ranks


def proactivity(produced: Graph) -> float:
    """Tell the share of intents that two links or more ground, to events or to concepts."""
    intents = produced["intents"]
    grounded = sum(
        len(set(intent.get("events", ()))) + len(set(intent.get("concepts", ()))) >= GROUNDING_LINKS
        for intent in intents
    )
    return grounded / len(intents) if intents else 0.0


def intent_scores(
    produced: Graph, gold: Graph, embed: Embed, *, threshold: float = STATEMENT_MATCH
) -> tuple[float, float]:
    """Match produced to gold intents one to one; give precision and recall.

    A produced intent matches by its wording, or by its grounds: it stands on an event that shows the goal unmet, and
    at least half of its events belong to the gold intent or to that intent's concepts.
    """
    made, wanted = produced["intents"], gold["intents"]
    concept_events = {concept["label"]: set(concept["events"]) for concept in gold["concepts"]}
    similar = [[_intent_similarity(one, other, concept_events, embed, threshold) for other in wanted] for one in made]
    matched = _matched(similar, threshold)
    return (matched / len(made) if made else 0.0, matched / len(wanted) if wanted else 0.0)


def _intent_similarity(
    made: Mapping[str, Any],
    wanted: Mapping[str, Any],
    concept_events: Mapping[str, set[str]],
    embed: Embed,
    threshold: float,
) -> float:
    worded = _cosine(_unit(embed(made["statement"])), _unit(embed(wanted["statement"])))
    events, goal = set(made.get("events", ())), set(wanted["events"])
    support = goal.union(*(concept_events[label] for label in wanted["concepts"]))
    if events & goal and len(events & support) >= SUPPORT_SHARE * len(events):
        # As good as a match by wording, and better the more of the grounds are the goal's own.
        return max(worded, threshold + (1 - threshold) * len(events & goal) / len(events | goal))
    return worded


def best_pairs(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pair rows with columns one to one so that the sum of their weights is greatest (the Hungarian algorithm).

    Written here, so that a result does not depend on whether scipy is installed: the two may break ties differently.
    """
    if not weights or not weights[0]:
        return []
    if len(weights) > len(weights[0]):
        return sorted(
            (row, column) for column, row in best_pairs([list(column) for column in zip(*weights, strict=True)])
        )
    rows, columns = len(weights), len(weights[0])
    row_price, column_price = [0.0] * (rows + 1), [0.0] * (columns + 1)
    row_of = [0] * (columns + 1)  # the row, from 1, that a column is paired with; column 0 holds the row to be placed
    for row in range(1, rows + 1):
        row_of[0] = row
        _place_row(weights, row_price, column_price, row_of)
    return sorted((row_of[column] - 1, column - 1) for column in range(1, columns + 1) if row_of[column])


def _place_row(
    weights: Sequence[Sequence[float]], row_price: list[float], column_price: list[float], row_of: list[int]
) -> None:
    """Find the cheapest way to give the row in column 0 a column of its own, moving other rows along."""
    columns = len(column_price)
    slack, came_from, done = [math.inf] * columns, [0] * columns, [False] * columns
    column = 0
    while True:
        done[column] = True
        row, nearest, gap = row_of[column], 0, math.inf
        for other in range(1, columns):
            if done[other]:
                continue
            cost = -weights[row - 1][other - 1] - row_price[row] - column_price[other]
            if cost < slack[other]:
                slack[other], came_from[other] = cost, column
            if slack[other] < gap:
                gap, nearest = slack[other], other
        for other in range(columns):
            if done[other]:
                row_price[row_of[other]] += gap
                column_price[other] -= gap
            else:
                slack[other] -= gap
        column = nearest
        if not row_of[column]:
            break
    while column:
        row_of[column] = row_of[came_from[column]]
        column = came_from[column]


def _matched(similar: Sequence[Sequence[float]], threshold: float) -> int:
    """Count the pairs of the best one-to-one matching among those that reach the threshold."""
    # Cosines carry rounding errors; a label that is the same word for word must reach a threshold of 1.
    close = [[value if value >= threshold - 1e-9 else 0.0 for value in row] for row in similar]
    return sum(close[row][column] > 0 for row, column in best_pairs(close))


def _merge_gain(one: set[str], other: set[str], neighbours: Mapping[str, set[str]], doubled: int) -> float:
    between = sum(len(neighbours[node] & other) for node in one)
    degrees = sum(len(neighbours[node]) for node in one) * sum(len(neighbours[node]) for node in other)
    return 2 * (between / doubled - degrees / doubled**2)


def _community_q(community: set[str], neighbours: Mapping[str, set[str]], doubled: int) -> float:
    inside = sum(len(neighbours[node] & community) for node in community)
    degrees = sum(len(neighbours[node]) for node in community)
    return inside / doubled - (degrees / doubled) ** 2


def _ids(produced: Graph) -> list[str]:
    return [concept.get("id", concept["label"]) for concept in produced["concepts"]]


def _neighbours(produced: Graph) -> dict[str, set[str]]:
    """Map each concept to those that an edge joins it with, without direction and without loops."""
    neighbours: dict[str, set[str]] = {node: set() for node in _ids(produced)}
    for edge in produced["edges"]:
        source, target = edge["source"], edge["target"]
        if source in neighbours and target in neighbours and source != target:
            neighbours[source].add(target)
            neighbours[target].add(source)
    return neighbours


def _holders(produced: Graph) -> dict[str, set[str]]:
    """Map each event to the concepts that it grounds."""
    holders: dict[str, set[str]] = {}
    for concept in produced["concepts"]:
        for key in concept["events"]:
            holders.setdefault(key, set()).add(concept.get("id", concept["label"]))
    return holders


def _distance(neighbours: Mapping[str, set[str]], start: str, ends: set[str], longest: int | None) -> int | None:
    seen, waiting = {start}, deque([(start, 0)])
    while waiting:
        node, steps = waiting.popleft()
        if node in ends:
            return steps
        if longest is None or steps < longest:
            fresh = neighbours.get(node, set()) - seen
            seen |= fresh
            waiting.extend((other, steps + 1) for other in fresh)
    return None


def _concept_vector(concept: Mapping[str, Any], embed: Embed) -> np.ndarray:
    given = concept.get("embedding")
    return _unit(given if given is not None else embed(concept["label"]))


def _unit(vector: Sequence[float]) -> np.ndarray:
    array = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(array))
    return array / length if length else array


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other)


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0
