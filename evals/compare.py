"""Runs side by side: figures with their intervals, by category, and what each costs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from evals.results import Results
from evals.summary import EVERYTHING, Estimate, Summary, difference, summarise

RETRIEVAL = (
    "event.frac@10",
    "event.any@10",
    "event.all@10",
    "event.mrr",
    "event.ndcg@10",
    "session.any@5",
    "session.frac@10",
    "gold@1200",
    "newest_first",
    "state_first",
)
# A short budget tells more where a whole store is only a few thousand tokens.
PLANTED = ("event.frac@10", "event.mrr", "recall@300", "exact@300", "coverage@300", "recall@1200", "exact@1200")
BY_CATEGORY = ("event.frac@10", "gold@1200")
PAIRED = "event.frac@10"
_BY_BUDGET = ("gold", "recall")  # what contexts of several budgets are compared by
_OF_FEW = ("newest_first", "state_first")  # measured on some questions only: their number stands beside the name
_NONE = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table before anyone decides how it looks."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def grids(runs: Sequence[Results], by_category: Sequence[str] = BY_CATEGORY) -> list[Grid]:
    """Lay out runs as tables, the runs on the same task and data together."""
    together: dict[tuple[str, str], list[Results]] = {}
    for one in runs:
        together.setdefault((one.header["task"], one.header["data_hash"]), []).append(one)
    laid_out: list[Grid] = []
    for (task, data_hash), same in together.items():
        summaries = [summarise(one) for one in same]
        laid_out.append(_quality(f"{task} (data {data_hash[:12]})", same, summaries))
        laid_out += [_categories(task, metric, summaries) for metric in by_category if _any_has(summaries, metric)]
        laid_out += [_budgets(task, metric, summaries) for metric in _BY_BUDGET if _of_budgets(metric, summaries)]
        laid_out.append(_costs(task, summaries))
    return laid_out


def print_grids(laid_out: Sequence[Grid]) -> None:
    """Show tables on a terminal, or as wide as they are where there is none."""
    console = Console(width=None if sys.stdout.isatty() else 220)
    for grid in laid_out:
        table = Table(title=grid.title, title_justify="left", caption=grid.note or None, caption_justify="left")
        for number, column in enumerate(grid.columns):
            table.add_column(column, justify="left" if number == 0 else "right", no_wrap=number == 0)
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)


def markdown(grid: Grid) -> str:
    """Write a table as markdown."""
    title = [f"**{grid.title}**", ""] if grid.title else []
    lines = [*title, _row(grid.columns), _row(["---", *["---:"] * (len(grid.columns) - 1)])]
    lines += [_row(row) for row in grid.rows]
    return "\n".join([*lines, *(["", grid.note] if grid.note else [])]) + "\n"


def _quality(title: str, runs: Sequence[Results], summaries: Sequence[Summary]) -> Grid:
    main = PLANTED if _any_has(summaries, "recall@300") else RETRIEVAL
    metrics = [metric for metric in main if _any_has(summaries, metric)]
    rows = [
        [
            one.title,
            str(summary.asked) + ("" if summary.finished else " (not finished)"),
            *(shown(summary.get(metric)) for metric in metrics),
            abstention(summary),
            "" if number == 0 else shown(difference(one, runs[0], PAIRED), signed=True),
        ]
        if summary.stopped is None
        else [one.title, f"could not run: {summary.stopped}", *[""] * (len(metrics) + 2)]
        for number, (one, summary) in enumerate(zip(runs, summaries, strict=True))
    ]
    columns = ["system", "questions", *(_named(metric, summaries) for metric in metrics), "AUROC", "Δ"]
    note = "Answerable questions; mean [95% bootstrap interval]. AUROC of the confidence"
    if any(summary.auroc is not None and summary.auroc_from == "top score" for summary in summaries):
        note += "; * the score of the first hit, where a system tells none"
    note += f". Δ: {PAIRED} against the first row, paired"
    return Grid(title=title, columns=columns, rows=rows, note=f"{note}.")


def _categories(task: str, metric: str, summaries: Sequence[Summary]) -> Grid:
    ran = [summary for summary in summaries if summary.stopped is None]
    names = list(dict.fromkeys(name for summary in ran for name in summary.groups))
    names = [name for name in names if any(summary.get(metric, name) for summary in ran)]
    counts = {
        name: max((found.n for summary in ran if (found := summary.get(metric, name))), default=0) for name in names
    }
    return Grid(
        title=f"{task}: {metric} by category",
        columns=["system", *(f"{name} ({counts[name]})" for name in names)],
        rows=[[summary.title, *(shown(summary.get(metric, name)) for name in names)] for summary in ran],
    )


def _budgets(task: str, metric: str, summaries: Sequence[Summary]) -> Grid:
    """Show what a context is worth at each token budget, for all questions and for each group of them."""
    ran = [summary for summary in summaries if summary.stopped is None]
    budgets = _of_budgets(metric, ran)
    return Grid(
        title=f"{task}: {metric} by token budget",
        columns=["system", "questions", *(f"{budget:,}" for budget in budgets)],
        rows=[
            [summary.title, name, *(shown(summary.get(f"{metric}@{budget}", name)) for budget in budgets)]
            for summary in ran
            for name in summary.groups
            if summary.get(f"{metric}@{budgets[0]}", name) is not None
        ],
    )


def _of_budgets(metric: str, summaries: Sequence[Summary]) -> list[int]:
    """List the token budgets at which a metric was measured, if there are several."""
    found = sorted({int(budget) for one in summaries for budget in one.tokens if one.get(f"{metric}@{budget}")})
    return found if len(found) > 1 else []


def _costs(task: str, summaries: Sequence[Summary]) -> Grid:
    ran = [summary for summary in summaries if summary.stopped is None]
    budgets = list(dict.fromkeys(budget for summary in ran for budget in summary.tokens))
    return Grid(
        title=f"{task}: costs",
        columns=[
            "system",
            "ms p50",
            "ms p99",
            *(f"tokens of {budget}" for budget in budgets),
            "lines/s",
            "MB",
            "failed",
        ],
        rows=[
            [
                summary.title,
                number(summary.p50_ms, "{:.1f}"),
                number(summary.p99_ms, "{:.1f}"),
                *(number(summary.tokens.get(budget), "{:.0f}") for budget in budgets),
                number(summary.lines_a_second, "{:,.0f}"),
                number(summary.bytes, "{:.1f}", lambda size: size / 1e6),
                str(summary.failed),
            ]
            for summary in ran
        ],
        note="Latency of finding 20 lines, with the time that encoding the question took when the cache was filled.",
    )


def _any_has(summaries: Sequence[Summary], metric: str) -> bool:
    return any(summary.get(metric, EVERYTHING) is not None for summary in summaries)


def _named(metric: str, summaries: Sequence[Summary]) -> str:
    if metric not in _OF_FEW:
        return metric
    return f"{metric} ({max((found.n for summary in summaries if (found := summary.get(metric))), default=0)})"


def abstention(summary: Summary) -> str:
    """Write the AUROC, marked where it is that of the first hit's score."""
    return shown(summary.auroc) + ("*" if summary.auroc is not None and summary.auroc_from == "top score" else "")


def shown(estimate: Estimate | None, *, signed: bool = False) -> str:
    """Write a figure with its interval."""
    if estimate is None:
        return _NONE
    return f"+{estimate}" if signed and estimate.mean > 0 else str(estimate)


def number(value: float | None, form: str, change: Callable[[float], float] = float) -> str:
    """Write a number, or that there is none."""
    return _NONE if value is None or math.isnan(value) else form.format(change(value))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
