"""What `make eval` does: each task on each chosen system, then one table a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evals.compare import grids, print_grids
from evals.errors import EvalError, OtherRun
from evals.report import write_report
from evals.results import Results
from evals.runner import run
from evals.systems import BASELINES
from evals.tasks import Chosen, TaskOptions, load_task
from evals.terminal import say, shown

SYSTEMS = ("recollect", "recollect:-late", *BASELINES)
LOCOMO, AUDIT, LONGMEMEVAL = "locomo-dev.json", "locomo-dev-audit.jsonl", "longmemeval-dev.json"
_HEADLINE = ("event.frac@10",)


class _Part(NamedTuple):
    task: str
    options: TaskOptions


def run_everything(
    folder: Path, to: Path, *, systems: Sequence[str] | None = None, seed: int = 0, limit: int | None = None
) -> int:
    """Run all, print the tables, write the report; 1 where a system could not run."""
    whole: list[Results] = []
    left_out = _missing(folder)
    for part in _parts(folder, seed, limit):
        if part.options.data is not None and not part.options.data.is_file():
            continue
        try:
            chosen = load_task(part.task, part.options)
        except (EvalError, ImportError) as error:
            left_out.append(f"{part.task}: {error}")
            continue
        if chosen.task.graph:
            left_out.append(f"{part.task}, the metrics of its graph: no graph yet; no system here makes one")
        for system in systems or SYSTEMS:
            try:
                whole.append(_one(chosen, part, system, to, seed))
            except EvalError as error:
                left_out.append(f"{part.task} on {system}: {error}")
    print_grids(grids(whole, _HEADLINE))
    for line in left_out:
        say(f"Left out: {line}")
    if whole:
        say(f"Report: {', '.join(map(str, write_report(whole, to / 'report')))}")
    return 1 if not whole or any(one.stopped or not one.finished for one in whole) else 0


def _missing(folder: Path) -> list[str]:
    missing = [name for name in (LOCOMO, AUDIT, LONGMEMEVAL) if not (folder / name).is_file()]
    if not missing:
        return []
    return [
        f"{', '.join(missing)}: not in {folder}. Set EVAL_DATA to the folder with the development data, as in "
        "`make eval EVAL_DATA=~/data`; docs/benchmarks.md says where each file comes from. Generated tasks need none."
    ]


def _parts(folder: Path, seed: int, limit: int | None) -> list[_Part]:
    made = TaskOptions(seed=seed, limit=limit)
    return [
        _Part("locomo", replace(made, data=folder / LOCOMO, audit=folder / AUDIT)),
        _Part("longmemeval", replace(made, data=folder / LONGMEMEVAL, union=True)),
        _Part("planted", made),
        _Part("planted-multihop", made),
        _Part("cogeval", made),
    ]


def _one(chosen: Chosen, part: _Part, system: str, to: Path, seed: int) -> Results:
    out = to / "results" / f"{part.task}.{system.replace(':', '_')}.jsonl"
    with shown(f"{part.task} · {system}") as progress:
        try:
            return run(chosen, system, out, options=part.options, seed=seed, progress=progress)
        except OtherRun:
            # These files are this command's own: what older code left there is made again.
            return run(chosen, system, out, options=part.options, seed=seed, progress=progress, fresh=True)
