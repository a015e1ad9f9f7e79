"""Recollect's own embedder: six layers, one pass for both outputs, twice as fast as the default.

The weights are a package of their own, recollect-models; its README says how they were made and what they are worth.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.inference.codec import to_int8
from recollect.inference.encoder import Encoded, Marker, TwoHeadEncoder
from recollect.inference.late_model import LateModel
from recollect.inference.protocol import ModelCard, Passage, Question
from recollect.inference.weights import OWN_PACKAGE, Carrier, PinnedModel, find_model

MODEL, TOKENIZER, CODEC = "model.onnx", "tokenizer.json", "codec.npz"

RECOLLECT_SMALL = PinnedModel(
    name="recollect-small",
    sha256={
        MODEL: "6d7a1e75efa9e69d52e14045233b7c8fd84fb0cb42dc67d221ed08b60fd62e33",
        TOKENIZER: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        CODEC: "a3bdb59da209488a986b34c4970fc9020b32b6a3ad5d354fa40677bc47b113c3",
    },
    carrier=Carrier(
        package=OWN_PACKAGE,
        requirement="recollect-models==0.2.0",
        paths={name: f"recollect-small/{name}" for name in (MODEL, TOKENIZER, CODEC)},
    ),
)
TOKEN_DIMS = 80
POOLED_DIMS = 128
FORM = b"markers and punctuation dropped"  # what else decides which vectors are stored; part of the version
# Ids of the vocabulary: padding, the two markers, [CLS], [SEP]; then the punctuation that chats are full of. They match
# nothing that a question asks for, the model was trained without them, and they are a quarter of the tokens.
NOT_STORED = np.array([
    0, 1, 2, 101, 102,
    999, 1000, 1001, 1005, 1006, 1007, 1008, 1010, 1011, 1012, 1013, 1024, 1025, 1026, 1028, 1029, 1031, 1033, 1035,
    1036, 1063, 1064, 1065, 1066, 1516, 1517, 1520, 1521, 1523, 1524, 1529,
])  # fmt: skip


class RecollectSmall(LateModel):
    """Encode on the CPU, offline."""

    def __init__(self, *, folder: str | os.PathLike[str] | None = None) -> None:
        found = find_model(RECOLLECT_SMALL, folder=folder)
        self._encoder = TwoHeadEncoder(found)
        identity = "".join(found.sha256[name] for name in (MODEL, TOKENIZER, CODEC))
        version = hashlib.sha256(FORM + identity.encode()).hexdigest()[:8]
        card = ModelCard(name=RECOLLECT_SMALL.name, version=version, dims=POOLED_DIMS, token_dims=TOKEN_DIMS)
        super().__init__(card, self._encoder, found.paths[CODEC].read_bytes())

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        return [
            Passage(pooled=to_int8(made.pooled), tokens=self._codec.rounded(_stored(made)))
            for made in self._encoder.many(texts, Marker.PASSAGE)
        ]

    def question(self, text: str) -> Question:
        """Encode a question."""
        self._warmed = True
        made = self._encoder.one(text, Marker.QUESTION)
        return Question(pooled=made.pooled, tokens=made.tokens, unread=self._encoder.unread(text))


def _stored(made: Encoded) -> NDArray[np.float32]:
    keep = ~np.isin(made.ids, NOT_STORED)
    return made.tokens[keep] if keep.any() else made.tokens[:1]
