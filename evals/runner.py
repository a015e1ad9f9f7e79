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
from evals.results import ANSWERS, FIGURES, FORMAT, Results, ResultsFile, Row, differing, read_results, replace_rows
from evals.systems import SystemOptions, open_system, origin_of
from evals.tasks import Chosen, TaskOptions
from evals.terminal import Progress, silent
from evals.values import LINES_TIMED, Answer, Asked, Found, Line, System

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
    seconds: float | None = None,
    progress: Progress = silent,
) -> Results:
    """Ask what is not yet answered in `out`, for as long as `seconds` says, and give all of it."""
    made = made or SystemOptions()
    header = _header(chosen, options) | {"system": system_name, "k": k, "seed": seed, "budgets": list(made.budgets)}
    header |= {"contexts_kept": keep_contexts, **origin_of(system_name, made)}
    measuring = _Measuring(chosen, made.budgets)
    if not fresh and (known := _answered(out, header, measuring)) is not None:
        return known
    if seconds is not None and seconds <= 0:
        return _left(out, header)
    try:
        system = open_system(system_name, made)
    except EvalError:
        raise
    except Exception as error:  # a peer may fail in any way; its row says how
        return _stopped(out, header, error)
    try:
        header["described"] = dict(system.describe())
        with ResultsFile.begin(out, header, fresh=fresh) as file:
            _Asking(chosen, system, file, measuring, progress).all_stores(seconds)
            return file.results
    finally:
        system.close()


class _Measuring:
    """What an answer is worth, now or when the measures have changed since it was given."""

    def __init__(self, chosen: Chosen, budgets: Sequence[int]) -> None:
        self._chosen = chosen
        self._budgets = budgets
        self._tokenizer = CountedOnce()

    def measured(self, asked: Asked, answer: Answer, lines: Mapping[str, Line]) -> tuple[Row, Mapping[int, str]]:
        """Give the part of a row that follows from an answer, and its contexts."""
        if answer.pack is not None:
            contexts: Mapping[int, str] = {budget: answer.pack(budget) for budget in self._budgets}
        else:
            contexts = pack(answer.found, lines, self._budgets, self._tokenizer.count)
        return {
            "tokens": {str(budget): self._tokenizer.count(text) for budget, text in contexts.items()},
            # A question that failed scores as one to which nothing was found.
            "scores": self._scores(asked, answer, lines, contexts),
        }, contexts

    def again(self, results: Results) -> None:
        """Measure all rows of a run anew from the lines that were found."""
        asked = {one.id: one for one in self._chosen.task.questions}
        by_key = {store: {line.key: line for line in lines} for store, lines in self._chosen.task.stores.items()}
        for row in results.questions.values():
            answer = Answer(found=[Found(key=key, score=value) for key, value in row["found"]])
            row |= self.measured(asked[row["id"]], answer, by_key[row["store"]])[0]

    def _scores(
        self, asked: Asked, answer: Answer, lines: Mapping[str, Line], contexts: Mapping[int, str]
    ) -> dict[str, float]:
        scores = score(asked, answer, lines, contexts)
        if self._chosen.score_text is not None and asked.answerable:
            for budget, text in contexts.items():
                own = self._chosen.score_text(asked, text)
                scores |= {f"{name}@{budget}": float(value) for name, value in own.items()}
        return {name: round(value, 5) for name, value in scores.items()}


class _Asking:
    """One system's way through a task."""

    def __init__(
        self, chosen: Chosen, system: System, file: ResultsFile, measuring: _Measuring, progress: Progress
    ) -> None:
        self._chosen = chosen
        self._system = system
        self._file = file
        self._measuring = measuring
        self._k: int = file.results.header["k"]
        self._keep_contexts: bool = file.results.header["contexts_kept"]
        self._progress = progress
        self._total = len(chosen.task.questions)

    def all_stores(self, seconds: float | None) -> None:
        """Go through the stores, one after the other, and end the file; or leave the rest for another time."""
        waiting: dict[str, list[Asked]] = {}
        for asked in self._chosen.task.questions:
            known = self._file.results.questions.get(asked.id)
            if known is None or known.get("error"):
                waiting.setdefault(asked.store, []).append(asked)
        begun = time.perf_counter()
        end = begun + seconds if seconds is not None else float("inf")
        for store, questions in waiting.items():
            if not self._one_store(store, questions, end):
                return
        failed = sum(1 for row in self._file.results.questions.values() if row.get("error"))
        self._file.write(
            "end",
            questions=len(self._file.results.questions),
            failed=failed,
            bytes=self._system.size_bytes(),
            seconds=round(time.perf_counter() - begun, 1),
        )

    def _one_store(self, store: str, questions: Sequence[Asked], end: float) -> bool:
        if time.perf_counter() > end:
            return False
        lines = self._chosen.task.stores[store]
        self._show(f"{store}: taking in {len(lines)} lines")
        broken = self._ingest(store, lines)
        by_key = {line.key: line for line in lines}
        for asked in questions:
            if time.perf_counter() > end:
                return False
            self._ask(asked, by_key, broken)
            self._show(store)
        return True

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
        error, answer, took_ms = broken, Answer(found=()), 0.0
        if error is None:
            try:
                answer, took_ms = self._search(asked)
            except Exception as failure:
                error = _said(failure)
        measured, contexts = self._measuring.measured(asked, answer, lines)
        row: dict[str, Any] = {
            "id": asked.id,
            "store": asked.store,
            "category": asked.category,
            "answerable": asked.answerable,
            "found": [[one.key, round(one.score, 5)] for one in answer.found],
            "confidence": answer.confidence,
            "ms": round(took_ms, 3),
            "packed_by": "runner" if answer.pack is None else "system",
            **measured,
        }
        if asked.notes:
            row["notes"] = asked.notes
        if error is not None:
            row["error"] = error
        if self._keep_contexts:
            now = asked.now.strftime("%Y-%m-%d %H:%M %Z").strip() if asked.now else None
            row |= {"question": asked.text, "answer": asked.answer, "now": now, "contexts": dict(contexts)}
        self._file.write("question", **row)

    def _search(self, asked: Asked) -> tuple[Answer, float]:
        """Search once for as many lines as an agent asks for, timed, and once for all that is scored and packed."""
        begun = time.perf_counter()
        answer = self._system.search(asked.store, asked.text, k=min(self._k, LINES_TIMED), now=asked.now)
        took_ms = (time.perf_counter() - begun) * 1e3 if answer.took_ms is None else answer.took_ms
        if self._k > LINES_TIMED:
            answer = self._system.search(asked.store, asked.text, k=self._k, now=asked.now)
        return answer, took_ms

    def _show(self, what: str) -> None:
        self._progress(what, len(self._file.results.questions), self._total)


def _header(chosen: Chosen, options: TaskOptions) -> dict[str, Any]:
    task = chosen.task
    given = {name: value for name, value in asdict(options).items() if value not in (None, False)}
    questions = [(asked.id, asked.store, asked.text, asked.now) for asked in task.questions]
    return {
        "format": FORMAT,
        "task": task.name,
        "data_hash": task.data_hash,
        # The hash says which data; a path would only say where they lay.
        "options": {name: value.name if isinstance(value, Path) else value for name, value in given.items()},
        "told": provenance.hash_of(task.stores, questions),
        "scoring": provenance.code_hash(provenance.SCORING, CountedOnce().name, provenance.hash_of(task.questions)),
        "described": {},
        "lines_timed": LINES_TIMED,
        "revision": provenance.revision(),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "groups": {name: list(categories) for name, categories in chosen.groups.items()},
        "remarks": list(task.remarks),
    }


def _answered(out: Path, header: Mapping[str, Any], measuring: _Measuring) -> Results | None:
    """Give a run that needs no asking. Where only the measures changed, the answers that it has are measured again."""
    try:
        known = read_results(out)
    except EvalError:  # whoever writes to the file says what is wrong with it
        return None
    if not known.questions or differing(known.header, header, ANSWERS):
        return None
    if differing(known.header, header, FIGURES):
        if any(row["packed_by"] != "runner" for row in known.questions.values()):
            return None  # what the system packed is not there any more
        measuring.again(known)
        known.header |= {name: header[name] for name in (*FIGURES, "groups", "remarks")}
        replace_rows(out, known.header, known)
    if not known.finished or any(row.get("error") for row in known.questions.values()):
        return None
    return known


def _left(out: Path, header: Mapping[str, Any]) -> Results:
    """Give what an earlier call answered, where there is no time to ask more."""
    if out.exists():
        known = read_results(out)
        if known.questions and not differing(known.header, header, (*ANSWERS, *FIGURES)):
            return known
    return Results(header=dict(header), stopped="no time was left for it; the next call begins here")


def _stopped(out: Path, header: Mapping[str, Any], error: Exception) -> Results:
    if out.exists() and read_results(out).questions:  # a run that once went well is not given up for it
        return Results(header=dict(header), stopped=_said(error))
    with ResultsFile.begin(out, header, fresh=True) as file:
        file.write("stopped", why=_said(error))
        return file.results


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
