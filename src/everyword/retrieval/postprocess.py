"""Stages after reranking: follow causes and effects, decide how many hits to return."""

from __future__ import annotations

from collections.abc import Sequence

from everyword.retrieval.candidates import Candidate, ChainLink, SearchScope, by_score
from everyword.retrieval.config import CausalChain, SearchConfig
from everyword.retrieval.query_analysis import Analysis, Kind
from everyword.text.terms import question_terms
from everyword.types.events import Event

_MOST_TERMS = 24  # of a hit; a long one would match everything, and each term costs a read
# Bytes of the index read for a hop. Common words say nothing about a cause, and are most of a large index; the index
# of a few thousand events is read whole.
_MOST_BYTES = 16_384
_DEPTH = 50  # events that share its words
_LEAST_COST = 0.005  # so that an event which only repeats its seed ranks below it

_DEFAULT_K = 10  # hits where scores are not comparable
_SEVERAL = frozenset({Kind.LISTING, Kind.COUNTING, Kind.COMPARING, Kind.CAUSAL})


def follow_causal_chain(scope: SearchScope, ranked: Sequence[Candidate], asked: Analysis) -> list[Candidate]:
    """Add events that share rare words with the best hits, where a question asks for causes or effects.

    A cause is often told in other words than the question: "why do we stay at Ines's?" and "the floor came out".
    """
    chain = scope.config.chain
    if chain is None or not ranked or not (asked.kind is Kind.CAUSAL or asked.effects):
        return list(ranked)
    known = {candidate.seq: candidate for candidate in ranked}
    seeds = list(ranked[: chain.seeds])
    for hop in range(1, chain.hops + 1):
        seeds = _hop(scope, chain, seeds, known, hop, forward=asked.effects)
    return by_score(known.values())


def _hop(
    scope: SearchScope,
    chain: CausalChain,
    seeds: Sequence[Candidate],
    known: dict[int, Candidate],
    hop: int,
    *,
    forward: bool,
) -> list[Candidate]:
    events = scope.reader.fetch([seed.seq for seed in seeds])
    reached: dict[int, Candidate] = {}
    for seed in seeds:
        event = events.get(seed.seq)
        if event is None:
            continue
        for seq, strength in _linked(scope, chain, seed.seq, event, forward=forward):
            score = seed.score - max(chain.cost - chain.strength * strength, _LEAST_COST)
            candidate = known.setdefault(seq, Candidate(seq, score=float("-inf")))
            if score > candidate.score:
                candidate.score = score
                candidate.chain = ChainLink(strength, hop)
                reached[seq] = candidate
    return sorted(reached.values(), key=lambda candidate: -candidate.score)[: chain.seeds]


def _linked(
    scope: SearchScope, chain: CausalChain, seq: int, event: Event, *, forward: bool
) -> list[tuple[int, float]]:
    """Find the events that share the most rare words with an event, and come before or after it."""
    counts = dict(question_terms(event.text).most_common(_MOST_TERMS))
    terms = {term: counts[term] for term in scope.reader.rarest(counts, _MOST_BYTES)}
    ranking = scope.reader.by_words(terms, _DEPTH, scope.allowed)
    found = dict(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True))
    whole = found.pop(seq, max(found.values(), default=0.0))
    if not whole:
        return []
    outlines = scope.reader.outlines(list(found))
    at = scope.reader.outlines([seq])[seq].at
    strengths = [
        (other, score / whole)
        for other, score in found.items()
        if other in outlines and (outlines[other].at > at if forward else outlines[other].at < at)
    ]
    return sorted(strengths, key=lambda link: -link[1])[: chain.links]


def auto_k(ranked: Sequence[Candidate], asked: Analysis, config: SearchConfig) -> int:
    """Count the hits within a margin of the best score; allow more where several things are asked for."""
    rule = config.auto_k
    if rule is None or not ranked or ranked[0].late is None:
        return _DEFAULT_K
    most = rule.several if asked.kind in _SEVERAL else rule.most
    near = sum(candidate.score >= ranked[0].score - rule.margin for candidate in ranked[:most])
    return max(rule.least, near)
