"""Open ONNX models fast: optimise a graph once, keep the result, and load that the next time.

A session has threads, which fork() does not copy: in a child an inherited session may wait for them for ever, also when
it is freed. There it is never used or freed, and whoever had it opens another. A fork waits for models that are being
loaded: the child could not finish what a thread of its parent had begun to import.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from threading import get_ident
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import ModelError
from recollect.core.forking import MODELS, Use, in_use, never_free, on_fork
from recollect.core.private import FILE_MODE
from recollect.inference.cache import cache_folder, is_trusted, trust

# onnxruntime's "fatal": it would warn that an optimised graph holds for one kind of CPU; our key names it.
SILENT = 4


class Session(Protocol):
    """The part of onnxruntime.InferenceSession that is used here."""

    def run(self, outputs: list[str], feeds: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


class HoldsSessions(Protocol):
    """Whoever keeps sessions for later."""

    def forget_sessions(self) -> None:
        """Open sessions anew when they are next needed, and locks that another thread may have held."""
        ...


_sessions: WeakSet[Session] = WeakSet()
_holders: WeakSet[HoldsSessions] = WeakSet()


def register(holder: HoldsSessions) -> None:
    """Have a holder forget its sessions in a forked child."""
    _holders.add(holder)


def loading() -> AbstractContextManager[None]:
    """Keep the process from forking while a model and what belongs to it are loaded."""
    return in_use(MODELS)


def load_runtime() -> Any:
    """Import onnxruntime without its reports."""
    # Unasked it tells its maker what runs here, and keeps an id of the machine. Who wants that sets it to 0.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return import_module("onnxruntime")


def open_session(model: Path, *, sha256: str, threads: int) -> Session:
    """Open a model, from its optimised graph where one is kept; both give the same numbers."""
    runtime = load_runtime()
    key = _graph_key(sha256, runtime.__version__)
    folder = cache_folder("graphs")
    graph = folder / f"{key}.onnx" if folder else None
    if graph and is_trusted(graph, key):
        # A graph that was cut off or replaced is made again below.
        with contextlib.suppress(Exception):
            return _open(runtime, graph, threads, optimise=False)
    try:
        if graph:
            with contextlib.suppress(OSError):
                return _open_and_keep(runtime, model, threads, graph, key)
        return _open(runtime, model, threads, optimise=True)
    except Exception as error:
        # onnxruntime has no common error class of its own.
        raise ModelError(f"onnxruntime {runtime.__version__} can't run {model.name}: {error}") from error


def _open_and_keep(runtime: Any, model: Path, threads: int, graph: Path, key: str) -> Session:
    # Written beside it and moved: another process sees a whole graph or none.
    draft = graph.with_suffix(f".{os.getpid()}-{get_ident()}.draft")
    try:
        try:
            session = _open(runtime, model, threads, optimise=True, keep=draft)
        except Exception:
            # Perhaps only the writing failed (a full disk), and onnxruntime does not say which.
            return _open(runtime, model, threads, optimise=True)
        draft.chmod(FILE_MODE)
        draft.replace(graph)
        trust(graph, key)
        return session
    finally:
        draft.unlink(missing_ok=True)


def _open(runtime: Any, path: Path, threads: int, *, optimise: bool, keep: Path | None = None) -> Session:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait in a loop answer one millisecond sooner, and take 25 of processor time a question from others.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = SILENT
    levels = runtime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    if keep:
        options.optimized_model_filepath = os.fspath(keep)
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


def _in_child(_: Sequence[Use]) -> None:
    for session in list(_sessions):
        never_free(session)
    _sessions.clear()
    for holder in list(_holders):
        holder.forget_sessions()


on_fork(in_child=_in_child)
