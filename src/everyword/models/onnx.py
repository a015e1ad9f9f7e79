"""Open ONNX models, and run a model on several inputs at once.

Optimised graphs are kept in the user's cache: a model opens several times faster from one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from threading import get_ident
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from everyword.errors import ModelError
from everyword.fork_safety import MODELS, Use, in_use, never_free, on_fork
from everyword.models.weights import cache_folder, remember_verified, was_verified
from everyword.private_files import FILE_MODE

# onnxruntime's "fatal": it would warn that an optimised graph fits only one kind of CPU; our cache key names the CPU.
LOG_FATAL_ONLY = 4


class Session(Protocol):
    """The part of onnxruntime.InferenceSession that is used here."""

    def run(self, outputs: list[str], feeds: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


class SessionHolder(Protocol):
    """An object that keeps open sessions."""

    def forget_sessions(self) -> None:
        """Drop open sessions, and locks that another thread may have held; both are made anew when needed."""
        ...


_sessions: WeakSet[Session] = WeakSet()
_holders: WeakSet[SessionHolder] = WeakSet()


def open_session(model: Path, *, sha256: str, threads: int) -> Session:
    """Open a model, from its cached optimised graph if there is one; both compute the same numbers."""
    runtime = load_runtime()
    key = _graph_key(sha256, runtime.__version__)
    folder = cache_folder("graphs")
    graph = folder / f"{key}.onnx" if folder else None
    if graph and was_verified(graph, key):
        # A truncated or replaced graph is made again below.
        with contextlib.suppress(Exception):
            return _open(runtime, graph, threads, optimise=False)
    try:
        if graph:
            # Perhaps only the writing fails (a full disk); onnxruntime does not say.
            with contextlib.suppress(Exception):
                return _open_and_cache(runtime, model, threads, graph, key)
        return _open(runtime, model, threads, optimise=True)
    except Exception as error:
        # onnxruntime has no common error class.
        raise ModelError(f"onnxruntime {runtime.__version__} can't run {model.name}: {error}") from error


def load_runtime() -> Any:
    """Import onnxruntime with its telemetry off, unless the user set ORT_DISABLE_TELEMETRY=0."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


def register(holder: SessionHolder) -> None:
    """Make a forked child call the holder's forget_sessions()."""
    _holders.add(holder)


def loading() -> AbstractContextManager[None]:
    """Prevent the process from forking while a model loads."""
    return in_use(MODELS)


def _open_and_cache(runtime: Any, model: Path, threads: int, graph: Path, key: str) -> Session:
    # Written to a draft and moved, so that another process sees a complete graph or none.
    draft = graph.with_suffix(f".{os.getpid()}-{get_ident()}.draft")
    try:
        session = _open(runtime, model, threads, optimise=True, save_to=draft)
        draft.chmod(FILE_MODE)
        draft.replace(graph)
        remember_verified(graph, key)
        return session
    finally:
        draft.unlink(missing_ok=True)


def _open(runtime: Any, path: Path, threads: int, *, optimise: bool, save_to: Path | None = None) -> Session:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads answer 1 ms sooner but take 25 ms of processor time per question from other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = LOG_FATAL_ONLY
    levels = runtime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    if save_to:
        options.optimized_model_filepath = os.fspath(save_to)
    session: Session = runtime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    _sessions.add(session)
    return session


def _graph_key(sha256: str, runtime_version: str) -> str:
    machine = f"{platform.system()} {platform.machine()} {_cpu_features()}"
    return f"{sha256[:12]}-{runtime_version}-{hashlib.sha256(machine.encode()).hexdigest()[:12]}"


def _cpu_features() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        return platform.processor()


def _in_forked_child(_: Sequence[Use]) -> None:
    # onnxruntime's threads do not exist in the child: freeing a session there would wait for them for ever.
    for session in list(_sessions):
        never_free(session)
    _sessions.clear()
    for holder in list(_holders):
        holder.forget_sessions()


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
        return [first, *(one.result() for one in running)]
