"""The runner: every question of a task to one system, each answer a row, each failure too."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals import provenance
from evals.cache import CountedOnce
from evals.errors import EvalError
from evals.metrics import score
from evals.packing import pack
from evals.results import FORMAT, Results, ResultsFile, read_results
from evals.systems import SystemOptions, open_system
from evals.tasks import Chosen, TaskOptions
from evals.terminal import Progress, silent
from evals.values import Answer, Asked, Line, System

LINES_ASKED = 100  # deep enough for twenty distinct sessions; lines are scored down to the twentieth


def run(
    chosen: Chosen,
    system_name: str,
    out: Path,
    *,
    options: TaskOptions,
    k: int = LINES_ASKED,
    seed: int = 0,
    made: SystemOptions | None = None,
    fresh: bool = False,
    keep_contexts: bool = False,
    progress: Progress = silent,
) -> Results:
    """Ask what is not yet answered in `out`, and give all of it."""
    made = made or SystemOptions()
    header = _header(chosen, system_name, options) | {"k": k, "seed": seed, "budgets": list(made.budgets)}
    try:
        system = open_system(system_name, made)
    except EvalError:
        raise
    except Exception as error:  # a peer may fail in any way; its row says how
        return _stopped(out, header, error)
    try:
        header["described"] = dict(system.describe())
        with ResultsFile.begin(out, header, fresh=fresh) as file:
            _Asking(chosen, system, file, keep_contexts=keep_contexts, progress=progress).all_stores()
            return file.results
    finally:
        system.close()


class _Asking:
    """One system's way through a task."""

    def __init__(
        self, chosen: Chosen, system: System, file: ResultsFile, *, keep_contexts: bool, progress: Progress
    ) -> None:
        self._chosen = chosen
        self._system = system
        self._file = file
        self._k: int = file.results.header["k"]
        self._budgets: list[int] = file.results.header["budgets"]
        self._keep_contexts = keep_contexts
        self._progress = progress
        self._tokenizer = CountedOnce()
        self._total = len(chosen.task.questions)

    def all_stores(self) -> None:
        """Go through the stores, one after the other, and end the file."""
        waiting: dict[str, list[Asked]] = {}
        for asked in self._chosen.task.questions:
            known = self._file.results.questions.get(asked.id)
            if known is None or known.get("error"):
                waiting.setdefault(asked.store, []).append(asked)
        if not waiting and self._file.results.finished:
            return
        begun = time.perf_counter()
        for store, questions in waiting.items():
            self._one_store(store, questions)
        failed = sum(1 for row in self._file.results.questions.values() if row.get("error"))
        self._file.write(
            "end",
            questions=len(self._file.results.questions),
            failed=failed,
            bytes=self._system.size_bytes(),
            seconds=round(time.perf_counter() - begun, 1),
        )

    def _one_store(self, store: str, questions: Sequence[Asked]) -> None:
        lines = self._chosen.task.stores[store]
        self._show(f"{store}: taking in {len(lines)} lines")
        broken = self._ingest(store, lines)
        by_key = {line.key: line for line in lines}
        for asked in questions:
            self._ask(asked, by_key, broken)
            self._show(store)

    def _ingest(self, store: str, lines: Sequence[Line]) -> str | None:
        begun = time.perf_counter()
        try:
            told = self._system.ingest(store, lines)
        except Exception as error:
            return f"taking in the store: {_said(error)}"
        took = told if told is not None else (time.perf_counter() - begun) * 1e3
        self._file.write("store", store=store, lines=len(lines), ms=round(took, 1))
        return None

    def _ask(self, asked: Asked, lines: Mapping[str, Line], broken: str | None) -> None:
        error, answer = broken, Answer(found=())
        begun = time.perf_counter()
        if error is None:
            try:
                answer = self._system.search(asked.store, asked.text, k=self._k, now=asked.now)
            except Exception as failure:
                error = _said(failure)
        wall_ms = (time.perf_counter() - begun) * 1e3
        contexts = answer.contexts or pack(answer.found, lines, self._budgets, self._tokenizer.count)
        row: dict[str, Any] = {
            "id": asked.id,
            "store": asked.store,
            "category": asked.category,
            "answerable": asked.answerable,
            "found": [[one.key, round(one.score, 5)] for one in answer.found],
            "confidence": answer.confidence,
            "ms": round(wall_ms if answer.took_ms is None else answer.took_ms, 3),
            "tokens": {str(budget): self._tokenizer.count(text) for budget, text in contexts.items()},
            "packed_by": "system" if answer.contexts else "runner",
            # A question that failed scores as one to which nothing was found.
            "scores": self._scores(asked, answer, lines, contexts),
        }
        if asked.notes:
            row["notes"] = asked.notes
        if error is not None:
            row["error"] = error
        if self._keep_contexts:
            row |= {"question": asked.text, "answer": asked.answer, "contexts": dict(contexts)}
        self._file.write("question", **row)

    def _scores(
        self, asked: Asked, answer: Answer, lines: Mapping[str, Line], contexts: Mapping[int, str]
    ) -> dict[str, float]:
        scores = score(asked, answer, lines, contexts)
        if self._chosen.score_text is not None and asked.answerable:
            for budget, text in contexts.items():
                own = self._chosen.score_text(asked, text)
                scores |= {f"{name}@{budget}": float(value) for name, value in own.items()}
        return {name: round(value, 5) for name, value in scores.items()}

    def _show(self, what: str) -> None:
        self._progress(what, len(self._file.results.questions), self._total)


def _header(chosen: Chosen, system: str, options: TaskOptions) -> dict[str, Any]:
    task = chosen.task
    given = {name: value for name, value in asdict(options).items() if value not in (None, False)}
    return {
        "format": FORMAT,
        "task": task.name,
        "system": system,
        "data_hash": task.data_hash,
        # The hash says which data; a path would only say where they lay.
        "options": {name: value.name if isinstance(value, Path) else value for name, value in given.items()},
        "described": {},
        "code": provenance.code_hash(),
        "revision": provenance.revision(),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "groups": {name: list(categories) for name, categories in chosen.groups.items()},
        "remarks": list(task.remarks),
    }


def _stopped(out: Path, header: Mapping[str, Any], error: Exception) -> Results:
    if out.exists() and read_results(out).questions:  # a run that once went well is not given up for it
        return Results(header=dict(header), stopped=_said(error))
    with ResultsFile.begin(out, header, fresh=True) as file:
        file.write("stopped", why=_said(error))
        return file.results


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
