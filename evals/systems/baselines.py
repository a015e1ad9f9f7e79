"""The plain ways: BM25 over words, and pooled vectors compared one by one. Both read `[date] speaker: text`."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

from evals.cache import CachedEmbedder
from evals.values import Answer, Found, Line
from evals.wording import document

_WORD = re.compile(r"\w+")
# Lucene's.
_K1 = 1.2
_B = 0.75


class Bm25:
    """Our own few lines of Okapi BM25 in numpy: words in lower case, Snowball-stemmed, no stop list."""

    name = "bm25"

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        self._lines: dict[str, Sequence[Line]] = {}
        self._weights: dict[str, dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]] = {}

    def ingest(self, store: str, lines: Sequence[Line]) -> None:
        """Weigh every word of every line."""
        counted = [Counter(self._words(document(line))) for line in lines]
        lengths = np.array([counts.total() for counts in counted], float)
        damping = _K1 * (1 - _B + _B * lengths / max(1.0, lengths.mean() if len(lengths) else 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for number, counts in enumerate(counted):
            for word, count in counts.items():
                postings.setdefault(word, []).append((number, count))
        weights: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for word, posted in postings.items():
            places, counts = np.array(posted).T
            rarity = np.log(1 + (len(lines) - len(posted) + 0.5) / (len(posted) + 0.5))
            weights[word] = places, rarity * counts * (_K1 + 1) / (counts + damping[places])
        self._lines[store], self._weights[store] = lines, weights

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        """Add up the weights of the question's words."""
        lines, weights = self._lines[store], self._weights[store]
        scores = np.zeros(len(lines))
        for word in self._words(question):
            if word in weights:
                places, weight = weights[word]
                scores[places] += weight
        return Answer(found=_best(lines, scores, k, above=0.0))

    def describe(self) -> Mapping[str, Any]:
        """Tell the variant."""
        return {"bm25": f"own, numpy; k1 {_K1}, b {_B}, Snowball stems, no stop list", "line": "[date] speaker: text"}

    def size_bytes(self) -> None:
        """Nothing is on disk."""

    def close(self) -> None:
        """Nothing is held."""

    def _words(self, text: str) -> list[str]:
        return self._stemmer.stemWords(_WORD.findall(text.lower()))


class Vectors:
    """The product's own embedder, one pooled vector a line, all compared."""

    name = "vectors"

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder
        self._lines: dict[str, Sequence[Line]] = {}
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def ingest(self, store: str, lines: Sequence[Line]) -> float:
        """Encode every line; tell the time that it takes without the cache."""
        self._embedder.saved_ms()
        begun = time.perf_counter()
        passages = self._embedder.passages([document(line) for line in lines])
        dims = self._embedder.card.dims
        self._lines[store] = lines
        self._vectors[store] = np.array([one.pooled for one in passages], np.float32).reshape(-1, dims) / 127
        return (time.perf_counter() - begun) * 1e3 + self._embedder.saved_ms()

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        """Order lines by the cosine with the question."""
        self._embedder.saved_ms()
        begun = time.perf_counter()
        scores = self._vectors[store] @ self._embedder.question(question).pooled
        found = _best(self._lines[store], scores, k)
        return Answer(found=found, took_ms=(time.perf_counter() - begun) * 1e3 + self._embedder.saved_ms())

    def describe(self) -> Mapping[str, Any]:
        """Tell the model."""
        return {"model": self._embedder.card.label, "line": "[date] speaker: text, as much as the model reads"}

    def size_bytes(self) -> None:
        """Nothing is on disk."""

    def close(self) -> None:
        """Let go of the cache."""
        self._embedder.release()


def _best(lines: Sequence[Line], scores: NDArray[np.floating[Any]], k: int, *, above: float = -np.inf) -> list[Found]:
    order = np.argsort(-scores, kind="stable")[:k]
    return [
        Found(key=lines[place].key, score=float(scores[place]), session=lines[place].session)
        for place in order.tolist()
        if scores[place] > above
    ]
