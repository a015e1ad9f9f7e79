"""What `make eval` does: each task on each chosen system, then one table a task.

Ours first, since they are quick (what is less a stage only on real data); then the peers, which take as long as
`peer_minutes` says in all, and none longer than its share for a task. What a peer answered is kept until its adapter,
its version, its model or the data change: the next call goes on from there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evals.compare import grids, print_grids
from evals.errors import EvalError, OtherRun
from evals.packing import BUDGETS
from evals.report import write_report
from evals.results import Results
from evals.runner import run
from evals.systems import BASELINES, SystemOptions, ablations, peer_names
from evals.systems.variants import NAME, file_name, is_ours
from evals.tasks import Chosen, TaskOptions, load_task
from evals.terminal import say, shown

LOCOMO, AUDIT, LONGMEMEVAL = "locomo-dev.json", "locomo-dev-audit.jsonl", "longmemeval-dev.json"
PEER_MINUTES = 45  # in all; with warm caches the eight of them take about half of it on two cores
ABLATED = (300, 1200)  # tokens: packing costs more than finding, and a stage shows in the first budgets or not at all
PEER_RUN_MINUTES = 10  # the most that one of them may take for one task: a slow one must not keep the others waiting
MAIN_STAGES = ("everyword:-late", "everyword:-words", "everyword:-vectors")
GRAPH_SEEDS = 3  # of six streams a set each; intervals of a tenth or so
_TIMED_OF_VARIANTS = 10  # each so manyth question
_PROCESSES = 2
_HEADLINE = ("event.frac@10",)


class _Part(NamedTuple):
    task: str
    options: TaskOptions
    chosen: Chosen


def run_everything(
    folder: Path,
    to: Path,
    *,
    systems: Sequence[str] | None = None,
    seed: int = 0,
    limit: int | None = None,
    peer_minutes: float = PEER_MINUTES,
    every_stage: bool = False,
) -> int:
    """Run all, print the tables, write the report; 1 where a system of ours could not run."""
    begun = time.monotonic()
    left_out = _missing(folder)
    parts = list(_parts(folder, seed, limit, left_out))
    everyone = peer_names()
    ablated = ablations() if every_stage else list(MAIN_STAGES)
    ours = [name for name in systems or ("everyword", *ablated, *BASELINES) if name not in everyone]
    others = [name for name in systems or everyone if name in everyone] if peer_minutes > 0 else []
    found: dict[tuple[str, str], Results] = {}
    for part in parts:
        for system in ours:
            is_whole = system == NAME or not is_ours(system)
            if systems or is_whole or part.options.data is not None:
                _one(found, part, system, to, seed, left_out, budgets=BUDGETS if is_whole else ABLATED)
    end = time.monotonic() + 60 * peer_minutes
    for part in parts:
        for system in others:
            own = time.monotonic() + 60 * PEER_RUN_MINUTES
            _one(found, part, system, to, seed, left_out, budgets=BUDGETS, end=min(end, own))
    whole = [found[part.task, system] for part in parts for system in (*ours, *others) if (part.task, system) in found]
    print_grids(grids(whole, _HEADLINE))
    if any(part.chosen.task.graph for part in parts) and "everyword" in ours:
        _graphs(to, seed)
    for line in left_out:
        say(f"Left out: {line}")
    if whole:
        say(f"Report: {', '.join(map(str, write_report(whole, to / 'report')))}")
    say(f"Took {(time.monotonic() - begun) / 60:.1f} minutes.")
    missed = [one for (_, system), one in found.items() if system in ours and (one.stopped or not one.finished)]
    return 1 if not whole or missed else 0


def _graphs(to: Path, seed: int) -> None:
    """Measure the concept graph that Everyword makes of the streams that have a gold one."""
    from evals.graphs import grid, measure, write_rows

    with shown("cogeval · the concept graph") as progress:
        rows = measure(range(seed, seed + GRAPH_SEEDS), progress=progress)
    write_rows(rows, to / "results" / "cogeval.graph.json")
    print_grids([grid(rows)])


def _missing(folder: Path) -> list[str]:
    missing = [name for name in (LOCOMO, AUDIT, LONGMEMEVAL) if not (folder / name).is_file()]
    if not missing:
        return []
    return [
        f"{', '.join(missing)}: not in {folder}. Set EVAL_DATA to the folder with the development data, as in "
        "`make eval EVAL_DATA=~/data`; docs/benchmarks.md says where each file comes from. Generated tasks need none."
    ]


def _parts(folder: Path, seed: int, limit: int | None, left_out: list[str]) -> list[_Part]:
    made = TaskOptions(seed=seed, limit=limit)
    given = {
        "locomo": replace(made, data=folder / LOCOMO, audit=folder / AUDIT),
        "longmemeval": replace(made, data=folder / LONGMEMEVAL, union=True),
        "planted": made,
        "planted-multihop": made,
        "cogeval": made,
    }
    parts: list[_Part] = []
    for task, options in given.items():
        if options.data is not None and not options.data.is_file():
            continue
        try:
            chosen = load_task(task, options)
        except (EvalError, ImportError) as error:
            left_out.append(f"{task}: {error}")
            continue
        parts.append(_Part(task, options, chosen))
    return parts


def _one(
    found: dict[tuple[str, str], Results],
    part: _Part,
    system: str,
    to: Path,
    seed: int,
    left_out: list[str],
    *,
    budgets: Sequence[int],
    end: float | None = None,
) -> None:
    # Of a variant only its answers matter; whatever ships is timed alone, on a machine that does nothing else.
    is_variant = is_ours(system) and system != NAME
    out = to / "results" / file_name(part.task, system)
    seconds = None if end is None else max(0.0, end - time.monotonic())
    with shown(f"{part.task} · {system}") as progress:
        for fresh in (False, True):
            try:
                found[part.task, system] = run(
                    part.chosen,
                    system,
                    out,
                    options=part.options,
                    seed=seed,
                    made=SystemOptions(budgets=budgets),
                    fresh=fresh,
                    seconds=seconds,
                    timed=_TIMED_OF_VARIANTS if is_variant else 1,
                    processes=min(_PROCESSES, os.cpu_count() or 1) if is_variant else 1,
                    progress=progress,
                )
            except OtherRun:
                continue  # these files are this command's own: what other code left there is made again
            except EvalError as error:
                left_out.append(f"{part.task} on {system}: {error}")
            return
