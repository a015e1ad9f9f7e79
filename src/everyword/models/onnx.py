"""Open ONNX models, encode texts with a transformer, and run a model on several inputs at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from enum import IntEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from everyword.errors import EmbeddingFailed, EverywordError, ModelError
from everyword.fair_semaphore import FairSemaphore
from everyword.fork_safety import MODELS, Use, in_use, never_free, on_fork
from everyword.models.token_codec import unit
from everyword.models.tokenizers import open_tokenizer, unread_share
from everyword.models.weights import MODEL, TOKENIZER, ModelFiles
from everyword.text.terms import well_formed

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


MAX_TOKENS = 512  # the model's positions
# Texts are cut before tokenising, so that megabytes cost nothing: 512 tokens of prose are never this long.
MAX_CHARACTERS = 16 * MAX_TOKENS
MAX_THREADS_PER_TEXT = 4  # a sentence is too little work for more
MAX_TEXTS_AT_ONCE = 8
# From this many texts on, a second session pays off: it opens in .13 s and saves 2.5 ms per text on two cores.
MANY_TEXTS = 32


class Marker(IntEnum):
    """The token after [CLS] that tells the model the kind of text; without it recall falls by .005."""

    QUESTION = 1
    PASSAGE = 2


Floats = NDArray[np.float32]


class Encoded(NamedTuple):
    """What a model gives for one text; each vector has unit length."""

    ids: NDArray[np.int64]  # (tokens,), markers included
    tokens: Floats  # (tokens, token_dims)
    pooled: Floats  # (dims,)


Run = Callable[[Session, NDArray[np.int64]], Encoded]  # runs a model on the ids of one text


def token_states(session: Session, ids: NDArray[np.int64]) -> Encoded:
    """Run a model that gives the states of a text's tokens, markers included; there is no pooled vector."""
    row = ids[None]
    feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
    return Encoded(ids, unit(session.run(["last_hidden_state"], feeds)[0][0]), np.empty(0, np.float32))


def tokens_and_pooled(session: Session, ids: NDArray[np.int64]) -> Encoded:
    """Run a model that gives projected token vectors and the pooled vector in one pass."""
    tokens, pooled = session.run(["tokens", "pooled"], {"input_ids": ids})
    return Encoded(ids, tokens, pooled)


class TextEncoder:
    """Run a model on one text at a time: with int8 weights a text's vectors depend on the rest of its batch."""

    def __init__(self, files: ModelFiles, run: Run) -> None:
        self._files = files
        self._run_model = run
        self._single = OpenedOnce(partial(_open_for_one, files))
        self._parallel = OpenedOnce(partial(_open_for_many, files))

    def load(self) -> None:
        """Load the model and its tokenizer if they are not loaded."""
        self._single.get()

    def encode(self, text: str, marker: Marker) -> Encoded:
        """Encode a text."""
        return self._run(self._single.get(), marker, text)

    def encode_many(self, texts: Sequence[str], marker: Marker) -> Generator[Encoded]:
        """Encode texts in order, with many texts one per core in parallel.

        Large calls share the cores text by text. Small ones, such as a question or a short event, never wait for them.
        """
        workers = _texts_at_once()
        if len(texts) < MANY_TEXTS or workers == 1:
            session = self._single.get()
            yield from (self._run(session, marker, text) for text in texts)
            return
        # Imported here: a process that only asks questions does not need it.
        from concurrent.futures import ThreadPoolExecutor

        session, slots = self._parallel.get()
        _load_tokenizer(self._files)
        with ThreadPoolExecutor(workers, thread_name_prefix="everyword-encode") as pool:
            yield from pool.map(partial(self._run_in_slot, session, slots, marker), texts)

    def unread(self, text: str) -> float:
        """Compute the share of a text's words that the model does not know."""
        if text.isascii():
            return 0.0
        words = well_formed(text[:MAX_CHARACTERS])
        return unread_share(words, open_tokenizer(self._files.paths[TOKENIZER]).encode(words))

    def _run(self, session: Session, marker: Marker, text: str) -> Encoded:
        encoder = open_tokenizer(self._files.paths[TOKENIZER])
        start, *words, end = encoder.encode(well_formed(text[:MAX_CHARACTERS])).ids
        row = np.array([start, marker, *words[: MAX_TOKENS - 3], end], np.int64)
        try:
            return self._run_model(session, row)
        except Exception as error:  # onnxruntime has no common error class
            raise EmbeddingFailed(f"The model failed on a text of {len(words)} tokens: {error}") from error

    def _run_in_slot(self, session: Session, slots: FairSemaphore, marker: Marker, text: str) -> Encoded:
        with slots.slot():
            return self._run(session, marker, text)


def _open_for_one(files: ModelFiles) -> Session:
    # Imported before the thread starts: two imports at once delay each other.
    load_runtime()
    # The model loads without the GIL, so the tokenizer loads in parallel.
    tokenizer = Thread(target=_load_tokenizer, args=(files,))
    tokenizer.start()
    session = open_session(files.paths[MODEL], threads=min(os.cpu_count() or 1, MAX_THREADS_PER_TEXT))
    tokenizer.join()
    return session


def _open_for_many(files: ModelFiles) -> tuple[Session, FairSemaphore]:
    # One thread per text and one text per core gives the best throughput; all threads share one session.
    return open_session(files.paths[MODEL], threads=1), FairSemaphore(_texts_at_once())


def _load_tokenizer(files: ModelFiles) -> None:
    # An error here comes again, and is reported, when the tokenizer is used.
    with contextlib.suppress(EverywordError):
        open_tokenizer(files.paths[TOKENIZER])


def _texts_at_once() -> int:
    return min(os.cpu_count() or 1, MAX_TEXTS_AT_ONCE)


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
