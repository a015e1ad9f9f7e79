"""Abstention: the probability that the memory holds an answer at all.

A question about what was never said still finds something. Four signs tell: the first hit matches badly by itself; some
token of the question is matched by nothing near it; the one whom the question names did not say what matches; and
another one did. `tools/fit_confidence.py` weighs them on development questions, answerable and not, for each model
that is shipped: on another model's scale the same match means something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recollect.recall.boost import SPEAKER, Named
from recollect.recall.candidates import Candidate
from recollect.recall.match import Matching

_FIRST = 3  # hits whose speakers count
_MOST_MISSING = 0.01  # beyond it nothing more is told, and one sign alone must not decide
_UNKNOWN = 0.5  # the share of a named speaker where the question names none


class Signs(NamedTuple):
    """What speaks for an answer."""

    match: float  # how well the first hit matches by itself
    weakest: float  # the match of the question's token that the first hit matches worst
    speaker: float  # the share of the named one's own lines among the first hits, their boost not counted
    missing: float  # how much less the named one's lines match than everybody's, at best
    tokens: float  # logarithm of the question's tokens: long questions match less well


class Weighing(NamedTuple):
    """Weights of the signs, and what is added: the logarithm of the odds is their sum."""

    weights: Signs
    bias: float


DEFAULT = Weighing(Signs(match=3.62, weakest=9.75, speaker=4.11, missing=-255.99, tokens=0.67), -11.23)
BY_MODEL = {
    "recollect-small": Weighing(Signs(match=3.87, weakest=7.66, speaker=3.50, missing=-201.34, tokens=0.77), -9.10)
}


def confidence(signs: Signs, model: str) -> float:
    """Turn signs into a probability, by the scale of the model that matched."""
    weights, bias = BY_MODEL.get(model, DEFAULT)
    odds = bias + sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


def signs_of(ranked: Sequence[Candidate], matching: Matching, named: Named) -> Signs:
    """Read the signs off a ranking; `ranked` has at least one candidate that was matched."""
    seen = [candidate for candidate in ranked if candidate.seq in matching.rows]
    first = matching.best[matching.rows[seen[0].seq]]
    spoken = np.zeros(len(matching.windows), np.bool_)
    for candidate in seen:
        spoken[matching.rows[candidate.seq]] = candidate.outline is not None and named(candidate.outline.speaker)
    speaker, missing = _UNKNOWN, 0.0
    if spoken.any():
        unboosted = sorted(seen, key=lambda candidate: candidate.boosts.get(SPEAKER, 0.0) - candidate.score)[:_FIRST]
        speaker = sum(bool(spoken[matching.rows[candidate.seq]]) for candidate in unboosted) / len(unboosted)
        # With the turns around each: who answers another's question need not repeat its words.
        heard = matching.best if matching.joint is None else matching.joint
        short = heard.max(axis=0) - heard[spoken].max(axis=0)
        missing = min(_MOST_MISSING, float(short @ matching.weights))
    return Signs(
        match=float(first @ matching.weights),
        weakest=float(first.min(initial=1.0)),
        speaker=speaker,
        missing=missing,
        tokens=math.log(max(1, len(first))),
    )
