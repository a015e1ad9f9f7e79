"""Running a model on several inputs at once."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from everyword.models import onnx
from everyword.models.onnx import each


def test_results_have_the_order_of_the_inputs_and_come_from_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.os, "cpu_count", lambda: 4)
    together = threading.Barrier(4, timeout=10)

    def work(number: int) -> tuple[int, str]:
        if number:
            together.wait()  # passes only if four run at once
        return number * 2, threading.current_thread().name

    results = each(work, [0, 4, 1, 3, 2])
    assert [number for number, _ in results] == [0, 8, 2, 6, 4]
    assert len({name for _, name in results}) == 5
    assert results[0][1] == threading.current_thread().name  # so that a fork waits for what the first one loads


@pytest.mark.parametrize("cores", [1, 4])
def test_an_error_reaches_the_caller(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(onnx.os, "cpu_count", lambda: cores)
    with pytest.raises(ZeroDivisionError):
        each(lambda number: 1 // number, [1, 0, 2])


def test_it_works_while_the_interpreter_ends() -> None:
    script = """
import threading, time, concurrent.futures.thread
from everyword.models import onnx
onnx.os.cpu_count = lambda: 2
def late():
    while not concurrent.futures.thread._shutdown:
        time.sleep(0.01)
    print(onnx.each(lambda one: one + 1, [1, 2, 3]), flush=True)
threading.Thread(target=late).start()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[2, 3, 4]\n", done.stderr
