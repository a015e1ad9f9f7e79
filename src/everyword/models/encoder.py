"""Run the transformer of a late-interaction model on texts, one text per run."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from enum import IntEnum
from functools import partial
from threading import Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everyword.errors import EmbeddingFailed, EverywordError
from everyword.fair_semaphore import FairSemaphore
from everyword.models.onnx import OpenedOnce, Session, load_runtime, open_session
from everyword.models.protocol import well_formed
from everyword.models.token_codec import unit
from everyword.models.tokenizers import open_tokenizer, unread_share
from everyword.models.weights import MODEL, TOKENIZER, ModelFiles

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


class TextEncoder(ABC):
    """Run a model on one text at a time: with int8 weights a text's vectors depend on the rest of its batch."""

    def __init__(self, files: ModelFiles) -> None:
        self._files = files
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
            return self._infer(session, row)
        except Exception as error:  # onnxruntime has no common error class
            raise EmbeddingFailed(f"The model failed on a text of {len(words)} tokens: {error}") from error

    def _run_in_slot(self, session: Session, slots: FairSemaphore, marker: Marker, text: str) -> Encoded:
        with slots.slot():
            return self._run(session, marker, text)

    @abstractmethod
    def _infer(self, session: Session, ids: NDArray[np.int64]) -> Encoded:
        """Run the model on the ids of one text."""


class TokenEncoder(TextEncoder):
    """Return the states of a text's tokens, markers included; there is no pooled vector."""

    def _infer(self, session: Session, ids: NDArray[np.int64]) -> Encoded:
        row = ids[None]
        feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        return Encoded(ids, unit(session.run(["last_hidden_state"], feeds)[0][0]), np.empty(0, np.float32))


class TwoHeadEncoder(TextEncoder):
    """Return projected token vectors and the pooled vector from one pass."""

    def _infer(self, session: Session, ids: NDArray[np.int64]) -> Encoded:
        tokens, pooled = session.run(["tokens", "pooled"], {"input_ids": ids})
        return Encoded(ids, tokens, pooled)


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
