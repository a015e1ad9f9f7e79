"""Compare what a reader found with labels: precision, recall and F1 of spans, accuracy of what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from everyword.models.reader.decoding import GOALS, PAIRS, FoundEntity, FoundStatement
from everyword.models.reader.rows import sentences
from training.reading.corpus import Entity, Span, Statement, Turn

ENOUGH = 0.5  # of the shorter span's characters must be shared
STRICT = 0.5  # of the characters of both together, reported beside it
BINS = 10  # of the calibration error


def share(a: Span, b: Span) -> float:
    """Compute the share of the shorter span that both have."""
    both = min(a[1], b[1]) - max(a[0], b[0])
    return max(0, both) / max(1, min(a[1] - a[0], b[1] - b[0]))


def union_share(a: Span, b: Span) -> float:
    """Compute the share that both have of what either has."""
    both = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return both / max(1, a[1] - a[0] + b[1] - b[0] - both)


def match(found: Sequence[Span], told: Sequence[Span], measure: Any = share, least: float = ENOUGH) -> dict[int, int]:
    """Pair each found span with at most one told span, those that share most first."""
    order = sorted(
        (-measure(a, b), -union_share(a, b), i, j)
        for i, a in enumerate(found)
        for j, b in enumerate(told)
        if measure(a, b) >= least
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, i, j in order:
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


@dataclass
class Count:
    """Right, found and told."""

    right: int = 0
    found: int = 0
    told: int = 0

    def add(self, right: int, found: int, told: int) -> None:
        self.right += right
        self.found += found
        self.told += told

    def scores(self) -> dict[str, float]:
        p, r = self.right / max(1, self.found), self.right / max(1, self.told)
        return {"p": round(p, 4), "r": round(r, 4), "f1": round(2 * p * r / max(1e-9, p + r), 4), "n": self.told}


@dataclass
class ReadingScores:
    """Scores of many turns."""

    relations: frozenset[str] = frozenset()  # those that have a class
    counts: dict[str, Count] = field(default_factory=dict[str, Count])
    hits: Counter[str] = field(default_factory=Counter[str])
    tries: Counter[str] = field(default_factory=Counter[str])
    sure: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])

    def count(self, name: str) -> Count:
        return self.counts.setdefault(name, Count())

    def note(self, name: str, right: bool) -> None:
        self.tries[name] += 1
        self.hits[name] += right

    def turn(self, turn: Turn, names: Sequence[FoundEntity], found: Sequence[FoundStatement]) -> None:
        """Compare one turn."""
        self._entities(turn.entities, names)
        self._statements(turn, found)

    def result(self) -> dict[str, Any]:
        """Give all scores."""
        rates = {name: round(self.hits[name] / tried, 4) for name, tried in sorted(self.tries.items())}
        return {**{name: one.scores() for name, one in sorted(self.counts.items())}, "accuracy": rates,
                "statement ece": calibration_error(self.sure)}  # fmt: skip

    def _entities(self, told: Sequence[Entity], found: Sequence[FoundEntity]) -> None:
        spans = [(one.start, one.end) for one in found], [(one.start, one.end) for one in told]
        pairs = match(*spans)
        self.count("entities").add(len(pairs), len(found), len(told))
        exact = len(set(spans[0]) & set(spans[1]))
        self.count("entities exact").add(exact, len(found), len(told))
        for i, j in pairs.items():
            self.note("entity type", found[i].type == told[j].type)

    def _statements(self, turn: Turn, found: Sequence[FoundStatement]) -> None:
        told = turn.statements
        spans = [(one.start, one.end) for one in found], [(one.start, one.end) for one in told]
        pairs = match(*spans)
        self.count("statements").add(len(pairs), len(found), len(told))
        self.count("statements strict").add(len(match(*spans, union_share, STRICT)), len(found), len(told))
        for i, one in enumerate(found):
            self.sure.append((one.score, i in pairs))
        for i, j in pairs.items():
            self._described(turn, found[i], told[j])
        self._kinds(found, told, pairs)
        kept = [[any(share(span, one) > 0 for one in some) for span in sentences(turn.text)] for some in spans]
        right = sum(a and b for a, b in zip(*kept, strict=True))
        self.count("sentences").add(right, sum(kept[0]), sum(kept[1]))

    def _described(self, turn: Turn, found: FoundStatement, told: Statement) -> None:
        self.note("kind", found.kind == told.kind)
        self.note("mode", found.mode == told.mode)
        self.note(f"mode {told.mode}", found.mode == told.mode)
        self.note("about", found.about == told.about)
        if told.about == "name":
            self.note("about name", _named(turn, found.about_text, told))
        if told.kind in GOALS and found.kind in GOALS:
            self.note("state", found.state == told.state)
            self.note(f"state {told.state}", found.state == told.state)
        if told.relation in self.relations:
            self.note("relation", found.relation == told.relation)
        if told.value:
            self.note("value", found.value is not None and share(found.value, told.value) >= ENOUGH)
        else:
            self.note("no value", found.value is None)

    def _kinds(self, found: Sequence[FoundStatement], told: Sequence[Statement], pairs: dict[int, int]) -> None:
        for kind in {one.kind for one in (*found, *told)}:
            right = sum(found[i].kind == told[j].kind == kind for i, j in pairs.items())
            self.count(f"kind {kind}").add(right, *(sum(one.kind == kind for one in some) for some in (found, told)))
        goals = [[_open_goal(one) for one in some] for some in (found, told)]
        right = sum(goals[0][i] and goals[1][j] for i, j in pairs.items())
        self.count("open goals").add(right, sum(goals[0]), sum(goals[1]))


def pair_scores(found: Sequence[int], told: Sequence[int]) -> dict[str, Any]:
    """Score the classes of pairs."""
    by_class: dict[str, Any] = {}
    for number, name in enumerate(PAIRS):
        count = Count(
            sum(a == b == number for a, b in zip(found, told, strict=True)),
            sum(a == number for a in found),
            sum(b == number for b in told),
        )
        if count.told:
            by_class[name] = count.scores()
    macro = float(np.mean([one["f1"] for one in by_class.values()])) if by_class else 0.0
    return {"macro f1": round(macro, 4), **by_class}


def answer_scores(rows: Sequence[tuple[float, bool, bool]], least: float) -> dict[str, float]:
    """Score answers; a row says how sure the best one is, whether it is right and whether there is one at all."""
    can = [(score >= least, right) for score, right, answerable in rows if answerable]
    cannot = [score < least for score, _, answerable in rows if not answerable]
    return {
        "right": round(sum(told and right for told, right in can) / max(1, len(can)), 4),
        "refused": round(sum(cannot) / max(1, len(cannot)), 4),
        "answerable": len(can),
        "unanswerable": len(cannot),
    }


def yes_scores(rows: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Score a yes or no, given as log odds: how well it ranks, and what is right of what it says yes to."""
    yes, no = (np.sort([odds for odds, right in rows if right is told]) for told in (True, False))
    if not len(yes) or not len(no):
        return {}
    below = (np.searchsorted(no, yes, "left") + np.searchsorted(no, yes, "right")).mean() / 2 / len(no)
    count = Count(int((yes > 0).sum()), int((yes > 0).sum() + (no > 0).sum()), len(yes))
    by_chance = {
        f"p at {chance}": round(float((yes >= odds).sum() / max(1, (yes >= odds).sum() + (no >= odds).sum())), 3)
        for chance in (0.3, 0.5, 0.7, 0.8, 0.9)
        for odds in [float(np.log(chance / (1 - chance)))]
    }
    return {"auroc": round(float(below), 4), **count.scores(), **by_chance}


def best_least(rows: Sequence[tuple[float, bool, bool]], refused: float = 0.88) -> float:
    """Choose the lowest bar at which enough of the unanswerable questions are refused."""
    scores = sorted(score for score, _, answerable in rows if not answerable)
    return scores[min(len(scores) - 1, int(refused * len(scores)))] + 1e-6 if scores else 0.0


def calibration_error(sure: Sequence[tuple[float, bool]]) -> float:
    """Compute the expected calibration error in bins of equal width."""
    if not sure:
        return 0.0
    scores, right = np.array([one[0] for one in sure]), np.array([one[1] for one in sure], float)
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    away = [abs(scores[bins == n].mean() - right[bins == n].mean()) * (bins == n).sum() for n in set(bins.tolist())]
    return round(float(sum(away) / len(scores)), 4)


def _open_goal(one: FoundStatement | Statement) -> bool:
    return one.kind in GOALS and one.state == "open"


def _named(turn: Turn, words: str | None, told: Statement) -> bool:
    if not words:
        return False
    names = {told.about_name.lower()} | {
        turn.text[e.start : e.end].lower() for e in turn.entities if e.who == told.about_name
    }
    return words.lower() in names
