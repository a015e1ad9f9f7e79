"""From rows to figures: means by category with bootstrap intervals, abstention, latency, tokens, rates and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evals.results import Results, Row

ROUNDS = 1000  # bootstrap samples; their 2.5th and 97.5th percentile are the interval
EVERYTHING = "all"  # the answerable questions

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over `n` questions and its 95% interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{_short(self.mean)} [{_short(self.low)} {_short(self.high)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What one run says."""

    title: str
    header: Row
    groups: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict[str, Mapping[str, Estimate]])
    auroc: Estimate | None = None  # that an answerable question gets more confidence than one that is not
    auroc_from: str = ""
    p50_ms: float = float("nan")
    p99_ms: float = float("nan")
    tokens: Mapping[str, float] = field(default_factory=dict[str, float])  # budget -> mean tokens of a context
    lines_a_second: float | None = None
    bytes: int | None = None
    asked: int = 0
    failed: int = 0
    finished: bool = False
    stopped: str | None = None

    def get(self, metric: str, group: str = EVERYTHING) -> Estimate | None:
        """Find one figure."""
        return self.groups.get(group, {}).get(metric)


def summarise(results: Results) -> Summary:
    """Draw all figures of a run; the seed of the run makes the intervals repeatable."""
    rows = _rows(results)
    seed = int(results.header.get("seed") or 0)
    timed = [row["ms"] for row in rows if not row.get("error") and row["ms"] is not None]
    # Where an order is all that a system tells, nothing says how sure it is.
    tells = results.header.get("described", {}).get("tells_scores", True)
    auroc, auroc_from = _abstention(rows, seed) if tells else (None, "")
    lines, ms = (sum(row[name] for row in results.stores.values()) for name in ("lines", "ms"))
    return Summary(
        title=results.title,
        header=results.header,
        groups={name: estimates([row["scores"] for row in of], seed) for name, of in _groups(results).items()},
        auroc=auroc,
        auroc_from=auroc_from,
        p50_ms=float(np.quantile(timed, 0.5)) if timed else float("nan"),
        p99_ms=float(np.quantile(timed, 0.99)) if timed else float("nan"),
        tokens=_tokens(rows),
        lines_a_second=lines / ms * 1e3 if ms else None,
        bytes=(results.end or {}).get("bytes"),
        asked=len(rows),
        failed=sum(1 for row in rows if row.get("error")),
        finished=results.finished,
        stopped=results.stopped,
    )


def estimates(scores: Sequence[Mapping[str, float]], seed: int = 0) -> dict[str, Estimate]:
    """Average each metric over the questions that have it, resampling questions for the intervals."""
    names = list(dict.fromkeys(name for row in scores for name in row))
    if not names:
        return {}
    values = np.array([[row.get(name, np.nan) for name in names] for row in scores], float)
    there = ~np.isnan(values)
    weights = _weights(len(scores), seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        sampled = (weights @ np.where(there, values, 0.0)) / (weights @ there)
    return {name: _estimate(values[there[:, place], place], sampled[:, place]) for place, name in enumerate(names)}


def difference(results: Results, base: Results, metric: str, seed: int = 0) -> Estimate | None:
    """Tell how much better a run is than another on the answerable questions that both were asked, paired."""
    theirs = {row["id"]: row["scores"].get(metric) for row in base.questions.values() if row["answerable"]}
    paired = [
        {metric: row["scores"][metric] - other}
        for row in _rows(results)
        if metric in row["scores"] and (other := theirs.get(row["id"])) is not None
    ]
    return estimates(paired, seed).get(metric)


def auroc(right: Floats, wrong: Floats, seed: int = 0) -> Estimate | None:
    """Tell how often a right one scores above a wrong one; ties count half."""
    if not len(right) or not len(wrong):
        return None
    above = (right[:, None] > wrong) + 0.5 * (right[:, None] == wrong)
    of_right, of_wrong = _weights(len(right), seed), _weights(len(wrong), seed + 1)
    sampled = ((of_right @ above) * of_wrong).sum(axis=1) / (len(right) * len(wrong))
    low, high = np.quantile(sampled, [0.025, 0.975])
    return Estimate(mean=float(above.mean()), low=float(low), high=float(high), n=len(right) + len(wrong))


def _abstention(rows: Sequence[Row], seed: int) -> tuple[Estimate | None, str]:
    answered = [row for row in rows if not row.get("error")]
    told = bool(answered) and all(row["confidence"] is not None for row in answered)

    def confidence(row: Row) -> float:
        if told:
            return float(row["confidence"])
        return float(row["found"][0][1]) if row["found"] else -np.inf

    right = np.array([confidence(row) for row in answered if row["answerable"]])
    wrong = np.array([confidence(row) for row in answered if not row["answerable"]])
    return auroc(right, wrong, seed), "confidence" if told else "top score"


def _rows(results: Results) -> list[Row]:
    """List the questions in one order, whichever process was done first: samples are drawn by place."""
    return [results.questions[key] for key in sorted(results.questions)]


def _groups(results: Results) -> dict[str, list[Row]]:
    rows = _rows(results)
    groups: dict[str, list[Row]] = {EVERYTHING: [row for row in rows if row["answerable"]]}
    for name, categories in results.header.get("groups", {}).items():
        groups[name] = [row for row in rows if row["category"] in categories]
    for category in dict.fromkeys(row["category"] for row in rows):
        if category != EVERYTHING:
            groups[category] = [row for row in rows if row["category"] == category]
    return {name: of for name, of in groups.items() if of}


def _tokens(rows: Sequence[Row]) -> dict[str, float]:
    budgets = dict.fromkeys(budget for row in rows for budget in row["tokens"])
    return {budget: float(np.mean([row["tokens"].get(budget, 0) for row in rows])) for budget in budgets}


def _weights(count: int, seed: int) -> Floats:
    """Tell how often each question is in each sample."""
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), ROUNDS).astype(float)


def _estimate(values: Floats, sampled: Floats) -> Estimate:
    sampled = sampled[~np.isnan(sampled)]
    low, high = np.quantile(sampled, [0.025, 0.975])
    return Estimate(mean=float(values.mean()), low=float(low), high=float(high), n=len(values))


def _short(value: float) -> str:
    """Write a share as papers do: .762, and 1.00."""
    value = round(value, 3) + 0.0  # not -.000
    return f"{value:.2f}" if abs(value) >= 0.9995 else f"{value:.3f}".replace("0.", ".", 1)
