"""A plain JSON form that any other set can be converted to; docs/benchmarks.md has its fields."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.errors import EvalError
from evals.tasks.reading import hash_of, moment, read_json
from evals.values import Asked, Line, Task

_LINE = {"key", "text", "speaker", "session", "role", "at"}
_QUESTION = {
    "id", "store", "text", "category", "evidence", "sessions", "answer", "answerable", "now", "notes", "expects"
}  # fmt: skip


def plain(path: Path) -> Task:
    """Read stores and questions; evidence that names no line is a remark, a wrong field an error."""
    whole = read_json(path)
    if not isinstance(whole, dict) or not {"stores", "questions"} <= set(whole):
        raise EvalError(f"{path} is not our plain form: an object with `name`, `stores` and `questions` was expected.")
    stores = {
        name: [_line(f"{path}: {name}[{number}]", line) for number, line in enumerate(lines)]
        for name, lines in whole["stores"].items()
    }
    keys = {name: {line.key for line in lines} for name, lines in stores.items()}
    remarks: list[str] = []
    questions = [
        _asked(f"{path}: questions[{number}]", number, question, keys, remarks)
        for number, question in enumerate(whole["questions"])
    ]
    return Task(
        name=str(whole.get("name", path.stem)),
        data_hash=hash_of(path),
        stores=stores,
        questions=questions,
        remarks=remarks,
    )


def _line(where: str, given: Mapping[str, Any]) -> Line:
    _check(where, given, _LINE, needed=("key", "text"))
    return Line(**{**given, "at": _moment(where, given.get("at"))})


def _asked(
    where: str, number: int, given: Mapping[str, Any], keys: Mapping[str, set[str]], remarks: list[str]
) -> Asked:
    _check(where, given, _QUESTION, needed=("text",))
    store = given.get("store") or (next(iter(keys)) if len(keys) == 1 else None)
    if store not in keys:
        raise EvalError(f"{where}: the store {store!r} is not among {', '.join(keys)}.")
    id = str(given.get("id", number))
    evidence = tuple(given.get("evidence", ()))
    known = tuple(key for key in evidence if key in keys[store])
    remarks += [f"{id}: evidence {key} is not in {store}" for key in evidence if key not in keys[store]]
    return Asked(
        **{
            **given,
            "id": id,
            "store": store,
            "category": str(given.get("category", "all")),
            "evidence": known,
            "sessions": tuple(given.get("sessions", ())),
            "now": _moment(where, given.get("now")),
        }
    )


def _check(where: str, given: Any, known: set[str], *, needed: tuple[str, ...]) -> None:
    if not isinstance(given, dict):
        raise EvalError(f"{where} is not an object.")
    if missing := [name for name in needed if name not in given]:
        raise EvalError(f"{where} has no {', '.join(missing)}.")
    if unknown := sorted(set(given) - known):
        raise EvalError(f"{where}: {', '.join(unknown)} is not known; known are {', '.join(sorted(known))}.")


def _moment(where: str, given: Any) -> Any:
    if given is None:
        return None
    read = moment(str(given))
    if read is None:
        raise EvalError(f"{where}: {given!r} is not a date.")
    return read
