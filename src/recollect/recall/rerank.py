"""Second stage: the fused candidates, looked at closely.

Late interaction says how well each one matches, alone and with the turns around it; boosts add what is known of it
beside its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recollect.inference.protocol import LateInteraction, Question
from recollect.recall.boost import UNREAD, Boosts
from recollect.recall.candidates import WORDS_ARM, Asking, Beside, Candidate, Place, in_order
from recollect.recall.match import Matching
from recollect.recall.nearby import joint_matches, newcomers, runs_around
from recollect.recall.recipes import Recipe
from recollect.store.protocol import Model


class Reranked(NamedTuple):
    """Candidates in their new order, and what it rests on; None where no candidate has token vectors."""

    candidates: list[Candidate]
    matching: Matching | None


def rerank(
    asking: Asking,
    ranked: Sequence[Candidate],
    *,
    question: Question,
    model: Model,
    embedder: LateInteraction,
    boosts: Boosts,
) -> Reranked:
    """Order the best fused candidates and their neighbours; one without token vectors keeps its place behind them."""
    recipe = asking.recipe
    matching = Matching(asking.reader, asking.space, model=model, embedder=embedder, question=question)
    seen = _matched(asking, matching, ranked[: recipe.rerank_depth])
    if not seen:
        return Reranked(list(ranked), None)
    matching.weigh(recipe.token_power)
    by_words = _ByWords(recipe, question, seen)
    _score(seen, matching, boosts, by_words)
    if recipe.neighbours is not None:
        known = {candidate.seq: candidate for candidate in seen}
        seeds = [candidate.seq for candidate in in_order(seen)[: recipe.neighbours.seeds]]
        runs = runs_around(asking.reader, asking.space, seeds, recipe.neighbours.reach, asking.allowed)
        new = _matched(asking, matching, newcomers(runs, seeds, known))
        _score(new, matching, boosts, by_words)
        seen += new
        matching.joint = joint_matches(matching, runs, recipe.neighbours)
        joint = matching.joint @ matching.weights
        for candidate in seen:
            gain = (float(joint[matching.rows[candidate.seq]]) - _late(candidate)) * (1 - question.unread)
            candidate.score += gain
            candidate.beside = Beside(gain, candidate.beside.seed if candidate.beside else None)
    seen = in_order(seen)
    return Reranked(seen + _behind(seen, ranked), matching)


def _matched(asking: Asking, matching: Matching, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Match candidates and read what is known of them; leave out those that have no token vectors."""
    seqs = [candidate.seq for candidate in candidates]
    matching.read(seqs)
    outlines = asking.reader.outlines(asking.space, seqs)
    stated = asking.reader.stated_by(asking.space, seqs) if asking.recipe.superseded else {}
    matched = [candidate for candidate in candidates if candidate.seq in matching.rows]
    for candidate in matched:
        candidate.outline = outlines.get(candidate.seq)
        candidate.states = stated.get(candidate.seq)
        # Where the model can't read the question, its words must tell what to quote of a long event.
        candidate.window = None if matching.blind else matching.windows[matching.rows[candidate.seq]]
    return matched


class _ByWords:
    """Puts words in the place of vectors, as far as the model can't read the question."""

    def __init__(self, recipe: Recipe, question: Question, candidates: Sequence[Candidate]) -> None:
        self._unread = question.unread if recipe.unread else 0.0
        self._worth = recipe.unread
        self._best = max((_by_words(candidate) for candidate in candidates), default=0.0) or 1.0

    def add(self, candidates: Sequence[Candidate]) -> None:
        if self._unread:
            for candidate in candidates:
                words = self._worth * _by_words(candidate) / self._best
                candidate.boosts[UNREAD] = self._unread * (words - _late(candidate))
                candidate.score += candidate.boosts[UNREAD]


def _by_words(candidate: Candidate) -> float:
    return candidate.arms[WORDS_ARM].score if WORDS_ARM in candidate.arms else 0.0


def _score(candidates: Sequence[Candidate], matching: Matching, boosts: Boosts, by_words: _ByWords) -> None:
    """Score candidates by what they match alone, and by their boosts."""
    scores = matching.scores()
    rows = [matching.rows[candidate.seq] for candidate in candidates]
    for candidate, row in zip(candidates, rows, strict=True):
        candidate.score = float(scores[row])
        candidate.late = Place(candidate.score, 0)
    boosts.add(candidates, matching.lengths[rows].tolist())
    by_words.add(candidates)


def _late(candidate: Candidate) -> float:
    return candidate.late.score if candidate.late else 0.0


def _behind(seen: Sequence[Candidate], ranked: Sequence[Candidate]) -> list[Candidate]:
    """Put what late interaction did not see after all that it did, in fused order, with scores that say so."""
    floor = seen[-1].score
    rest = [candidate for candidate in ranked if candidate.late is None]
    for candidate in rest:
        candidate.score = floor - 1.0 + min(candidate.score, 1.0)
    return rest
