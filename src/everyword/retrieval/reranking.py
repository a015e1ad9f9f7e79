"""Rerank candidates: by late interaction and boosts, then by a cross-encoder or an LLM if the memory has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import LateInteraction, Question, Reranker
from everyword.retrieval.boosts import Boosts
from everyword.retrieval.candidates import (
    WORDS_ARM,
    Candidate,
    Placement,
    SearchScope,
    by_score,
    rank_matched,
)
from everyword.retrieval.config import SearchConfig
from everyword.retrieval.late_interaction import MaxSim, joint_matches, new_neighbours, turns_around
from everyword.storage.rows import Model
from everyword.text.rendering import encoder_line
from everyword.types.events import Event, Span

UNREAD = "unread"


class Reranked(NamedTuple):
    """Candidates in their new order, and their matches; None where no candidate has token vectors."""

    candidates: list[Candidate]
    maxsim: MaxSim | None


def late_interaction_stage(
    scope: SearchScope,
    ranked: Sequence[Candidate],
    *,
    question: Question,
    model: Model,
    embedder: LateInteraction,
    boosts: Boosts,
) -> Reranked:
    """Rerank the best fused candidates and the turns around them; candidates without token vectors follow behind."""
    config = scope.config
    maxsim = MaxSim(scope.reader, model=model, embedder=embedder, question=question)
    seen = _match(scope, maxsim, ranked[: config.rerank_depth])
    if not seen:
        return Reranked(list(ranked), None)
    maxsim.weigh_tokens(config.token_power)
    by_words = _WordFallback(config, question, seen)
    _score(seen, maxsim, boosts, by_words)
    if config.neighbours is not None:
        known = {candidate.seq for candidate in seen}
        seeds = [candidate.seq for candidate in by_score(seen)[: config.neighbours.seeds]]
        runs = turns_around(scope.reader, seeds, config.neighbours.reach, scope.allowed)
        new = _match(scope, maxsim, new_neighbours(runs, known))
        _score(new, maxsim, boosts, by_words)
        seen += new
        maxsim.joint = joint_matches(maxsim, runs, config.neighbours)
        joint = (maxsim.joint @ maxsim.weights).tolist()
        for candidate in seen:
            candidate.neighbours = (joint[maxsim.rows[candidate.seq]] - (candidate.late or 0.0)) * (1 - question.unread)
            candidate.score += candidate.neighbours
    seen = rank_matched(seen)
    return Reranked(seen + _unmatched(seen, ranked), maxsim)


def _match(scope: SearchScope, maxsim: MaxSim, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Match candidates and read their outlines; leave out those that have no token vectors."""
    seqs = [candidate.seq for candidate in candidates]
    maxsim.match(seqs)
    outlines = scope.reader.outlines(seqs)
    matched = [candidate for candidate in candidates if candidate.seq in maxsim.rows]
    for candidate in matched:
        candidate.outline = outlines.get(candidate.seq)
        # Where the model can't read the question, words choose what to quote of a long event.
        candidate.window = None if maxsim.blind else maxsim.windows[maxsim.rows[candidate.seq]]
    return matched


class _WordFallback:
    """Replaces matches of vectors by matches of words, by the share of the question that the model can't read."""

    def __init__(self, config: SearchConfig, question: Question, candidates: Sequence[Candidate]) -> None:
        self._unread = question.unread if config.unread else 0.0
        self._worth = config.unread
        self._best = max((_word_score(candidate) for candidate in candidates), default=0.0) or 1.0

    def add(self, candidates: Sequence[Candidate]) -> None:
        if self._unread:
            for candidate in candidates:
                words = self._worth * _word_score(candidate) / self._best
                candidate.add_boost(UNREAD, self._unread * (words - (candidate.late or 0.0)))


def _word_score(candidate: Candidate) -> float:
    return candidate.arms[WORDS_ARM].score if WORDS_ARM in candidate.arms else 0.0


def _score(candidates: Sequence[Candidate], maxsim: MaxSim, boosts: Boosts, by_words: _WordFallback) -> None:
    """Score candidates by their own match and their boosts."""
    rows = [maxsim.rows[candidate.seq] for candidate in candidates]
    for candidate, score in zip(candidates, maxsim.scores()[rows].tolist(), strict=True):
        candidate.score = candidate.late = score
    boosts.add(candidates, maxsim.lengths[rows].tolist())
    by_words.add(candidates)


def _unmatched(seen: Sequence[Candidate], ranked: Sequence[Candidate]) -> list[Candidate]:
    """List the candidates that late interaction did not score, with scores below all that it did."""
    floor = seen[-1].score
    rest = [candidate for candidate in ranked if candidate.late is None]
    for candidate in rest:
        candidate.score = floor - 1.0 + min(candidate.score, 1.0)
    return rest


def cross_encoder_stage(
    question: str,
    ranked: Sequence[Candidate],
    events: Mapping[int, Event],
    config: SearchConfig,
    reranker: Reranker,
) -> list[Candidate]:
    """Reorder the first candidates by a blend of their scores and the reranker's.

    Rerankers score on scales of their own, so both are standardised first. A candidate takes over the score of the
    place that it moves to.
    """
    first = list(ranked[: config.reranker_depth])
    passages = [_passage(events[candidate.seq], candidate.window) for candidate in first]
    raw = np.asarray(reranker.scores(question, passages), np.float64)
    blended = _standardise(np.array([one.score for one in first])) + config.reranker_weight * _standardise(raw)
    scores = [candidate.score for candidate in first]
    order = np.argsort(-blended, kind="stable").tolist()
    ranks = np.argsort(np.argsort(-raw, kind="stable"), kind="stable").tolist()
    for score, number in zip(scores, order, strict=True):
        first[number].score = score
        first[number].reranked = Placement(float(raw[number]), ranks[number] + 1)
    return [*(first[number] for number in order), *ranked[config.reranker_depth :]]


def _passage(event: Event, window: Span | None) -> str:
    return encoder_line(event, window or Span(0, len(event.text)))


def _standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = values.std() if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
