"""A trained model as the product's Embedder, to measure it where the borrowed one stands.

from training.embedder import Trained
Memory.open("memory.db", Trained(folder))          # folder: model.onnx, tokenizer.json, codec.npz
python -m training.measure FOLDER locomo --data ... --json ...
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from everyword.models.protocol import Matches, ModelCard, Passage, Question
from everyword.models.token_codec import TokenCodec, to_int8

QUESTION, PASSAGE = 1, 2  # the token after [CLS]
MAX_TOKENS = 512
MAX_CHARACTERS = 16 * MAX_TOKENS
FORM = b"no duplicates dropped"  # what else decides which vectors are stored; part of the version
MARKERS = (0, 1, 2, 101, 102)
PUNCTUATION = "[]():;,.!?-'\"/…–—“”‘’*#_`~|<>{}"  # matches nothing that a question asks for; trained without them

Floats = NDArray[np.float32]


class Trained:
    """Encode on the CPU, one text at a time, several at once on as many cores."""

    def __init__(self, folder: str | os.PathLike[str], *, threads: int | None = None) -> None:
        base = Path(folder)
        self._threads = threads or os.cpu_count() or 1
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._single = _open(base / "model.onnx", self._threads)
        self._parallel = _open(base / "model.onnx", 1)
        known = [self._tokenizer.token_to_id(one) for one in PUNCTUATION]
        self._dropped = np.array([*MARKERS, *(one for one in known if one is not None)])
        content = (base / "codec.npz").read_bytes() if (base / "codec.npz").exists() else b""
        self._codec = TokenCodec.read(content) if content else None
        version = hashlib.sha256(FORM + (base / "model.onnx").read_bytes() + content).hexdigest()[:8]
        outputs = {one.name: one.shape for one in self._single.get_outputs()}
        self._outputs = ["tokens", "pooled", *(["weights"] if "weights" in outputs else [])]
        self._card = ModelCard(
            name="trained", version=version, dims=outputs["pooled"][0], token_dims=outputs["tokens"][1]
        )

    @property
    def card(self) -> ModelCard:
        """Say what these vectors are comparable with."""
        return self._card

    @property
    def codec(self) -> TokenCodec:
        """Give the codec of the stored tokens."""
        assert self._codec is not None, "Run python -m training.fit first."
        return self._codec

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        return [Passage(pooled=to_int8(pooled), tokens=self.codec.pack(tokens)) for tokens, pooled in self.kept(texts)]

    def kept(self, texts: Sequence[str]) -> list[tuple[Floats, Floats]]:
        """Give of each text the token vectors that are worth storing, and the pooled vector."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._kept, texts))

    def question(self, text: str) -> Question:
        """Encode a question; its token vectors are as long as the tokens count, if the model says so."""
        ids = self._ids(text, QUESTION)
        tokens, pooled, *weights = self._single.run(self._outputs, {"input_ids": ids})
        return Question(pooled=pooled, tokens=tokens * weights[0][:, None] if weights else tokens)

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Find for each token of the question the nearest one of each packed passage."""
        return self.codec.matches(question.tokens, passages)

    def _kept(self, text: str) -> tuple[Floats, Floats]:
        ids = self._ids(text, PASSAGE)
        tokens, pooled = self._parallel.run(["tokens", "pooled"], {"input_ids": ids})
        keep = ~np.isin(ids, self._dropped)
        return tokens[keep] if keep.any() else tokens[:1], pooled

    def _ids(self, text: str, marker: int) -> NDArray[np.int64]:
        clean = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode()
        start, *words, end = self._tokenizer.encode(clean).ids
        return np.array([start, marker, *words[: MAX_TOKENS - 3], end], np.int64)


def _open(path: Path, threads: int) -> Any:
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return runtime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
