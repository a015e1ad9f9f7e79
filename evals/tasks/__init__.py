"""Tasks by name, and what the runner must know of each beside its questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

from evals.errors import EvalError
from evals.values import Asked, Task

ScoreText = Callable[
    [Asked, str], Mapping[str, float]
]  # what a context is worth to an answerable question, by a task's own measure


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What a task is read or made from."""

    data: Path | None = None
    audit: Path | None = None
    union: bool = False
    seed: int = 0
    held_back: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A task, and how to score and group its questions."""

    task: Task
    score_text: ScoreText | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def load_task(name: str, options: TaskOptions) -> Chosen:
    """Read or make a task."""
    if name not in TASKS:
        raise EvalError(f"There is no task {name!r}. Known: {', '.join(TASKS)}.")
    chosen = TASKS[name](options)
    if options.limit is None:
        return chosen
    return replace(chosen, task=replace(chosen.task, questions=_spread(chosen.task.questions, options.limit)))


def _locomo(options: TaskOptions) -> Chosen:
    from evals.tasks.locomo import GROUPS, locomo

    return Chosen(task=locomo(_file("locomo", options), audit=options.audit), groups=GROUPS)


def _longmemeval(options: TaskOptions) -> Chosen:
    from evals.tasks.longmemeval import longmemeval

    return Chosen(task=longmemeval(_file("longmemeval", options), union=options.union))


def _plain(options: TaskOptions) -> Chosen:
    from evals.tasks.plain import plain

    return Chosen(task=plain(_file("plain", options)))


def _planted(options: TaskOptions, *, multihop: bool = False) -> Chosen:
    made = import_module("evals.tasks.planted")
    task = made.planted(options.seed, held_back=options.held_back, multihop=multihop)
    return Chosen(task=task, score_text=made.score_planted)


def _people(options: TaskOptions) -> Chosen:
    from evals.tasks.people import people

    return Chosen(task=people(options.seed, held_back=options.held_back))


def _cogeval(options: TaskOptions) -> Chosen:
    made = import_module("evals.tasks.cogeval")
    return Chosen(task=made.cogeval(options.seed, templates=made.HELD_BACK if options.held_back else made.FIRST))


TASKS: Mapping[str, Callable[[TaskOptions], Chosen]] = {
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "plain": _plain,
    "planted": _planted,
    "planted-multihop": lambda options: _planted(options, multihop=True),
    "people": _people,
    "cogeval": _cogeval,
}


def _file(name: str, options: TaskOptions) -> Path:
    if options.data is None:
        raise EvalError(f"{name} reads a file: give it with --data.")
    return options.data


def _spread(questions: Sequence[Asked], limit: int) -> list[Asked]:
    """Take questions evenly from the whole list, so that every store and category keeps its share."""
    step = max(1.0, len(questions) / max(1, limit))
    return [questions[int(number * step)] for number in range(min(limit, len(questions)))]
