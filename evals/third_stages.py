"""What each form of the third stage gains and costs, on samples of LoCoMo: a table of its own, since it is slow.

The sample is each so manyth question of the file, so many in all; an LLM of any size gets a smaller one. Questions are
asked for as many lines as an agent asks for, once, and timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evals.compare import grids, print_grids
from evals.results import Results
from evals.runner import run
from evals.systems import SystemOptions
from evals.systems.third import FORMS
from evals.systems.variants import NAME, file_name
from evals.tasks import TaskOptions, load_task
from evals.terminal import shown
from evals.values import LINES_TIMED

BUDGETS = (300, 1200)


def run_third_stages(data: Path, audit: Path | None, to: Path, *, sample: int, llm_sample: int) -> int:
    """Ask the samples, print the tables; 1 where a form could not run."""
    models = [f"{NAME}:+{form}" for form in FORMS if form != "llm"]
    runs = [
        *_asked(data, audit, to, sample, [NAME, *models]),
        *_asked(data, audit, to, llm_sample, [NAME, f"{NAME}:+llm"]),
    ]
    return 1 if any(one.stopped for one in runs) else 0


def _asked(data: Path, audit: Path | None, to: Path, sample: int, systems: Sequence[str]) -> list[Results]:
    options = TaskOptions(data=data, audit=audit, limit=sample)
    chosen = load_task("locomo", options)
    found: list[Results] = []
    for system in systems:
        with shown(f"locomo, {sample} questions · {system}") as progress:
            found.append(
                run(
                    chosen,
                    system,
                    to / file_name(f"locomo-of-{sample}", system),
                    options=options,
                    k=LINES_TIMED,
                    made=SystemOptions(budgets=BUDGETS),
                    fresh=True,
                    progress=progress,
                )
            )
    print_grids(grids(found, ("event.frac@5",)))
    return found
