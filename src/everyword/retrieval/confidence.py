"""Confidence: the probability that the memory holds an answer at all.

A question about something that was never said still finds hits. Signs of a missing answer: the first hit matches badly;
some token of the question has no good match in it; it is not about the person named; hits about other people match
better. `tools/fit_confidence.py` fits the weights on development questions, answerable and not, for each model that is
shipped, since models differ in scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from everyword.retrieval.candidates import Candidate
from everyword.retrieval.late_interaction import MaxSim
from everyword.retrieval.subject_match import ABOUT

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
        Signs(match=11.11, weakest=5.08, about=3.25, quoted=1.08, missing=-188.07, tokens=1.44), -15.28
    )
}


def confidence(signs: Signs, model: str) -> float:
    """Turn signs into a probability, with the weights of the model that matched."""
    weights, bias = BY_MODEL.get(model, DEFAULT)
    odds = bias + sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


def signs_of(ranked: Sequence[Candidate], maxsim: MaxSim) -> Signs:
    """Compute the signs of a ranking, which has at least one candidate with token vectors."""
    seen = [candidate for candidate in ranked if candidate.seq in maxsim.rows]
    first = maxsim.best[maxsim.rows[seen[0].seq]]
    about, quoted, missing = _UNKNOWN, _UNKNOWN, 0.0
    if any(candidate.subject is not None for candidate in seen):
        unboosted = sorted(seen, key=lambda candidate: candidate.boosts.get(ABOUT, 0.0) - candidate.score)[:_FIRST]
        about = sum(map(_answer_share, unboosted)) / len(unboosted)
        quoted, missing = _answer_share(seen[0]), _missing(seen, maxsim)
    return Signs(
        match=float(first @ maxsim.weights),
        weakest=float(first.min(initial=1.0)),
        about=about,
        quoted=quoted,
        missing=missing,
        tokens=math.log(max(1, len(first))),
    )


def _missing(seen: Sequence[Candidate], maxsim: MaxSim) -> float:
    """Return how much worse hits about the people named match than all hits."""
    of_them = [maxsim.rows[candidate.seq] for candidate in seen if _answer_share(candidate) >= _ENOUGH]
    if not of_them:
        return _MOST_MISSING
    # With the turns around each hit: an answer need not repeat the words of its question.
    heard = maxsim.best if maxsim.joint is None else maxsim.joint
    short = heard.max(axis=0) - heard[of_them].max(axis=0)
    return min(_MOST_MISSING, float(short @ maxsim.weights))


def _answer_share(candidate: Candidate) -> float:
    return candidate.subject.answer if candidate.subject else 0.0
