"""Wrong values for every parameter of every public method: an error of ours, or none."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from datetime import date, datetime
from operator import attrgetter
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import EverywordError, InvalidInput, InvalidSetting
from everyword.memory import parts
from everyword.types.events import Report

WRONG = (
    *(None, True, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "\x00"),
    *("x" * 5000, b"x", complex(1, 2)),
    *([], [1], [None], {}, {1: 2}, set[int](), object(), int, range(3), datetime(1, 1, 1), date(9999, 12, 31)),
)
ENDLESS = {"admin.follow", "watch"}  # they go on until they are told to stop
SLOW = {"admin.rebuild", "admin.verify", "admin.settle"}  # a few values say as much


def _methods() -> Iterator[str]:
    for part, kind in {"": Memory, **parts()}.items():
        for name, _ in inspect.getmembers(kind, callable):
            if not name.startswith("_") and name not in ("open", "close"):
                yield f"{part}.{name}".removeprefix(".")


@pytest.mark.slow
def test_no_call_with_wrong_values_leaks_an_error_of_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls, leaks = 0, list[str]()
    stop = threading.Event()
    stop.set()
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("I live in Lisbon.", speaker="Ana", session="s")
        for name in _methods():
            parameters = inspect.signature(attrgetter(name)(memory)).parameters
            needed = {one.name: "x" for one in parameters.values() if _is_needed(one)}
            if "stop" in parameters:
                needed["stop"] = stop
            for parameter in parameters.values():
                if parameter.kind is parameter.VAR_KEYWORD or (name in ENDLESS and parameter.name == "stop"):
                    continue
                for value in WRONG[:: 5 if name in SLOW else 1]:
                    calls += 1
                    try:
                        result = attrgetter(name)(memory)(**{**needed, parameter.name: value})
                        if inspect.isgenerator(result) and name not in ENDLESS:
                            list(result)
                    except EverywordError:
                        pass
                    except Exception as error:
                        leaks.append(f"{name}({parameter.name}={value!r:.20}): {type(error).__name__}: {error}")
    assert calls > 2_000
    assert leaks == []


def test_the_error_names_the_argument() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("I live in Lisbon.", speaker="Ana")
        with pytest.raises(InvalidInput, match="limit"):
            memory.recall("Lisbon", limit=object())  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="about must be str or None, not 50000"):
            memory.statements(about=50_000)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["reader", "tokenizer", "models"])
def test_a_setting_of_a_wrong_type_is_told_at_once(name: str) -> None:
    with pytest.raises(InvalidSetting, match=name):
        Memory.open(":memory:", embedder="none", **{name: 5})  # type: ignore[arg-type]


def test_an_error_of_the_callers_own_code_is_passed_on() -> None:
    class Mine(KeyError):
        pass

    def progress(_what: str, _done: int, _total: int) -> None:
        raise Mine

    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("I live in Lisbon.", speaker="Ana")
        with pytest.raises(Mine):
            memory.admin.rebuild(progress=progress)


def test_a_store_is_audited_seldom_and_not_for_a_wrong_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: Exception) -> None:
        raise error

    with Memory.open(":memory:", embedder="none") as memory:
        memory.add("I live in Lisbon.", speaker="Ana")
        audits = list[bool]()

        def audit(_: object, *, deep: bool) -> Report:
            audits.append(deep)
            return Report(checked={})

        monkeypatch.setattr(type(memory.scope.engine.store), "audit", audit)
        for error in (TypeError("no len"), AttributeError("no get")):
            with pytest.raises(type(error), match="no "):
                memory.admin.rebuild(progress=lambda *_, error=error: fail(error))
        assert audits == []
        for _ in range(3):
            with pytest.raises(KeyError):
                memory.admin.rebuild(progress=lambda *_: fail(KeyError()))
        assert len(audits) == 1


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
