"""Open ONNX models, and run a model on several inputs at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from everyword.errors import ModelError
from everyword.fork_safety import MODELS, Use, in_use, never_free, on_fork

LOG_FATAL_ONLY = 4  # errors are raised as well


class Session(Protocol):
    """The part of onnxruntime.InferenceSession that is used here."""

    def run(self, outputs: list[str], feeds: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


Opened = TypeVar("Opened")


class OpenedOnce(Generic[Opened]):
    """Opens a session when it is first needed, whichever thread needs it; a forked child opens its own.

    The function must not hold the owner of this, which would keep the model in memory after its last use.
    """

    def __init__(self, opening: Callable[[], Opened]) -> None:
        self._opening = opening
        self.forget()
        _opened.add(self)

    def forget(self) -> None:
        """Drop what is open, and a lock that another thread may have held; both are made anew when needed."""
        self._lock = Lock()
        self._held: Opened | None = None

    def get(self) -> Opened:
        if self._held is not None:
            return self._held
        # The process must not fork while a model loads.
        with in_use(MODELS), self._lock:
            if self._held is None:
                self._held = self._opening()
            return self._held


_sessions: WeakSet[Session] = WeakSet()
_opened: WeakSet[OpenedOnce[Any]] = WeakSet()


def open_session(model: Path, *, threads: int) -> Session:
    runtime = load_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads answer 1 ms sooner but take 25 ms of processor time per question from other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = LOG_FATAL_ONLY
    try:
        session: Session = runtime.InferenceSession(os.fspath(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # onnxruntime has no common error class.
        raise ModelError(f"onnxruntime {runtime.__version__} can't run {model.name}: {error}") from error
    _sessions.add(session)
    return session


def load_runtime() -> Any:
    """Import onnxruntime with its telemetry off, unless the user set ORT_DISABLE_TELEMETRY=0."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


def _in_forked_child(_: Sequence[Use]) -> None:
    # onnxruntime's threads do not exist in the child: freeing a session there would wait for them for ever.
    for session in list(_sessions):
        never_free(session)
    _sessions.clear()
    for one in list(_opened):
        one.forget()


on_fork(in_child=_in_forked_child)


A = TypeVar("A")
B = TypeVar("B")

MOST_THREADS = 4  # other work goes on beside


def each(work: Callable[[A], B], inputs: Sequence[A]) -> list[B]:
    """Call a function with each input, on several threads; the results are in the order of the inputs.

    The first call runs on this thread and loads the model. A load on another thread would wait for a fork in progress,
    which waits for this thread.
    """
    threads = min(os.cpu_count() or 1, MOST_THREADS, len(inputs) - 1)
    if threads < 2:
        return [work(one) for one in inputs]
    first, rest = work(inputs[0]), inputs[1:]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, thread_name_prefix="everyword-model") as pool:
        try:
            running = [pool.submit(work, one) for one in rest]
        except RuntimeError:  # the interpreter is about to end, and starts no more threads
            return [first, *(work(one) for one in rest)]
        try:
            return [first, *(one.result() for one in running)]
        except BaseException:  # Ctrl-C waits for the inputs that are under way, and for no more
            pool.shutdown(wait=False, cancel_futures=True)
            raise
