"""Fit how likely it is that an event holds an open goal: python -m training.goals [--out FILE]

Reads `goals.jsonl`: {"text", "goal": 1 or 0, "writer"}. Prints what the model tells of each writer when fitted to the
others, beside what the rules alone tell, and writes the weights that `everyword.knowledge.legacy.fold.openness` reads.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

import everyword.knowledge.legacy.fold.openness as openness
from everyword.knowledge.legacy.fold.goals import read_rules, signs_of
from everyword.types.events import Event

TOLD = Path(__file__).parent / "goals.jsonl"
OUT = Path(openness.__file__).parent / openness.WEIGHTS
AT = datetime(2026, 5, 4, 9, tzinfo=UTC)  # when all of it was said: dates in the texts are read against it
COMMON_IN = 16  # texts from which on a word stands as it is in pairs and triples
LEAST_TEXTS, LEAST_WRITERS = 3, 2  # that an n-gram is in: one writer's subjects are no way of speaking
MOST_NGRAMS = 3_000
STRENGTH = 0.05  # of the fit, as scikit-learn's C: less holds the weights smaller


@dataclass(frozen=True, slots=True)
class Told:
    """An event as somebody wrote it for this."""

    text: str
    goal: int
    writer: str
    sentences: tuple[tuple[str, ...], ...]  # each as its words
    signs: tuple[str, ...]  # what rules find in it
    strongest: float  # what the rules alone say


def read(path: Path) -> list[Told]:
    """Read the events, and what rules find in them."""
    return [_told(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _told(row: dict[str, Any]) -> Told:
    found = read_rules(Event(text=row["text"], at=AT))
    return Told(
        row["text"],
        row["goal"],
        row["writer"],
        tuple(tuple(openness.tokens(one.sentence)) for one in found),
        tuple(sorted(signs_of(found))),
        max((one.strength for one in found), default=0.0),
    )


class Fitted:
    """A model: its weights, and the words that are common to it."""

    def __init__(self, told: Sequence[Told]) -> None:
        texts = Counter(word for one in told for word in {word for words in one.sentences for word in words})
        names = _names(told)
        self.common = frozenset(word for word, count in texts.items() if count >= COMMON_IN and word not in names)
        rows = [self._features(one) for one in told]
        self.allowed = frozenset(ngram for ngram in _seen_enough(rows, told) if ngram not in names)
        self._fit(rows, told)
        counts = Counter(ngram for row in rows for ngram in row)
        worth = {one: abs(self.weights.get(one, 0.0)) * counts[one] ** 0.5 for one in self.allowed}
        self.allowed = frozenset(sorted(self.allowed, key=lambda one: (-worth[one], one))[:MOST_NGRAMS])
        # As the product will read them: a word that is in no pair that is kept is not common any more.
        self.common = openness.common_in(self.allowed)
        self._fit([self._features(one) for one in told], told)

    def _features(self, one: Told) -> Counter[str]:
        return Counter(ngram for words in one.sentences for ngram in openness.ngrams(words, self.common))

    def _fit(self, rows: Sequence[Counter[str]], told: Sequence[Told]) -> None:
        vectors = DictVectorizer()
        told_of = vectors.fit_transform([self._row(row, one) for row, one in zip(rows, told, strict=True)])
        model = LogisticRegression(C=STRENGTH, max_iter=5_000, class_weight="balanced")
        model.fit(csr_matrix(told_of), [one.goal for one in told])
        self.weights = dict(zip(vectors.feature_names_, model.coef_[0].tolist(), strict=True))
        self.weights[openness.BIAS] = float(model.intercept_[0])

    def _row(self, row: Counter[str], one: Told) -> dict[str, float]:
        allowed = {ngram: float(count) for ngram, count in row.items() if ngram in self.allowed}
        return {**allowed, **dict.fromkeys(one.signs, 1.0)}

    def score(self, one: Told) -> float:
        """Weigh an event as the product does."""
        row = self._row(self._features(one), one)
        return self.weights[openness.BIAS] + sum(value * self.weights.get(name, 0.0) for name, value in row.items())


def _names(told: Sequence[Told]) -> frozenset[str]:
    """Find words that are mostly written with a capital where no sentence begins: they are somebody's names."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for one in told:
        for word in one.text.split()[1:]:
            bare = word.strip(".,;:!?()'\"")
            if bare[:1].isupper():
                capital[bare.casefold()] += 1
            else:
                small[bare] += 1
    return frozenset(word for word, count in capital.items() if count > 1 and not small[word] and word != "i")


def _seen_enough(rows: Sequence[Counter[str]], told: Sequence[Told]) -> frozenset[str]:
    texts: Counter[str] = Counter()
    writers: dict[str, set[str]] = defaultdict(set)
    for row, one in zip(rows, told, strict=True):
        texts.update(row.keys())
        for ngram in row:
            writers[ngram].add(one.writer)
    return frozenset(
        ngram for ngram, count in texts.items() if count >= LEAST_TEXTS and len(writers[ngram]) >= LEAST_WRITERS
    )


def across_writers(told: Sequence[Told]) -> None:
    """Print what the model tells of each writer when it is fitted to the others."""
    for writer in sorted({one.writer for one in told}):
        model = Fitted([one for one in told if one.writer != writer])
        theirs = [one for one in told if one.writer == writer]
        goals = [one.goal for one in theirs]
        if len(set(goals)) < 2:  # small talk: it has no goals to be told from
            continue
        both = [model.score(one) for one in theirs]
        rules = [one.strongest for one in theirs]
        print(f"{writer:8} {len(theirs):5} texts, {np.mean(goals):.2f} goals", end="   ")
        print(f"rules {_figures(goals, rules)}   model {_figures(goals, both)}", flush=True)


def _figures(goals: Sequence[int], scores: Sequence[float]) -> str:
    return f"AUC {roc_auc_score(goals, scores):.3f} AP {average_precision_score(goals, scores):.3f}"


def write(model: Fitted, path: Path) -> None:
    """Keep the weights, a line each."""
    lines = [f"{name}\t{weight:.2f}" for name, weight in sorted(model.weights.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} lines, {path.stat().st_size / 1024:.0f} KB")


def main() -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--told", type=Path, default=TOLD)
    parser.add_argument("--quick", action="store_true", help="no figures by writer")
    options = parser.parse_args()
    told = read(options.told)
    if not options.quick:
        across_writers(told)
    write(Fitted(told), options.out)


if __name__ == "__main__":
    main()
