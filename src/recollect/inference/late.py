"""The default embedder: answerai-colbert-small-v1, whose token vectors are compared one by one (MaxSim)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.inference.codec import to_int8
from recollect.inference.encoder import Marker, TokenEncoder
from recollect.inference.late_model import LateModel
from recollect.inference.protocol import ModelCard, Passage, Question
from recollect.inference.weights import COLBERT_SMALL, find_model

CODEC_FILE = Path(__file__).parent / "codecs" / "colbert-small.npz"
TOKEN_DIMS = 96
POOLED_DIMS = 128
FORM = b"markers dropped"  # what else decides which vectors are stored; part of the version


class ColbertSmall(LateModel):
    """Encode on the CPU, offline."""

    def __init__(self, *, folder: str | os.PathLike[str] | None = None) -> None:
        found = find_model(COLBERT_SMALL, folder=folder)
        self._encoder = TokenEncoder(found)
        codec = CODEC_FILE.read_bytes()
        identity = found.sha256["model.onnx"] + found.sha256["tokenizer.json"]
        version = hashlib.sha256(FORM + identity.encode() + codec).hexdigest()[:8]
        card = ModelCard(name=COLBERT_SMALL.name, version=version, dims=POOLED_DIMS, token_dims=TOKEN_DIMS)
        super().__init__(card, self._encoder, codec)

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
        return Question(
            pooled=self._codec.pooled(states), tokens=self._codec.tokens(states), unread=self._encoder.unread(text)
        )


def _without_markers(states: NDArray[np.float32]) -> NDArray[np.float32]:
    # [CLS], the passage marker and [SEP] stand for the whole text. Stored, they are a twentieth of the bytes, and
    # recall is the same without them.
    return states[2:-1] if len(states) > 3 else states
