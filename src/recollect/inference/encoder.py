"""Text to vectors: the transformer of a late-interaction model, one text at a time."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from enum import IntEnum
from functools import partial
from threading import Lock, Thread
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import EmbeddingFailed, RecollectError
from recollect.inference.codec import unit
from recollect.inference.sessions import Session, load_runtime, loading, open_session, register
from recollect.inference.text import well_formed
from recollect.inference.tokens import Encoding, open_tokenizer
from recollect.inference.weights import ModelFiles

MAX_TOKENS = 512  # positions that the model has
# Cut before tokenising, so that a text of megabytes costs nothing: no 512 tokens of prose are this long.
MAX_CHARACTERS = 16 * MAX_TOKENS
# Threads that share one text: a sentence is too little work to split among many.
MAX_THREADS_A_TEXT = 4
MAX_TEXTS_AT_ONCE = 8
# The second session takes .13 s to open and saves 2.5 ms a text on two cores, more on more of them.
MANY_TEXTS = 32
_UNKNOWN, _CONTINUES = "[UNK]", "##"  # how WordPiece writes a word that it has no token for, and a piece within a word


class Marker(IntEnum):
    """The token after [CLS] by which the model knows the kind of text; leaving it out cost .005 of recall."""

    QUESTION = 1
    PASSAGE = 2


Floats = NDArray[np.float32]
Made = TypeVar("Made")


class FairSlots:
    """A semaphore whose slots go to whoever waits longest.

    threading.Semaphore lets the thread that releases a slot take it again before one that waits wakes up.
    """

    def __init__(self, slots: int) -> None:
        self._lock = Lock()
        self._free = slots
        self._waiting: deque[Lock] = deque()

    @contextlib.contextmanager
    def one(self) -> Generator[None]:
        """Hold a slot."""
        turn = Lock()
        with self._lock:
            if self._free:
                self._free -= 1
            else:
                turn.acquire()
                self._waiting.append(turn)
        with turn:  # released by whoever hands its slot on
            pass
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().release()
                else:
                    self._free += 1


class TextEncoder(Generic[Made]):
    """Run a model, one text at a time: with int8 weights a text's vectors depend on its batch neighbours."""

    def __init__(self, files: ModelFiles) -> None:
        self._files = files
        self.forget_sessions()
        register(self)

    def forget_sessions(self) -> None:
        self._lock = Lock()
        self._single: Session | None = None
        self._parallel: Session | None = None
        self._slots = FairSlots(_texts_at_once())

    def load(self) -> None:
        """Load what one text needs, if that was not done."""
        self._single_session()

    def one(self, text: str, marker: Marker) -> Made:
        """Encode a text."""
        return self._run(self._single_session(), marker, text)

    def many(self, texts: Sequence[str], marker: Marker) -> Iterator[Made]:
        """Encode each text in turn, several texts at a time on as many cores.

        Calls with many texts share the cores text by text. Those with few, as a question or a short event, never wait
        for them.
        """
        workers = _texts_at_once()
        if len(texts) < MANY_TEXTS or workers == 1:
            session = self._single_session()
            yield from (self._run(session, marker, text) for text in texts)
            return
        # Imported here: a process that only asks questions should not pay for it.
        from concurrent.futures import ThreadPoolExecutor

        session = self._parallel_session()
        self._load_tokenizer()
        with ThreadPoolExecutor(workers, thread_name_prefix="recollect-encode") as pool:
            yield from pool.map(partial(self._run_in_slot, session, marker), texts)

    def unread(self, text: str) -> float:
        """Tell the share of a text's words that the model does not know."""
        if text.isascii():
            return 0.0
        words = well_formed(text[:MAX_CHARACTERS])
        return _unread(words, open_tokenizer(self._files.paths["tokenizer.json"]).encode(words))

    def _run(self, session: Session, marker: Marker, text: str) -> Made:
        encoder = open_tokenizer(self._files.paths["tokenizer.json"])
        start, *words, end = encoder.encode(well_formed(text[:MAX_CHARACTERS])).ids
        row = np.array([start, marker, *words[: MAX_TOKENS - 3], end], np.int64)
        try:
            return self._made(session, row)
        except Exception as error:  # onnxruntime has no common error class of its own
            raise EmbeddingFailed(f"The model failed on a text of {len(words)} tokens: {error}") from error

    def _run_in_slot(self, session: Session, marker: Marker, text: str) -> Made:
        with self._slots.one():
            return self._run(session, marker, text)

    def _made(self, session: Session, ids: NDArray[np.int64]) -> Made:
        """Run the model on the ids of a text."""
        raise NotImplementedError

    def _single_session(self) -> Session:
        if self._single is not None:
            return self._single
        with loading(), self._lock:
            if self._single is None:
                # Imported before the thread starts: two imports at a time only delay each other.
                load_runtime()
                # The model loads without the interpreter's lock, which leaves room for the tokenizer.
                tokenizer = Thread(target=self._load_tokenizer)
                tokenizer.start()
                self._single = self._open(min(os.cpu_count() or 1, MAX_THREADS_A_TEXT))
                tokenizer.join()
            return self._single

    def _parallel_session(self) -> Session:
        if self._parallel is not None:
            return self._parallel
        # One thread a text and a text a core is the best throughput; one session serves all threads.
        with loading(), self._lock:
            if self._parallel is None:
                self._parallel = self._open(1)
            return self._parallel

    def _open(self, threads: int) -> Session:
        model = "model.onnx"
        return open_session(self._files.paths[model], sha256=self._files.sha256[model], threads=threads)

    def _load_tokenizer(self) -> None:
        # What fails here fails again, and is reported, when the tokenizer is used.
        with contextlib.suppress(RecollectError):
            open_tokenizer(self._files.paths["tokenizer.json"])


class TokenEncoder(TextEncoder[Floats]):
    """A model that gives a state for each token."""

    def states(self, text: str, marker: Marker) -> Floats:
        """Give the states of a text's tokens, markers included, each of unit length."""
        return self.one(text, marker)

    def many_states(self, texts: Sequence[str], marker: Marker) -> Iterator[Floats]:
        """Give the states of each text in turn."""
        return self.many(texts, marker)

    def _made(self, session: Session, ids: NDArray[np.int64]) -> Floats:
        row = ids[None]
        feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        return unit(session.run(["last_hidden_state"], feeds)[0][0])


class Encoded(NamedTuple):
    """What a model with two heads gives of a text, each vector of unit length."""

    ids: NDArray[np.int64]  # (tokens,), markers included
    tokens: Floats  # (tokens, token_dims)
    pooled: Floats  # (dims,)


class TwoHeadEncoder(TextEncoder[Encoded]):
    """A model that gives token vectors as they are stored, and the pooled vector, in one pass."""

    def _made(self, session: Session, ids: NDArray[np.int64]) -> Encoded:
        tokens, pooled = session.run(["tokens", "pooled"], {"input_ids": ids})
        return Encoded(ids, tokens, pooled)


def _texts_at_once() -> int:
    return min(os.cpu_count() or 1, MAX_TEXTS_AT_ONCE)


def _unread(text: str, encoding: Encoding) -> float:
    """Tell the share of words that have no token of their own, or are spelled letter by letter.

    A vocabulary of English has the letters of other alphabets, so that their words are no unknown ones; but single
    letters are no more to the model than what they look like.
    """
    known: dict[int, bool] = {}
    for token, (start, end), word in zip(encoding.tokens, encoding.offsets, encoding.word_ids, strict=True):
        if word is not None and any(map(str.isalnum, text[start:end])):
            piece = token.removeprefix(_CONTINUES)
            known[word] = known.get(word, False) or not (token == _UNKNOWN or (len(piece) == 1 and not piece.isascii()))
    return 1 - sum(known.values()) / len(known) if known else 0.0
