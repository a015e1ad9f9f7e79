"""Rerank candidates: by late interaction and boosts, then by a cross-encoder or an LLM if the memory has one.

Boosts add what is known about an event besides its words: speaker, role, source, time and length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import LateInteraction, Question, Reranker
from everyword.retrieval.candidates import (
    WORDS_ARM,
    Candidate,
    Candidates,
    Placement,
    SearchScope,
    searchable_windows,
    slack_of,
)
from everyword.retrieval.config import SearchConfig
from everyword.retrieval.late_interaction import (
    ABOUT,
    ASSISTANT,
    BOOSTS,
    LENGTH,
    OWN_WORDS,
    SOURCE,
    TIME,
    UNREAD,
    Matched,
    Teller,
)
from everyword.retrieval.query_analysis import Analysis, Window
from everyword.retrieval.subject_match import NamedPeople
from everyword.text.rendering import encoder_line
from everyword.types.events import ASSISTANTS, Event, Span
from everyword.types.times import to_micros
from everyword.types.trust import is_vouched, trust_of

_MICROSECOND = timedelta(microseconds=1)


def rerank(
    scope: SearchScope,
    found: Candidates,
    *,
    question: Question,
    embedder: LateInteraction,
    asked: Analysis,
    people: NamedPeople,
) -> Matched | None:
    """Match and boost the best fused candidates and the turns around them; None where none has token vectors."""
    config = scope.config
    matched = Matched(scope, embedder, question)
    matched.match(found.seqs[: config.rerank_depth].tolist())
    if not matched.rows:
        return None
    matched.weigh_tokens(config.token_power)
    places = found.arms.get(WORDS_ARM)
    known = {} if places is None else dict(zip(places.seqs.tolist(), places.scores.tolist(), strict=True))
    words = {seq: score for seq, score in known.items() if seq in matched.rows}
    _boost(matched, config, question, asked, people, words)
    if config.neighbours is not None:
        seeds = matched.seqs[matched.order()[: config.neighbours.seeds]].tolist()
        runs = _turns_around(scope, seeds, config.neighbours.reach)
        near = dict.fromkeys(seq for run in runs for seq in run)
        matched.match([seq for seq in near if seq >= 0 and seq not in matched.rows])
        _boost(matched, config, question, asked, people, words)
        matched.add_neighbours(runs, config.neighbours)
    return matched


def _turns_around(scope: SearchScope, seeds: Sequence[int], reach: int) -> list[list[int]]:
    """Read the run of turns around each seed; -1 stands for a turn that the search may not return.

    Such a turn keeps its place, so that a turn three steps away does not come nearer.
    """
    runs = scope.reader.around(seeds, reach)
    if scope.allowed is None:
        return runs
    near = np.fromiter({seq for run in runs for seq in run}, np.int64)
    permitted = set(np.intersect1d(scope.allowed, near).tolist())
    return [[seq if seq in permitted else -1 for seq in run] for run in runs]


def _boost(
    matched: Matched,
    config: SearchConfig,
    question: Question,
    asked: Analysis,
    people: NamedPeople,
    words: Mapping[int, float],
) -> None:
    """Weigh the matches and compute the boosts; `words` are scores of matches by words."""
    matched.weigh()
    by_teller = np.array([_boosts_of(teller, config, asked, people) for teller in matched.tellers])
    matched.boosts[:] = by_teller[matched.told_by]
    windows = searchable_windows(asked)
    if config.time and windows:
        closeness = np.max([_closeness(window, matched.times) for window in windows], axis=0)
        matched.boost(TIME)[:] = config.time * closeness
    if config.length:
        doublings = np.log2(np.maximum(matched.lengths.astype(np.float64) / config.long_event, 1.0))
        matched.boost(LENGTH)[:] = -config.length * doublings
    if question.unread and config.unread:
        # By the share of the question that the model can't read, matches of words replace those of vectors.
        by_words = np.array([words.get(seq, 0.0) for seq in matched.seqs.tolist()])
        worth = config.unread * by_words / (max(words.values(), default=0.0) or 1.0)
        matched.boost(UNREAD)[:] = question.unread * (worth - matched.late)


def _boosts_of(teller: Teller, config: SearchConfig, asked: Analysis, people: NamedPeople) -> list[float]:
    """Boost by who said it; a row of the table."""
    vouched, role = is_vouched(teller.source), (teller.role or "").casefold()
    gains = {
        OWN_WORDS: config.own if people.asker and not asked.addressed and teller.is_user else 0.0,
        ASSISTANT: config.assistant if asked.addressed and role in ASSISTANTS else 0.0,
        SOURCE: -config.untrusted * (1.0 - trust_of(teller.source).weight),
        ABOUT: config.about if vouched and people.include(teller.speaker) else 0.0,
    }
    return [gains.get(name, 0.0) for name in BOOSTS]


def _closeness(window: Window, times: Sequence[int]) -> NDArray[np.float64]:
    """Return 1 inside a window, and less with the distance outside, down to 0."""
    start, end, at = to_micros(window.start)[0], to_micros(window.end)[0], np.array(times)
    outside = np.maximum(np.maximum(start - at, at - end), 0)
    return np.exp(-outside / max(slack_of(window) / _MICROSECOND, 1.0))


def cross_encoder_stage(
    question: str, ranked: Sequence[Candidate], events: Mapping[int, Event], config: SearchConfig, reranker: Reranker
) -> list[Candidate]:
    """Reorder the first candidates by a blend of their scores and the reranker's.

    Rerankers score on scales of their own, so both are standardised first. A candidate takes over the score of the
    place that it moves to.
    """
    first = list(ranked[: config.reranker_depth])
    passages = [encoder_line(event := events[one.seq], one.window or Span(0, len(event.text))) for one in first]
    raw = np.asarray(reranker.scores(question, passages), np.float64)
    scores = [candidate.score for candidate in first]
    blended = _standardise(np.array(scores)) + config.reranker_weight * _standardise(raw)
    order = np.argsort(-blended, kind="stable").tolist()
    ranks = np.argsort(np.argsort(-raw, kind="stable"), kind="stable").tolist()
    for score, number in zip(scores, order, strict=True):
        first[number].score = score
        first[number].reranked = Placement(float(raw[number]), ranks[number] + 1)
    return [*(first[number] for number in order), *ranked[config.reranker_depth :]]


def _standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = values.std() if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
