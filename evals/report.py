"""A report of runs: markdown tables, and one page with plots that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from evals import plots
from evals.compare import Grid, grids, markdown
from evals.metrics import CUTOFFS
from evals.results import Results
from evals.summary import Summary, difference, summarise

_RECALL = "event.frac"
_HEADLINE = "event.frac@10"
_FALLBACK = "recall@300"  # of tasks that are scored by what a context holds
_STYLE = """
:root { --ink: #1d2733; --dim: #66717f; --paper: #fff; --grid: #e3e7ec;
  --c0: #2563a8; --c1: #d9822b; --c2: #3f9160; --c3: #b23a48;
  --c4: #7b5ea7; --c5: #4aa3a2; --c6: #8a6d3b; --c7: #7f8c99 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaef; --dim: #98a3af; --paper: #14181d; --grid: #2b323a;
    --c0: #6aa5e3; --c1: #e9a25b; --c2: #74c096; --c3: #e27d88;
    --c4: #ae95d6; --c5: #7fcfcd; --c6: #c2a266; --c7: #a5b0bb }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1100px;
  margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid var(--grid); padding-top: 1rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 13px; margin: .5rem 0 }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap;
  font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left }
caption, .note { text-align: left; color: var(--dim); font-size: 13px }
caption { color: var(--ink); font-weight: 600 } svg { width: 100%; max-width: 820px; height: auto; display: block }
svg text { font-size: 12px; fill: var(--dim) } .grid, .axis { stroke: var(--grid) } .whisker { stroke: var(--ink) }
.line { fill: none !important; stroke-width: 2 } .legend span { margin-right: 1rem; white-space: nowrap }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .35em }
""" + "".join(f".c{n} {{ fill: var(--c{n}); stroke: var(--c{n}); background: var(--c{n}) }}\n" for n in range(8))


def write_report(runs: Sequence[Results], folder: Path) -> list[Path]:
    """Write `report.md` and `report.html`, and say where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    page, text = folder / "report.html", folder / "report.md"
    text.write_text(_markdown(runs), encoding="utf-8")
    page.write_text(_page(runs), encoding="utf-8")
    return [text, page]


def _markdown(runs: Sequence[Results]) -> str:
    parts = ["# Evaluation", ""]
    for task, same in _by_task(runs).items():
        parts += [f"## {task}", "", *(markdown(grid) for grid in grids(same)), *_remarks(same), _origin(same), ""]
    return "\n".join(parts)


def _page(runs: Sequence[Results]) -> str:
    parts: list[str] = []
    for task, same in _by_task(runs).items():
        parts.append(f"<h2>{escape(task)}</h2>")
        parts += [_table(grid) for grid in grids(same)]
        ran = [one for one in same if one.stopped is None and one.questions]
        if ran:
            parts += [f"<h3>{escape(title)}</h3>{drawn}" for title, drawn in _plots(ran).items()]
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in _remarks(same))
        parts.append(f"<h3>Remarks on the data</h3><ul>{remarks}</ul>" if remarks else "")
        parts.append(f'<p class="note">{escape(_origin(same))}</p>')
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Recollect: evaluation</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>Evaluation</h1>{''.join(parts)}</body></html>\n"
    )


def _plots(runs: Sequence[Results]) -> dict[str, str]:
    summaries = [summarise(one) for one in runs]
    headline = _HEADLINE if any(summary.get(_HEADLINE) for summary in summaries) else _FALLBACK
    drawn: dict[str, str] = {}
    by_k = {summary.title: points for summary in summaries if (points := _by_k(summary))}
    if by_k:
        title = "Share of the evidence among the first k lines"
        drawn[title] = plots.lines_by_k(by_k, title)
    by_category = {
        summary.title: {name: of[headline] for name, of in summary.groups.items() if headline in of}
        for summary in summaries
    }
    if any(by_category.values()):
        title = f"{headline} by category, with 95% intervals"
        drawn[title] = plots.grouped_bars(by_category, title)
    if lost := _ablations(runs, headline):
        title = f"Ablations: {headline} against the shipped default"
        drawn[title] = plots.difference_bars(lost, title)
    title = "Latency, median and 99th percentile"
    drawn[title] = plots.latency_bars({one.title: (one.p50_ms, one.p99_ms) for one in summaries}, title)
    by_size = {one.title: points for one in runs if (points := _by_size(one))}
    if len({size for points in by_size.values() for size, _ in points}) > 1:
        title = "Median latency (ms) by the size of the store"
        drawn[title] = plots.points_by_size(by_size, title)
    return drawn


def _by_k(summary: Summary) -> dict[int, float]:
    return {k: found.mean for k in CUTOFFS if (found := summary.get(f"{_RECALL}@{k}"))}


def _ablations(runs: Sequence[Results], metric: str) -> Mapping[str, Any]:
    shipped = next((one for one in runs if one.title == "recollect"), None)
    if shipped is None:
        return {}
    others = [one for one in runs if one.title.startswith("recollect:")]
    return {one.title: found for one in others if (found := difference(one, shipped, metric))}


def _by_size(results: Results) -> list[tuple[int, float]]:
    times: dict[str, list[float]] = {}
    for row in results.questions.values():
        if not row.get("error"):
            times.setdefault(row["store"], []).append(row["ms"])
    stores = results.stores
    return [(stores[store]["lines"], float(np.median(ms))) for store, ms in times.items() if store in stores]


def _by_task(runs: Sequence[Results]) -> dict[str, list[Results]]:
    together: dict[str, list[Results]] = {}
    for one in runs:
        together.setdefault(str(one.header["task"]), []).append(one)
    return together


def _remarks(runs: Sequence[Results]) -> list[str]:
    failed = [
        f"{one.title}: {row['id']} failed: {row['error']}"
        for one in runs
        for row in one.questions.values()
        if row.get("error")
    ]
    return [*dict.fromkeys(remark for one in runs for remark in one.header.get("remarks", ())), *failed]


def _origin(runs: Sequence[Results]) -> str:
    """Tell what made the figures, once where all runs agree."""
    told = dict.fromkeys(
        f"Data {one.header['data_hash']}, code {one.header['code']} at {one.header['revision']}, "
        f"seed {one.header['seed']}, {one.header['k']} lines asked for, "
        f"{one.header['machine']['processor']} with {one.header['machine']['cores']} cores, "
        f"Python {one.header['versions']['python']}."
        for one in runs
    )
    return " ".join(told)


def _table(grid: Grid) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in grid.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in grid.rows)
    note = f'<p class="note">{escape(grid.note)}</p>' if grid.note else ""
    return (
        f'<div class="scroll"><table><caption>{escape(grid.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
    )
