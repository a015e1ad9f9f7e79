"""Confidence: the probability that the memory holds an answer at all.

A question about something that was never said still finds hits. Signs of a missing answer: the first hit matches badly;
some token of the question has no good match in it; it is not about the person named; hits about other people match
better. `tools/fit_confidence.py` fits the weights on development questions, answerable and not, for each model that is
shipped, since models differ in scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everyword.retrieval.reranking import ABOUT, Matched

_FIRST = 3  # hits whose subject is judged
_ENOUGH = 0.5  # how much a hit must be about somebody to count as theirs
_MOST_MISSING = 0.01  # cap, so that this sign alone never decides
_UNKNOWN = 0.5  # subject match where the question names nobody


class Signs(NamedTuple):
    """Features of the logistic regression."""

    match: float  # match of the first hit, without boosts
    weakest: float  # match of the question token that the first hit matches worst
    about: float  # subject match of the first hits, ranked without the boost for it
    quoted: float  # subject match of the very first hit, which an answer would quote
    missing: float  # how much worse the best hits about them match than the best of all hits
    tokens: float  # logarithm of their number in the question: long questions match less well


class Weighing(NamedTuple):
    """Weights of the signs, and the bias; the log odds are their sum."""

    weights: Signs
    bias: float


DEFAULT = Weighing(Signs(match=11.91, weakest=8.85, about=2.88, quoted=1.49, missing=-213.95, tokens=1.54), -20.16)
BY_MODEL = {
    "everyword-small": Weighing(
        Signs(match=9.62, weakest=3.98, about=2.50, quoted=1.16, missing=-189.04, tokens=1.30), -11.85
    )
}


def confidence(signs: Signs, model: str) -> float:
    """Turn signs into a probability, with the weights of the model that matched."""
    weights, bias = BY_MODEL.get(model, DEFAULT)
    odds = bias + sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


def signs_of(matched: Matched) -> Signs:
    """Compute the signs of a ranking of at least one event."""
    order = matched.order()
    first = matched.best[order[0]]
    about, quoted, missing = _UNKNOWN, _UNKNOWN, 0.0
    if matched.answers is not None:
        unboosted = (matched.boost(ABOUT) - matched.scores)[order].argsort(kind="stable")[:_FIRST]
        about = float(matched.answers[order[unboosted]].mean())
        quoted, missing = float(matched.answers[order[0]]), _missing(matched, matched.answers)
    return Signs(
        match=float(first @ matched.weights),
        weakest=float(first.min(initial=1.0)),
        about=about,
        quoted=quoted,
        missing=missing,
        tokens=math.log(max(1, len(first))),
    )


def _missing(matched: Matched, answers: NDArray[np.float64]) -> float:
    """Return how much worse hits about the people named match than all hits."""
    of_them = answers >= _ENOUGH
    if not of_them.any():
        return _MOST_MISSING
    # With the turns around each hit: an answer need not repeat the words of its question.
    heard = matched.best if matched.joint is None else matched.joint
    short = heard.max(axis=0) - heard[of_them].max(axis=0)
    return min(_MOST_MISSING, float(short @ matched.weights))
