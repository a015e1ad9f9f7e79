"""Arms by what events state: an artifact leads to the event that it was read from, a link to another one's.

An artifact's words are its event's words, with its subject named. So the words index finds the events; of those that it
ranks too low because they say much else besides, this arm takes the ones that state what is asked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from recollect.core.words import term_counts
from recollect.recall.candidates import ARTIFACTS_ARM, LINKS_ARM, Asking, Candidate, take
from recollect.recall.fuse import fuse
from recollect.recall.recipes import Linked, Stated
from recollect.store.artifacts import Statement
from recollect.store.postings import Ranking
from recollect.store.protocol import Reader, Seqs


def add_stated(found: dict[int, Candidate], asking: Asking, by_words: Ranking) -> None:
    """Ask what events state: those that words rank too low, and those that links lead to."""
    reader, space, recipe, terms, _, allowed = asking
    if recipe.artifacts is not None and terms:
        seqs = list(dict.fromkeys((*by_words.seqs.tolist(), *found)))
        take(found, _ranking(by_statements(reader, space, terms, seqs, recipe.artifacts), allowed), ARTIFACTS_ARM)
    if recipe.links is not None:
        best = [(candidate.seq, candidate.score) for candidate in fuse(found.values(), recipe)]
        take(found, _ranking(by_links(reader, space, best, recipe.links), allowed), LINKS_ARM)


def by_statements(
    reader: Reader, space: str, terms: Mapping[int, float], seqs: Sequence[int], arm: Stated
) -> list[tuple[int, float]]:
    """Rank events by how much of the question the best of their statements holds; rare words count more."""
    statements = reader.statements(space, seqs)
    held = [(one, terms.keys() & term_counts(one.content).keys()) for one in statements]
    rarity = _rarity(terms, [shared for _, shared in held])
    whole = sum(rarity.values())
    best: dict[int, float] = {}
    for statement, shared in held:
        if len(shared) >= arm.least:
            worth = sum(rarity[term] for term in shared) / whole * _standing(statement, arm)
            best[statement.seq] = max(worth, best.get(statement.seq, 0.0))
    return sorted(best.items(), key=lambda one: (-one[1], -one[0]))[: arm.depth]


def by_links(reader: Reader, space: str, ranked: Sequence[tuple[int, float]], arm: Linked) -> list[tuple[int, float]]:
    """Go from the best events so far along the links of what they state, each hop for less."""
    known = dict(ranked)
    reached: dict[int, float] = {}
    ring = dict(ranked[: arm.seeds])
    for _ in range(arm.hops):
        found: dict[int, float] = {}
        for source, target, weight in reader.linked(space, list(ring)):
            worth = ring[source] * weight * arm.discount
            if target not in ring and worth > max(found.get(target, 0.0), reached.get(target, 0.0)):
                found[target] = worth
        reached |= found
        ring = found
    return sorted(reached.items(), key=lambda one: (-one[1], one[0] in known, -one[0]))[: arm.depth]


def _ranking(scored: Sequence[tuple[int, float]], allowed: Seqs | None) -> Ranking:
    seqs = np.array([seq for seq, _ in scored], np.int64)
    scores = np.array([score for _, score in scored], np.float32)
    if allowed is not None:  # a link may lead to what the question may not see
        may = np.isin(seqs, allowed)
        seqs, scores = seqs[may], scores[may]
    return Ranking(seqs, scores)


def _rarity(terms: Mapping[int, float], held: Sequence[set[int]]) -> dict[int, float]:
    spread = Counter(term for shared in held for term in shared)
    return {term: math.log1p((len(held) + 1) / (spread[term] + 1)) for term in terms}


def _standing(statement: Statement, arm: Stated) -> float:
    return 1.0 if statement.current else arm.past
