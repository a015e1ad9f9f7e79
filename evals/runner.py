"""The runner: every question of a task to one system, each answer a row, each failure too."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals import provenance
from evals.cache import CountedOnce
from evals.errors import EvalError, OutOfTime
from evals.metrics import score
from evals.packing import pack
from evals.results import ANSWERS, FIGURES, FORMAT, Results, ResultsFile, Row, differing, read_results, replace_rows
from evals.systems import SystemOptions, open_system, origin_of
from evals.tasks import Chosen, TaskOptions
from evals.terminal import Progress, silent
from evals.values import LINES_TIMED, Answer, Asked, Found, Hurried, Line, System

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
    timed: int = 1,
    processes: int = 1,
    progress: Progress = silent,
) -> Results:
    """Ask what is not yet answered in `out`, for as long as `seconds` says, and give all of it.

    timed: each so manyth question is also asked for its latency alone. processes: among which the stores are divided;
    only for systems that are ours.
    """
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
            sent = Sent(chosen=chosen, system=system_name, made=made, k=k, keep_contexts=keep_contexts, timed=timed)
            if processes > 1:
                from evals.processes import ask_among

                ask_among(processes, sent, waiting_in(chosen, file.results), file, progress)
            else:
                Asking(sent, measuring).all_stores(system, file, seconds, progress)
            return file.results
    except OutOfTime as error:
        return _stopped(out, header, error)
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


Write = Callable[[str, Row], None]  # takes a line of the results


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What is asked of whom, and how: all that a process needs to ask a part of it."""

    chosen: Chosen
    system: str
    made: SystemOptions
    k: int
    keep_contexts: bool
    timed: int  # each so manyth question is timed


class Asking:
    """How a task is asked, whoever answers."""

    def __init__(self, sent: Sent, measuring: _Measuring | None = None) -> None:
        self._chosen = sent.chosen
        self._measuring = measuring or _Measuring(sent.chosen, sent.made.budgets)
        self._k = sent.k
        self._keep_contexts = sent.keep_contexts
        self._timed = sent.timed

    def all_stores(self, system: System, file: ResultsFile, seconds: float | None, progress: Progress) -> None:
        """Go through the stores, one after the other, and end the file; or leave the rest for another time."""
        begun = time.perf_counter()
        end = begun + seconds if seconds is not None else float("inf")

        def write(kind: str, row: Row) -> None:
            file.write(kind, **row)
            progress(str(row["store"]), len(file.results.questions), len(self._chosen.task.questions))

        if isinstance(system, Hurried):
            system.end = end
        for store, questions in waiting_in(self._chosen, file.results).items():
            progress(f"{store}: taking in its lines", len(file.results.questions), len(self._chosen.task.questions))
            if not self.one_store(system, store, questions, end, write):
                return
        finish(file, system.size_bytes(), begun)

    def one_store(self, system: System, store: str, questions: Sequence[Asked], end: float, write: Write) -> bool:
        """Tell a store's lines and ask its questions; False where the time is over before all are asked."""
        if time.perf_counter() > end:
            return False
        lines = self._chosen.task.stores[store]
        broken = _ingest(system, store, lines, write)
        by_key = {line.key: line for line in lines}
        for number, asked in enumerate(questions):
            if time.perf_counter() > end:
                return False
            write("question", self._row(system, asked, by_key, broken, timed=number % self._timed == 0))
        return True

    def _row(self, system: System, asked: Asked, lines: Mapping[str, Line], broken: str | None, *, timed: bool) -> Row:
        error, answer, took_ms = broken, Answer(found=()), None
        if error is None:
            try:
                answer, took_ms = self._search(system, asked, timed=timed)
            except Exception as failure:
                error = _said(failure)
        measured, contexts = self._measuring.measured(asked, answer, lines)
        row: Row = {
            "id": asked.id,
            "store": asked.store,
            "category": asked.category,
            "answerable": asked.answerable,
            "found": [[one.key, round(one.score, 5)] for one in answer.found],
            "confidence": answer.confidence,
            "ms": None if took_ms is None else round(took_ms, 3),
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
        return row

    def _search(self, system: System, asked: Asked, *, timed: bool) -> tuple[Answer, float | None]:
        """Search once for as many lines as an agent asks for, timed, and once for all that is scored and packed."""
        took_ms = None
        if timed:
            begun = time.perf_counter()
            answer = system.search(asked.store, asked.text, k=min(self._k, LINES_TIMED), now=asked.now)
            took_ms = (time.perf_counter() - begun) * 1e3 if answer.took_ms is None else answer.took_ms
            if self._k <= LINES_TIMED:
                return answer, took_ms
        return system.search(asked.store, asked.text, k=self._k, now=asked.now), took_ms


def waiting_in(chosen: Chosen, results: Results) -> dict[str, list[Asked]]:
    """List the questions that have no answer yet, by store."""
    waiting: dict[str, list[Asked]] = {}
    for asked in chosen.task.questions:
        known = results.questions.get(asked.id)
        if known is None or known.get("error"):
            waiting.setdefault(asked.store, []).append(asked)
    return waiting


def finish(file: ResultsFile, size_bytes: int | None, begun: float) -> None:
    """End the file of a run that asked everything."""
    failed = sum(1 for row in file.results.questions.values() if row.get("error"))
    seconds = round(time.perf_counter() - begun, 1)
    file.write("end", questions=len(file.results.questions), failed=failed, bytes=size_bytes, seconds=seconds)


def _ingest(system: System, store: str, lines: Sequence[Line], write: Write) -> str | None:
    begun = time.perf_counter()
    try:
        told = system.ingest(store, lines)
    except OutOfTime:
        raise
    except Exception as error:
        return f"taking in the store: {_said(error)}"
    took = told if told is not None else (time.perf_counter() - begun) * 1e3
    write("store", {"store": store, "lines": len(lines), "ms": round(took, 1)})
    return None


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
