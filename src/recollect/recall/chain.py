"""Chains: what leads to what. A question about causes or effects is answered by events that it shares no word with.

"Why are we staying at Ines's?" finds that there is no floor; that the floor came out because a pipe burst is told in
words of its own. So, of such a question, the rare words of the best hits are looked for in turn, backwards in time for
causes and forwards for effects, and again from what that finds.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.core.values import Event
from recollect.core.words import question_terms
from recollect.recall.analyse import Analysis, Kind
from recollect.recall.candidates import Asking, Candidate, Linked
from recollect.recall.recipes import Chain

_MOST_TERMS = 24  # of a hit; a long one would find everything, and each term costs a read
# Of the index, at a hop: the common words of a hit tell nothing of a cause, and in a large memory they are most of what
# there is to read. A memory of a few thousand events is read whole.
_MOST_BYTES = 16_384
_DEPTH = 50  # events that its words are looked for in
_BEHIND = 0.005  # what only says again what a hit says comes behind it


def follow(asking: Asking, ranked: Sequence[Candidate], asked: Analysis) -> list[Candidate]:
    """Bring in what the best hits hang together with, where a question asks for causes or effects."""
    chain = asking.recipe.chain
    if chain is None or not ranked or not (asked.kind is Kind.CAUSAL or asked.effects):
        return list(ranked)
    known = {candidate.seq: candidate for candidate in ranked}
    seeds = list(ranked[: chain.seeds])
    for hop in range(1, chain.hops + 1):
        seeds = _hop(asking, chain, seeds, known, hop, forward=asked.effects)
    return sorted(known.values(), key=lambda candidate: (-candidate.score, -candidate.seq))


def _hop(
    asking: Asking, chain: Chain, seeds: Sequence[Candidate], known: dict[int, Candidate], hop: int, *, forward: bool
) -> list[Candidate]:
    events = asking.reader.fetch(asking.space, [seed.seq for seed in seeds])
    reached: dict[int, Candidate] = {}
    for seed in seeds:
        event = events.get(seed.seq)
        if event is None:
            continue
        for seq, strength in _linked(asking, chain, seed.seq, event, forward=forward):
            score = seed.score - max(chain.cost - chain.strength * strength, _BEHIND)
            candidate = known.setdefault(seq, Candidate(seq, score=float("-inf")))
            if score > candidate.score:
                candidate.score = score
                candidate.linked = Linked(seed.seq, strength, hop)
                reached[seq] = candidate
    return sorted(reached.values(), key=lambda candidate: -candidate.score)[: chain.seeds]


def _linked(asking: Asking, chain: Chain, seq: int, event: Event, *, forward: bool) -> list[tuple[int, float]]:
    """Find what shares the most rare words with an event and lies on the right side of it in time."""
    told = dict(question_terms(event.text).most_common(_MOST_TERMS))
    terms = {term: told[term] for term in asking.reader.rarest(asking.space, told, _MOST_BYTES)}
    ranking = asking.reader.by_words(asking.space, terms, _DEPTH, asking.allowed)
    found = dict(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True))
    whole = found.pop(seq, max(found.values(), default=0.0))
    if not whole:
        return []
    outlines = asking.reader.outlines(asking.space, list(found))
    at = asking.reader.outlines(asking.space, [seq])[seq].at
    strengths = [
        (other, score / whole)
        for other, score in found.items()
        if other in outlines and (outlines[other].at > at if forward else outlines[other].at < at)
    ]
    return sorted(strengths, key=lambda link: -link[1])[: chain.links]
