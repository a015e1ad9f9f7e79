"""Abstention: the probability that the memory holds an answer at all.

A question about what was never said still finds something. The signs: the first hit matches badly by itself; some
token of the question is matched by nothing near it; what matches is not about the one whom the question names; and
what is about another matches better. `tools/fit_confidence.py` weighs them on development questions, answerable and
not, for each model that is shipped: on another model's scale the same match means something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from recollect.recall.candidates import Candidate
from recollect.recall.match import Matching
from recollect.recall.meant import ABOUT

_FIRST = 3  # hits that are asked whom they are about
_ENOUGH = 0.5  # how much a line must be about somebody to speak for them
_MOST_MISSING = 0.01  # beyond it nothing more is told, and one sign alone must not decide
_UNKNOWN = 0.5  # how much the first hits are about whom the question names, where it names nobody


class Signs(NamedTuple):
    """What speaks for an answer."""

    match: float  # how well the first hit matches by itself
    weakest: float  # the match of the question's token that the first hit matches worst
    about: float  # how much the first hits are about whom the question names, their boost for it not counted
    quoted: float  # how much the very first one is, the boost counted: the line that an answer would quote
    missing: float  # how much less the lines about them match than all lines, at best
    tokens: float  # logarithm of the question's tokens: long questions match less well


class Weighing(NamedTuple):
    """Weights of the signs, and what is added: the logarithm of the odds is their sum."""

    weights: Signs
    bias: float


DEFAULT = Weighing(Signs(match=11.91, weakest=8.85, about=2.88, quoted=1.49, missing=-213.95, tokens=1.54), -20.16)
BY_MODEL = {
    "recollect-small": Weighing(
        Signs(match=11.11, weakest=5.08, about=3.25, quoted=1.08, missing=-188.07, tokens=1.44), -15.28
    )
}


def confidence(signs: Signs, model: str) -> float:
    """Turn signs into a probability, by the scale of the model that matched."""
    weights, bias = BY_MODEL.get(model, DEFAULT)
    odds = bias + sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


def signs_of(ranked: Sequence[Candidate], matching: Matching) -> Signs:
    """Read the signs off a ranking; `ranked` has at least one candidate that was matched."""
    seen = [candidate for candidate in ranked if candidate.seq in matching.rows]
    first = matching.best[matching.rows[seen[0].seq]]
    about, quoted, missing = _UNKNOWN, _UNKNOWN, 0.0
    if any(candidate.about is not None for candidate in seen):
        unboosted = sorted(seen, key=lambda candidate: candidate.boosts.get(ABOUT, 0.0) - candidate.score)[:_FIRST]
        about = sum(map(_answers, unboosted)) / len(unboosted)
        quoted, missing = _answers(seen[0]), _missing(seen, matching)
    return Signs(
        match=float(first @ matching.weights),
        weakest=float(first.min(initial=1.0)),
        about=about,
        quoted=quoted,
        missing=missing,
        tokens=math.log(max(1, len(first))),
    )


def _missing(seen: Sequence[Candidate], matching: Matching) -> float:
    """Tell what the lines about whom the question names lack of what others match."""
    of_them = [matching.rows[candidate.seq] for candidate in seen if _answers(candidate) >= _ENOUGH]
    if not of_them:
        return _MOST_MISSING
    # With the turns around each: who answers another's question need not repeat its words.
    heard = matching.best if matching.joint is None else matching.joint
    short = heard.max(axis=0) - heard[of_them].max(axis=0)
    return min(_MOST_MISSING, float(short @ matching.weights))


def _answers(candidate: Candidate) -> float:
    return candidate.about.answer if candidate.about else 0.0
