"""Tables of a markdown page, made from results: what stands between two marks is replaced by figures.

    <!-- figures locomo | everyword, ablations, bm25, peers | event.frac@10, event.frac@10{temporal}=temporal, AUROC -->
    ... the table ...
    <!-- /figures -->

A mark names the task, the systems (`ablations` are those that were run, `peers` all of them) and the columns: a metric,
with the category in braces where it is not all questions, and a title behind `=`. `AUROC`, `p50`, `p99`, `lines/s` and
`MB` are columns too, and `Δ` before a metric is the paired difference to the first row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evals.compare import Grid, abstention, markdown, number, shown
from evals.errors import EvalError
from evals.results import Results, read_results
from evals.summary import EVERYTHING, Summary, difference, summarise
from evals.systems import ablations, peer_names
from evals.systems.variants import file_name

_BLOCK = re.compile(
    r"(?P<mark><!-- figures (?P<spec>[^>\n]*) -->)\n(?P<table>[^<]*(?:<(?!!-- /figures)[^<]*)*)<!-- /figures -->"
)
_COLUMN = re.compile(r"(?P<delta>Δ)?(?P<metric>[^{}=]+)(?:\{(?P<group>[^{}]+)\})?(?:=(?P<title>.+))?")

_COSTS: Mapping[str, Callable[[Summary], str]] = {
    "AUROC": lambda summary: abstention(summary),
    "p50": lambda summary: number(summary.p50_ms, "{:.1f}"),
    "p99": lambda summary: number(summary.p99_ms, "{:.1f}"),
    "lines/s": lambda summary: number(summary.lines_a_second, "{:,.0f}"),
    "MB": lambda summary: number(summary.bytes, "{:.1f}", lambda size: size / 1e6),
}


class _Column(NamedTuple):
    title: str
    metric: str
    group: str
    is_difference: bool


def refresh(page: Path, results: Path) -> int:
    """Make every table of a page anew from the runs in a folder; tell how many there are."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise EvalError(f"{page} can't be read: {error}") from error
    made = _Tables(results)
    fresh, count = _BLOCK.subn(lambda found: f"{found['mark']}\n\n{made.table(found['spec'])}\n<!-- /figures -->", text)
    if not count:
        raise EvalError(f"{page} has no place for figures; evals/page.py says how one looks.")
    if fresh != text:
        page.write_text(fresh, encoding="utf-8")
    return count


class _Tables:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, str], tuple[Results, Summary] | None] = {}

    def table(self, spec: str) -> str:
        """Lay out what a mark asks for."""
        parts = [part.strip() for part in spec.split("|")]
        if len(parts) != 3:
            raise EvalError(f"A mark names a task, systems and columns, with | between them; not {spec!r}.")
        task, systems, columns = parts[0], list(_systems(parts[1])), [_column(one) for one in parts[2].split(",")]
        runs = {system: self._run(task, system) for system in systems}
        for system in ablations():  # most are run now and then only
            if runs.get(system, ...) is None:
                del runs[system]
        first = next((run for run in runs.values() if run is not None), None)
        if first is None:
            raise EvalError(f"{self._folder} has no run of {task} on any of {', '.join(systems)}.")
        rows = [[system, *_cells(run, columns, first[0])] for system, run in runs.items()]
        grid = Grid(title="", columns=["system", *(one.title for one in columns)], rows=rows)
        return markdown(grid) + f"\n{_origin([run[0] for run in runs.values() if run])}\n"

    def _run(self, task: str, system: str) -> tuple[Results, Summary] | None:
        if (task, system) not in self._known:
            path = self._folder / file_name(task, system)
            run = read_results(path) if path.is_file() else None
            self._known[task, system] = (run, summarise(run)) if run else None
        return self._known[task, system]


def _systems(given: str) -> Iterator[str]:
    for name in (part.strip() for part in given.split(",")):
        yield from {"ablations": ablations, "peers": peer_names}.get(name, lambda name=name: [name])()


def _column(given: str) -> _Column:
    found = _COLUMN.fullmatch(given.strip())
    if found is None:
        raise EvalError(f"{given.strip()!r} is no column; evals/page.py says how one looks.")
    metric, group = found["metric"].strip(), found["group"] or EVERYTHING
    title = found["title"] or (f"Δ {metric}" if found["delta"] else metric)
    return _Column(title, metric, group, found["delta"] is not None)


def _cells(run: tuple[Results, Summary] | None, columns: Sequence[_Column], first: Results) -> list[str]:
    if run is None or not (run[1].asked or run[1].stopped):
        return ["not measured", *[""] * (len(columns) - 1)]
    results, summary = run
    if summary.stopped is not None:
        return [f"could not run: {summary.stopped}", *[""] * (len(columns) - 1)]
    cells = [_cell(results, summary, column, first) for column in columns]
    if not summary.finished:
        cells[0] += f" (of {summary.asked} questions)"
    return cells


def _cell(results: Results, summary: Summary, column: _Column, first: Results) -> str:
    if column.metric in _COSTS:
        return _COSTS[column.metric](summary)
    if column.is_difference:
        return "" if results is first else shown(difference(results, first, column.metric), signed=True)
    return shown(summary.get(column.metric, column.group))


def _origin(runs: Sequence[Results]) -> str:
    """Tell what made a table: the commits and the days, the machines, the seed."""
    headers = [run.header for run in runs]
    commits = " and ".join(dict.fromkeys(str(one["revision"]) for one in headers))
    days = " and ".join(dict.fromkeys(str(one["begun"])[:10] for one in headers))
    machines = " and ".join(
        dict.fromkeys(f"{one['machine']['cores']} cores ({one['machine']['processor']})" for one in headers)
    )
    return f"Commit {commits} (+: and what was not committed yet), {days}, {machines}, seed {headers[0]['seed']}."
