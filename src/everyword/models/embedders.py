"""The embedders with a model of their own, and the choice of an embedder by its setting."""

from __future__ import annotations

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from everyword.errors import EverywordError, InvalidSetting
from everyword.models.encoder import Encoded, Marker, TextEncoder, TokenEncoder, TwoHeadEncoder
from everyword.models.protocol import Embedder, Matches, ModelCard, Passage, Question
from everyword.models.token_codec import TokenCodec, to_int8
from everyword.models.weights import (
    COLBERT_SMALL,
    EVERYWORD_SMALL,
    MODEL,
    SAME_VECTORS,
    TOKENIZER,
    ModelFiles,
    PinnedModel,
    find_model,
)

DEFAULT = EVERYWORD_SMALL.name
CHOICES = (
    '"everyword-small" (the default), "colbert-small", "hashing", "none" (words only), '
    '"openai:MODEL@URL", "URL#MODEL", or an Embedder object'
)
POOLED_DIMS = 128
CODECS = Path(__file__).parent / "codecs"

EmbedderSpec = str | Embedder | None
Folder = str | os.PathLike[str] | None


def load_embedder(spec: EmbedderSpec = None, *, folder: Folder = None) -> Embedder | None:
    """Create the embedder that a setting names, or None for words only; `folder` holds its files."""
    if spec == "none":
        return None
    if spec is None or isinstance(spec, str):
        return load_named(DEFAULT if spec is None else spec, folder=folder)
    # Not isinstance(spec, Embedder): that reads `card`, which asks the server of an endpoint.
    if callable(getattr(spec, "passages", None)) and callable(getattr(spec, "question", None)):
        return spec
    raise InvalidSetting(f"Unknown embedder {spec!r}.", fix=f"Choose {CHOICES}.")


def load_named(name: str, *, folder: Folder = None) -> Embedder:
    """Create the embedder whose card has this name. A memory finds the model that wrote its vectors this way."""
    if name == EVERYWORD_SMALL.name:
        return EverywordSmall(folder=folder)
    if name == COLBERT_SMALL.name:
        return ColbertSmall(folder=folder)
    # Imported when chosen: each costs start-up time.
    if name == "hashing":
        from everyword.models.hashing import HashingEmbedder

        return HashingEmbedder()
    if name.startswith(("openai:", "http://", "https://")):
        from everyword.models.endpoint import EndpointEmbedder

        return EndpointEmbedder(name)
    raise InvalidSetting(f"Unknown embedder {name!r}.", fix=f"Choose {CHOICES}.")


class LateInteractionEmbedder(ABC):
    """An embedder with token vectors. It finds its files when created and loads them when first used."""

    repeatable = True  # the same text gives the same bytes on the same machine, so `verify` may compare them

    MODEL: PinnedModel
    ENCODER: Callable[[ModelFiles], TextEncoder]
    CODEC_FILE: Path
    TOKEN_DIMS: int
    FORM: bytes  # part of the version, since it decides which vectors are stored

    def __init__(self, *, folder: Folder = None) -> None:
        files = find_model(self.MODEL, folder=folder)
        self._encoder = type(self).ENCODER(files)
        self._codec_bytes = self.CODEC_FILE.read_bytes()
        self._warmed = False
        weights = files.sha256[MODEL]
        identity = (SAME_VECTORS.get(weights, weights) + files.sha256[TOKENIZER]).encode()
        version = hashlib.sha256(self.FORM + identity + self._codec_bytes).hexdigest()[:8]
        self.card = ModelCard(name=self.MODEL.name, version=version, dims=POOLED_DIMS, token_dims=self.TOKEN_DIMS)

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        return [
            Passage(pooled=to_int8(encoded.pooled), tokens=self._codec.pack(self.stored(encoded)))
            for encoded in map(self.encoded, self._encoder.encode_many(texts, Marker.PASSAGE))
        ]

    def question(self, text: str) -> Question:
        """Encode a question."""
        self._warmed = True
        encoded = self.encoded(self._encoder.encode(text, Marker.QUESTION))
        return Question(pooled=encoded.pooled, tokens=encoded.tokens, unread=self._encoder.unread(text))

    @abstractmethod
    def encoded(self, output: Encoded) -> Encoded:
        """Compute the vectors of a text from the encoder's output."""

    @abstractmethod
    def stored(self, encoded: Encoded) -> NDArray[np.float32]:
        """Choose the token vectors that are stored."""

    def warm(self) -> None:
        """Start loading in the background; a call that comes too early waits for it."""
        if self._warmed:
            return
        self._warmed = True
        # Not a daemon: onnxruntime must not be torn down while it loads.
        Thread(target=self._load, name="everyword-warm").start()

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Find the best match of each question token in each packed passage."""
        return self._codec.matches(question.tokens, passages)

    def _load(self) -> None:
        # An error here comes again, and is reported, in the call that needs the model.
        with contextlib.suppress(EverywordError):
            _ = self._codec
            self._encoder.load()

    @cached_property
    def _codec(self) -> TokenCodec:
        return TokenCodec.read(self._codec_bytes)


class EverywordSmall(LateInteractionEmbedder):
    """The default: our own encoder of six layers. One pass gives token vectors and the pooled vector."""

    MODEL = EVERYWORD_SMALL
    ENCODER = TwoHeadEncoder
    CODEC_FILE = CODECS / "everyword-small.npz"
    TOKEN_DIMS = 80
    FORM = b"markers and punctuation dropped"
    # Vocabulary ids of padding, the two markers, [CLS], [SEP] and common punctuation. They match nothing that a
    # question asks for, the model was trained without them, and they are a quarter of the tokens of chats.
    NOT_STORED = np.array([
        0, 1, 2, 101, 102,
        999, 1000, 1001, 1005, 1006, 1007, 1008, 1010, 1011, 1012, 1013, 1024, 1025, 1026, 1028, 1029, 1031, 1033, 1035,
        1036, 1063, 1064, 1065, 1066, 1516, 1517, 1520, 1521, 1523, 1524, 1529,
    ])  # fmt: skip

    def encoded(self, output: Encoded) -> Encoded:
        return output

    def stored(self, encoded: Encoded) -> NDArray[np.float32]:
        """Drop the tokens that are not stored; of a text without any other, keep the first."""
        keep = ~np.isin(encoded.ids, self.NOT_STORED)
        return encoded.tokens[keep] if keep.any() else encoded.tokens[:1]


class ColbertSmall(LateInteractionEmbedder):
    """answerai-colbert-small-v1: twelve layers, half as fast. The codec computes both kinds of vectors."""

    MODEL = COLBERT_SMALL
    ENCODER = TokenEncoder
    CODEC_FILE = CODECS / "colbert-small.npz"
    TOKEN_DIMS = 96
    FORM = b"markers dropped"

    def encoded(self, output: Encoded) -> Encoded:
        return output._replace(tokens=self._codec.tokens(output.tokens), pooled=self._codec.pooled(output.tokens))

    def stored(self, encoded: Encoded) -> NDArray[np.float32]:
        """Drop [CLS], the passage marker and [SEP]: a twentieth of the bytes, and recall is the same without them."""
        return encoded.tokens[2:-1] if len(encoded.tokens) > 3 else encoded.tokens
