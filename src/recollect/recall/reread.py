"""Third stage, optional: a model that reads the question and each of the best candidates together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.core.lines import line
from recollect.core.values import Event, Span
from recollect.inference.protocol import Reranker
from recollect.recall.candidates import Candidate, Place
from recollect.recall.recipes import Recipe


def reread(
    question: str,
    ranked: Sequence[Candidate],
    events: Mapping[int, Event],
    recipe: Recipe,
    reranker: Reranker,
) -> list[Candidate]:
    """Order the first candidates anew, by both stages; each takes the score of the place that it comes to.

    Rerankers score on scales of their own, so both are standardised before they are blended.
    """
    first = list(ranked[: recipe.reread_depth])
    passages = [_passage(events[candidate.seq], candidate.window) for candidate in first]
    raw = np.asarray(reranker.scores(question, passages), np.float64)
    blended = _standard(np.array([one.score for one in first])) + recipe.reread_weight * _standard(raw)
    places = [candidate.score for candidate in first]
    order = np.argsort(-blended, kind="stable").tolist()
    said = np.argsort(np.argsort(-raw, kind="stable"), kind="stable").tolist()
    for place, number in zip(places, order, strict=True):
        first[number].score = place
        first[number].reread = Place(float(raw[number]), said[number] + 1)
    return [*(first[number] for number in order), *ranked[recipe.reread_depth :]]


def _passage(event: Event, window: Span | None) -> str:
    return line(event, window or Span(0, len(event.text)))


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = values.std() if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
