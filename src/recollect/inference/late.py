"""The default embedder: answerai-colbert-small-v1, whose token vectors are compared one by one (MaxSim)."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import RecollectError
from recollect.inference.codec import LateCodec, to_int8
from recollect.inference.encoder import Marker, TokenEncoder
from recollect.inference.protocol import Matches, ModelCard, Passage, Question
from recollect.inference.weights import COLBERT_SMALL, find_model

CODEC_FILE = Path(__file__).parent / "codecs" / "colbert-small.npz"
TOKEN_DIMS = 96
POOLED_DIMS = 128
FORM = b"markers dropped"  # what else decides which vectors are stored; part of the version


class ColbertSmall:
    """Encode on the CPU, offline. Finding the files is done at once, loading them when first needed."""

    def __init__(self, *, folder: str | os.PathLike[str] | None = None) -> None:
        found = find_model(COLBERT_SMALL, folder=folder)
        self._codec_bytes = CODEC_FILE.read_bytes()
        self._encoder = TokenEncoder(found)
        self._warmed = False
        identity = found.sha256["model.onnx"] + found.sha256["tokenizer.json"]
        version = hashlib.sha256(FORM + identity.encode() + self._codec_bytes).hexdigest()[:8]
        self._card = ModelCard(name=COLBERT_SMALL.name, version=version, dims=POOLED_DIMS, token_dims=TOKEN_DIMS)

    @property
    def card(self) -> ModelCard:
        """Say what these vectors are comparable with."""
        return self._card

    def warm(self) -> None:
        """Begin to load in the background; a call that comes too early waits for it."""
        if self._warmed:
            return
        self._warmed = True
        # Not a daemon: onnxruntime must not be torn down in the middle of loading.
        Thread(target=self._load, name="recollect-warm").start()

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        return [
            Passage(pooled=to_int8(self._codec.pooled(states)), tokens=self._codec.pack(_without_markers(states)))
            for states in self._encoder.many_states(texts, Marker.PASSAGE)
        ]

    def question(self, text: str) -> Question:
        """Encode a question."""
        self._warmed = True
        states = self._encoder.states(text, Marker.QUESTION)
        return Question(pooled=self._codec.pooled(states), tokens=self._codec.tokens(states))

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Find for each token of the question the nearest one of each packed passage."""
        return self._codec.matches(question.tokens, passages)

    def _load(self) -> None:
        # What fails here fails again, and is reported, in the call that needs it.
        with contextlib.suppress(RecollectError):
            _ = self._codec
            self._encoder.load()

    @cached_property
    def _codec(self) -> LateCodec:
        return LateCodec.read(self._codec_bytes)


def _without_markers(states: NDArray[np.float32]) -> NDArray[np.float32]:
    # [CLS], the passage marker and [SEP] stand for the whole text. Stored, they are a twentieth of the bytes, and
    # recall is the same without them.
    return states[2:-1] if len(states) > 3 else states
