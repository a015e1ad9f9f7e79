"""A report of runs: markdown tables, and one page with plots that needs no network."""

from __future__ import annotations

import re
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
_INTERVAL = re.compile(r" \[([^\[\]]*)\](\*?)")
_BREAKS = re.compile(r"(?<=\.)(?=[a-z])|(?=@)|(?<=_)")  # where a metric's name may go on in the next line
_FALLBACK = "recall@300"  # of tasks that are scored by what a context holds
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --dim: #5b6673; --paper: #fff; --soft: #f4f6f9; --grid: #e0e5eb;
  --c0: #1f5fa8; --c1: #c8701b; --c2: #2f855a; --c3: #b23a48;
  --c4: #7250a3; --c5: #23888a; --c6: #806425; --c7: #8b97a4 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaef; --dim: #9ca8b4; --paper: #14181d; --soft: #1c2229; --grid: #2d353e;
    --c0: #6aa9ec; --c1: #e9a25b; --c2: #74c096; --c3: #e88590;
    --c4: #b59ddb; --c5: #74cfd0; --c6: #cbac6f; --c7: #76828f }
}
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1180px;
  margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .6rem } h1 { margin-top: .5rem }
h2 { margin-top: 3.5rem; border-top: 1px solid var(--grid); padding-top: 1.2rem } h3 { font-size: 1.05rem }
a { color: var(--c0) } nav a { margin-right: 1rem; white-space: nowrap }
.scroll { overflow-x: auto; max-width: 100% } table { border-collapse: collapse; font-size: 13px; margin: .3rem 0 1rem }
th, td { padding: .3rem .55rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap;
  font-variant-numeric: tabular-nums; vertical-align: top }
th { font-weight: 600; color: var(--dim); vertical-align: bottom; white-space: normal; min-width: 4rem }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper);
  padding-left: 0 }
tbody tr:first-child td { font-weight: 600 } td small { display: block; color: var(--dim); font-weight: 400;
  font-size: 11px; line-height: 1.2 } td.why { text-align: left; white-space: normal; color: var(--dim) }
.note { color: var(--dim); font-size: 13px; margin: .2rem 0 1.2rem; max-width: 62rem }
svg { width: 100%; max-width: calc(var(--wide) * 1.2); min-width: var(--wide); height: auto; display: block }
svg text { font-size: 12px; fill: var(--dim) } svg .name { stroke: none }
.grid, .axis { stroke: var(--grid) } .axis { stroke: var(--dim) } .whisker { stroke: var(--ink); stroke-width: 1.4 }
.line { fill: none !important; stroke-width: 2.2 } .thin { stroke-width: 1.2; opacity: .55 }
.leader { stroke-width: 1; opacity: .5 }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); gap: 1.2rem 2rem }
.panels svg { min-width: 300px; max-width: 460px } figure { margin: 0 } figcaption { font-weight: 600; font-size: 13px }
.legend { display: none }
@media (max-width: 720px) {
  .legend { display: block; font-size: 13px; margin: .3rem 0 1rem } .legend span { display: block }
  th:first-child, td:first-child { white-space: normal; max-width: 8.5rem; overflow-wrap: anywhere }
}
details { margin: 1rem 0 } summary { cursor: pointer; font-weight: 600 } li { font-size: 13px; color: var(--dim) }
""" + "".join(f".c{n} {{ fill: var(--c{n}); stroke: var(--c{n}); color: var(--c{n}) }}\n" for n in range(8))


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
    tasks = _by_task(runs)
    links = "".join(f'<a href="#{escape(task, quote=True)}">{escape(task)}</a>' for task in tasks)
    parts = [f"<nav>{links}</nav>"] if len(tasks) > 1 else []
    for task, same in tasks.items():
        parts.append(f'<h2 id="{escape(task, quote=True)}">{escape(task)}</h2>')
        parts += [_table(grid) for grid in grids(same)]
        ran = [one for one in same if one.stopped is None and one.questions]
        if ran:
            parts += [f"<h3>{escape(title)}</h3>{drawn}" for title, drawn in _plots(ran).items()]
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in _remarks(same))
        if remarks:
            count = remarks.count("<li>")
            parts.append(f"<details><summary>{count} remarks on the data</summary><ul>{remarks}</ul></details>")
        parts.append(f'<p class="note">{escape(_origin(same))}</p>')
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Everyword: evaluation</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>Evaluation</h1>{''.join(parts)}</body></html>\n"
    )


def _plots(runs: Sequence[Results]) -> dict[str, str]:
    summaries = [summarise(one) for one in runs]
    headline = _HEADLINE if any(summary.get(_HEADLINE) for summary in summaries) else _FALLBACK
    drawn: dict[str, str] = {}
    # An ablation is compared with the whole in bars of its own; among all others it would only be in the way.
    shown = [one for one in summaries if not _is_ablation(one.title)]
    by_k = {summary.title: points for summary in shown if (points := _by_k(summary))}
    if by_k:
        title = "Share of the evidence among the first k lines"
        drawn[title] = plots.lines_by_k(by_k, title)
    by_category = {
        summary.title: {name: of[headline] for name, of in summary.groups.items() if headline in of}
        for summary in shown
    }
    if any(by_category.values()):
        title = f"{headline} by category, with 95% intervals"
        drawn[title] = plots.bars_by_group(by_category, title)
    if lost := _ablations(runs, headline):
        title = f"Ablations: {headline} against the shipped default"
        drawn[title] = plots.difference_bars(lost, title)
    title = "Latency, median and 99th percentile"
    drawn[title] = plots.latency_bars({one.title: (one.p50_ms, one.p99_ms) for one in summaries}, title)
    by_size = {one.title: points for one in runs if not _is_ablation(one.title) and (points := _by_size(one))}
    if len({size for points in by_size.values() for size, _ in points}) > 1:
        title = "Median latency (ms) by the size of the store"
        drawn[title] = plots.points_by_size(by_size, title)
    return drawn


def _is_ablation(title: str) -> bool:
    return title.startswith("everyword:")


def _by_k(summary: Summary) -> dict[int, float]:
    return {k: found.mean for k in CUTOFFS if (found := summary.get(f"{_RECALL}@{k}"))}


def _ablations(runs: Sequence[Results], metric: str) -> Mapping[str, Any]:
    shipped = next((one for one in runs if one.title == "everyword"), None)
    if shipped is None:
        return {}
    others = [one for one in runs if _is_ablation(one.title)]
    return {one.title: found for one in others if (found := difference(one, shipped, metric))}


def _by_size(results: Results) -> list[tuple[int, float]]:
    times: dict[str, list[float]] = {}
    for row in results.questions.values():
        if not row.get("error") and row["ms"] is not None:
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
    head = "".join(f"<th>{_BREAKS.sub('<wbr>', escape(column))}</th>" for column in grid.columns)
    rows = "".join(f"<tr>{_cells(row)}</tr>" for row in grid.rows)
    note = f'<p class="note">{escape(grid.note)}</p>' if grid.note else ""
    return (
        f'<h3>{escape(grid.title)}</h3><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}"
    )


def _cells(row: Sequence[str]) -> str:
    if len(row) > 2 and not any(row[2:]):  # a system that could not run has a reason in the place of figures
        return f'<td>{escape(row[0])}</td><td class="why" colspan="{len(row) - 1}">{escape(row[1])}</td>'
    # The interval stands under its figure: the table is half as wide.
    return "".join("<td>" + _INTERVAL.sub(r"\2<small>\1</small>", escape(cell)) + "</td>" for cell in row)
