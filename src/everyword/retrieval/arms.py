"""Candidate arms: rank events by words, by vectors, within a time, and by their statements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from everyword.models.protocol import Question
from everyword.retrieval.candidates import (
    STATEMENTS_ARM,
    TIMES_ARM,
    VECTORS_ARM,
    WORDS_ARM,
    Candidate,
    SearchScope,
    add_ranking,
)
from everyword.retrieval.config import Arm, StatementArm
from everyword.retrieval.fusion import reciprocal_rank_fusion
from everyword.storage.postings import Ranking, Seqs
from everyword.storage.protocol import Reader
from everyword.text.terms import term_counts
from everyword.types.events import Filter
from everyword.types.trust import UNVOUCHED, is_vouched

EncodeQuestion = Callable[[], Question | None]  # None where no model can encode it

# From this share of events by tools and pages on, the arms run again over the other sources alone.
MOST_UNVOUCHED = 0.5


class Gathered(NamedTuple):
    """What the arms found."""

    found: dict[int, Candidate]  # by event
    question: Question | None  # as the model encodes it


def gather(scope: SearchScope, encode: EncodeQuestion, times: Sequence[Filter]) -> Gathered:
    """Run every arm of the configuration and join what they found; `times` are the times that the question names."""
    config = scope.config
    found: dict[int, Candidate] = {}
    question, by_words = _add_words_and_vectors(found, scope, encode)
    if _is_crowded(found, scope) and len(vouched := _vouched(scope)):
        _add_words_and_vectors(found, scope._replace(allowed=vouched), lambda: question)
    if config.times is not None:
        for time in times:
            _add_time(found, scope, config.times, question, time)
    if config.statements is not None and scope.terms:
        seqs = list(dict.fromkeys((*by_words.seqs.tolist(), *found)))
        ranked = by_statements(scope.reader, scope.terms, seqs, config.statements)
        add_ranking(found, _permitted(ranked, scope.allowed), STATEMENTS_ARM)
    return Gathered(found, question)


def search_deeper(
    scope: SearchScope, ranked: Sequence[Candidate], question: Question | None, k: int
) -> list[Candidate]:
    """Return further candidates by words and vectors, to follow the ranked ones where `k` asks for more.

    So the first hits are the same for every `k`, and late interaction never costs more.
    """
    config = scope.config
    arms = [arm for arm in (config.words, config.vectors) if arm is not None]
    if len(ranked) >= k or not any(len(ranked) >= arm.depth for arm in arms):  # no arm left anything out
        return []
    words, vectors = (arm and replace(arm, depth=max(arm.depth, k)) for arm in (config.words, config.vectors))
    deeper = replace(config, words=words, vectors=vectors, times=None, statements=None)
    found = gather(scope._replace(config=deeper), lambda: question, []).found
    known = {candidate.seq for candidate in ranked}
    unread = question.unread if question is not None else 0.0
    more = [one for one in reciprocal_rank_fusion(found.values(), deeper, unread) if one.seq not in known]
    matched = any(candidate.late is not None for candidate in ranked)
    floor = min(candidate.score for candidate in ranked)
    for candidate in more:
        # Fused scores and scores of late interaction differ in unit; both must stay below the last ranked one.
        candidate.score = floor - 1.0 + min(candidate.score, 1.0) if matched else min(candidate.score, floor)
    return more


def _add_words_and_vectors(
    found: dict[int, Candidate], scope: SearchScope, encode: EncodeQuestion
) -> tuple[Question | None, Ranking]:
    reader, config, _, model, allowed = scope
    question = None
    by_words = _by_words(scope)
    if config.words is not None:
        depth = config.words.depth
        add_ranking(found, Ranking(by_words.seqs[:depth], by_words.scores[:depth]), WORDS_ARM)
    if config.vectors is not None and model is not None:
        # Encode last: in a new process the model is still loading while the rest is read.
        reader.prepare(model)
        question = encode()
        if question is not None:
            ranking = reader.by_vector(model, question.pooled, config.vectors.depth, allowed)
            add_ranking(found, ranking, VECTORS_ARM)
    return question, by_words


def _by_words(scope: SearchScope) -> Ranking:
    """Rank by BM25, as deep as the arm of words or the arm of statements needs."""
    reader, config, terms, _, allowed = scope
    depth = max(config.words.depth if config.words else 0, config.statements.reach if config.statements else 0)
    if not depth or not terms:
        return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
    return reader.by_words(terms, depth, allowed)


def _is_crowded(found: Mapping[int, Candidate], scope: SearchScope) -> bool:
    """Tell whether tools and pages fill so much of the pool that they may crowd out people's words."""
    if not found:
        return False
    outlines = scope.reader.outlines(list(found))
    return sum(not is_vouched(one.source) for one in outlines.values()) >= MOST_UNVOUCHED * len(found)


def _vouched(scope: SearchScope) -> Seqs:
    """List the allowed events that no tool or page wrote."""
    seqs = scope.reader.matching(Filter(source=tuple(f"!{source}" for source in UNVOUCHED)))
    if seqs is None or scope.allowed is None:
        return np.empty(0, np.int64) if seqs is None else seqs
    return np.intersect1d(seqs, scope.allowed, assume_unique=True)


def _add_time(
    found: dict[int, Candidate], scope: SearchScope, arm: Arm, question: Question | None, time: Filter
) -> None:
    """Search one time alone: events of other times may match better and crowd its events out."""
    reader, _, terms, model, allowed = scope
    then = reader.matching(time)
    if then is not None and allowed is not None:
        then = np.intersect1d(then, allowed, assume_unique=True)
    if then is None or not len(then):
        return
    add_ranking(found, reader.by_words(terms, arm.depth, then), TIMES_ARM)
    if question is not None and model is not None:
        add_ranking(found, reader.by_vector(model, question.pooled, arm.depth, then), TIMES_ARM)


def by_statements(
    reader: Reader, terms: Mapping[int, float], seqs: Sequence[int], arm: StatementArm
) -> list[tuple[int, float]]:
    """Rank events by the share of the question's words in their best statement; rare words count more."""
    statements = reader.statement_texts(seqs)
    matches = [(one, terms.keys() & term_counts(one.content).keys()) for one in statements]
    spread = Counter(term for _, shared in matches for term in shared)
    rarity = {term: math.log1p((len(matches) + 1) / (spread[term] + 1)) for term in terms}
    total = sum(rarity.values())
    best: dict[int, float] = {}
    for statement, shared in matches:
        if len(shared) >= arm.least:
            score = sum(rarity[term] for term in shared) / total * (1.0 if statement.current else arm.past)
            best[statement.seq] = max(score, best.get(statement.seq, 0.0))
    return sorted(best.items(), key=lambda one: (-one[1], -one[0]))[: arm.depth]


def _permitted(scored: Sequence[tuple[int, float]], allowed: Seqs | None) -> Ranking:
    seqs = np.array([seq for seq, _ in scored], np.int64)
    scores = np.array([score for _, score in scored], np.float32)
    if allowed is not None:
        permitted = np.isin(seqs, allowed)
        seqs, scores = seqs[permitted], scores[permitted]
    return Ranking(seqs, scores)
