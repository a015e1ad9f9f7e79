"""Fit how well words name themes: python -m training.naming -> src/everyword/knowledge/legacy/fold/naming.txt

`themes.jsonl.xz` holds themes: a label, and events that belong to it. A word that stands in the label names the theme,
any other word of its events does not. What tells the two apart is fitted on the word's vector and its ending, so that
words of no label are judged by words that are like them. The figure printed is for words that were left out.
"""

# ruff: noqa: T201
from __future__ import annotations

import json
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from everyword.knowledge.legacy.fold.naming import STEP, TABLE
from everyword.models.embedders import DEFAULT, load_named
from everyword.text.terms import stem

THEMES = Path(__file__).with_name("themes.jsonl.xz")
MOST = 4.0  # log-odds, either way, that a word is given
SPREAD = 1.6  # of the log-odds over all words, once centred
RIDGE = 2.0
FOLDS = 5
_MOST_SEEN = 3  # events of a theme that have a word, beyond which more say nothing
_BATCH = 64
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_WRITTEN = re.compile(r"(?<![\w'])[a-z]+(?:-[a-z]+)*(?![\w'])")
_ENDINGS = ("ing$", "ed$", "s$", "(?:tion|ment|ance|ence|ity|ship|ness)s?$", "ly$", "(?:er|or)s?$", "y$")

Vector = NDArray[np.float64]


def main() -> None:
    """Read the themes, fit, tell how well it does on words left out, and write the table."""
    seen = _seen(_themes())
    words = sorted({word for word, _, _ in seen})
    features = dict(zip(words, _features(words), strict=True))
    rows = np.array([features[word] for word, _, _ in seen])
    names = np.array([named for _, named, _ in seen], np.float64)
    weights = np.minimum(20.0, [count * events for (_, _, events), count in seen.items()])
    part = {word: place % FOLDS for place, word in enumerate(np.random.default_rng(0).permutation(words))}
    parts = np.array([part[word] for word, _, _ in seen])
    guessed = np.zeros(len(names))
    for fold in range(FOLDS):
        apart = parts == fold
        guessed[apart] = rows[apart] @ _fit(rows[~apart], names[~apart], weights[~apart])
    print(f"{len(words):,} words, area under the curve on words left out {_area(guessed, names, weights):.3f}")
    scores = np.array([features[word] for word in words]) @ _fit(rows, names, weights)
    scores = np.clip((scores - scores.mean()) / scores.std() * SPREAD, -MOST, MOST)
    _write(dict(zip(words, scores.tolist(), strict=True)))


def _themes() -> list[dict[str, list[str] | str]]:
    with lzma.open(THEMES, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _seen(themes: Sequence[dict[str, list[str] | str]]) -> Counter[tuple[str, bool, int]]:
    """Count (word, whether it names the theme, in how many of its events it stands) over the themes."""
    seen: Counter[tuple[str, bool, int]] = Counter()
    for theme in themes:
        label = {stem(word): word for word in _WORD.findall(str(theme["label"]).lower())}
        events: Counter[str] = Counter()
        forms: dict[str, str] = {}
        for event in theme["events"]:
            # Names of people and places never stand in small letters: they are no words to be judged.
            written = {stem(word): word for word in _WRITTEN.findall(event)}
            events.update(written.keys())
            forms |= written
        for term, count in events.items():
            if len(term) > 2:
                seen[forms[term], term in label, min(count, _MOST_SEEN)] += 1
        for term in label.keys() - events.keys():
            seen[label[term], True, 1] += 1
    return seen


def _features(words: Sequence[str]) -> list[Vector]:
    embedder = load_named(DEFAULT)
    vectors: list[Vector] = []
    for start in range(0, len(words), _BATCH):
        for passage in embedder.passages(words[start : start + _BATCH]):
            pooled = np.asarray(passage.pooled, np.float64)
            vectors.append(4 * pooled / np.linalg.norm(pooled))
    return [np.concatenate((vector, _spelling(word))) for word, vector in zip(words, vectors, strict=True)]


def _spelling(word: str) -> Vector:
    return np.array([1.0, min(len(word), 12) / 4, *(float(bool(re.search(one, word))) for one in _ENDINGS)])


def _fit(rows: Vector, names: Vector, weights: Vector) -> Vector:
    """Logistic regression by Newton's method."""
    found = np.zeros(rows.shape[1])
    for _ in range(12):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (names - chance)) - RIDGE * found
        bend = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + RIDGE * np.eye(len(found))
        found = found + np.linalg.solve(bend, slope)
    return found


def _area(scores: Vector, names: Vector, weights: Vector) -> float:
    order = np.argsort(scores)
    wrong = np.cumsum((weights * (1 - names))[order])
    right = (weights * names)[order]
    return float((right * wrong).sum() / (right.sum() * wrong[-1]))


def _write(scores: dict[str, float]) -> None:
    """Write the table by stems, a line for each step."""
    forms: dict[str, list[float]] = defaultdict(list)
    for word, score in scores.items():
        forms[stem(word)].append(score)
    lines: dict[int, list[str]] = defaultdict(list)
    for term, values in forms.items():
        lines[round(sum(values) / len(values) / STEP)].append(term)
    text = "".join(f"{step} {' '.join(sorted(lines[step]))}\n" for step in sorted(lines))
    Path(str(TABLE)).write_text(text, encoding="utf-8")
    print(f"{sum(map(len, lines.values())):,} stems -> {TABLE.name}")


if __name__ == "__main__":
    main()
