"""Results: one JSONL file a run, written as it goes, so that an interrupted run goes on where it stopped.

The first line is the run itself (`"kind": "run"`): task, system, hash of the data, code, seed, machine. Then, in the
order in which they happen: a `store` when its lines are in, a `question` for each answer or error, `end` when all is
done, or `stopped` with the reason where a system could not run at all. Of two lines on the same thing the later counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from evals.errors import EvalError, OtherRun

FORMAT = 2
# Two runs with these equal get the same answers, but for the times; `described` is known only when the system
# runs, and follows from the others unless somebody installed another version in between.
ANSWERS = ("format", "task", "system", "data_hash", "options", "told", "k", "seed", "code", "model", "contexts_kept")
# ... and these make figures of the answers.
FIGURES = ("budgets", "scoring")

Row = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Results:
    """One run as read from its file."""

    header: Row
    questions: dict[str, Row] = field(default_factory=dict[str, Row])
    stores: dict[str, Row] = field(default_factory=dict[str, Row])
    end: Row | None = None
    stopped: str | None = None

    @property
    def title(self) -> str:
        """Name the run in a table."""
        return str(self.header["system"])

    @property
    def finished(self) -> bool:
        """Tell whether every question was asked."""
        return self.end is not None

    def take(self, row: Row) -> None:
        """Add a line of the file."""
        match row.get("kind"):
            case "question":
                self.questions[row["id"]] = row
            case "store":
                self.stores[row["store"]] = row
            case "end":
                self.end = row
            case "stopped":
                self.stopped = row["why"]
            case other:
                raise EvalError(f"A line of kind {other!r} is not known here; was it written by a later version?")


def read_results(path: Path) -> Results:
    """Read a run, whole or interrupted."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise EvalError(f"{path} can't be read: {error}") from error
    rows = [row for number, line in enumerate(lines) if (row := _row(path, line, last=number == len(lines) - 1))]
    if not rows or rows[0].get("kind") != "run" or rows[0].get("format") != FORMAT:
        raise EvalError(f"{path} is not a result of `python -m evals run` (format {FORMAT}).")
    results = Results(header=rows[0])
    for row in rows[1:]:
        results.take(row)
    return results


def differing(known: Mapping[str, Any], header: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Name what two runs do not have in common; the one was read from a file, the other need not have been."""
    fresh = json.loads(json.dumps(dict(header), default=str))
    return [name for name in names if known.get(name) != fresh.get(name)]


def replace_rows(path: Path, header: Mapping[str, Any], results: Results) -> None:
    """Write a run anew, whole or not at all."""
    rows = [{"kind": "run", **header}, *results.stores.values(), *results.questions.values()]
    rows += [results.end] if results.end else []
    beside = path.with_suffix(".new")
    beside.write_text("".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows), "utf-8")
    beside.replace(path)


class ResultsFile:
    """A run being written: every line is handed to the system before the next question is asked."""

    def __init__(self, path: Path, results: Results) -> None:
        self._path = path
        self.results = results
        self._file = path.open("a", encoding="utf-8")

    @classmethod
    def begin(cls, path: Path, header: Mapping[str, Any], *, fresh: bool = False) -> ResultsFile:
        """Start a file, or go on with one that the same run left behind."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size and not fresh:
            known = read_results(path)
            if known.questions:
                if other := differing(known.header, header, (*ANSWERS, *FIGURES, "described")):
                    raise OtherRun(
                        f"{path} holds another run: {', '.join(other)} differ. "
                        "Give --fresh to replace it, or another --json."
                    )
                _drop_torn_line(path)
                known.stopped = None
                return cls(path, known)
        path.write_text(json.dumps({"kind": "run", **header}, default=str) + "\n", encoding="utf-8")
        return cls(path, read_results(path))

    def write(self, kind: str, **row: Any) -> None:
        """Append a line."""
        whole = {"kind": kind, **row}
        self._file.write(json.dumps(whole, ensure_ascii=False) + "\n")
        self._file.flush()
        self.results.take(whole)

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _row(path: Path, line: bytes, *, last: bool) -> Row | None:
    if not line.strip():
        return None
    try:
        return json.loads(line)
    except ValueError as error:
        if last:  # cut off while it was written; its question is asked again
            return None
        raise EvalError(f"{path} has a damaged line: {error}") from error


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])
