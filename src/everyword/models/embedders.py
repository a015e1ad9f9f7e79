"""The embedders with a model of their own, the one without a model, and the choice of one by its setting."""

from __future__ import annotations

import contextlib
import hashlib
import os
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from threading import Event, Lock, Thread
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from everyword.errors import Closed, EverywordError, InvalidSetting
from everyword.lazy_patterns import lazy_pattern
from everyword.models.onnx import Encoded, Marker, Run, TextEncoder, token_states, tokens_and_pooled
from everyword.models.protocol import Embedder, Matches, ModelCard, Passage, Question
from everyword.models.token_codec import TokenCodec, to_int8, unit
from everyword.models.weights import (
    COLBERT_SMALL,
    EVERYWORD_SMALL,
    MODEL,
    TOKENIZER,
    ModelFiles,
    PinnedModel,
    find_model,
)
from everyword.text.terms import count_unspaced, well_formed

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
    for kind in (EverywordSmall, ColbertSmall):
        if name == kind.MODEL.name:
            return _shared(kind, find_model(kind.MODEL, folder=folder))
    if name == "hashing":
        return HashingEmbedder()
    if name.startswith(("openai:", "http://", "https://")):
        # Imported when chosen: it costs start-up time.
        from everyword.models.endpoint import EndpointEmbedder

        return EndpointEmbedder(name)
    raise InvalidSetting(f"Unknown embedder {name!r}.", fix=f"Choose {CHOICES}.")


def _shared(kind: type[LateInteractionEmbedder], files: ModelFiles) -> Embedder:
    """Return the embedder that another memory of this process uses already, or make one: a model takes 60 MB."""
    key = (kind, files.paths[MODEL])
    with _sharing:
        found = _shared_embedders.get(key)
        if found is None:
            found = _shared_embedders[key] = kind(files)
        return found


_shared_embedders: WeakValueDictionary[tuple[object, ...], LateInteractionEmbedder] = WeakValueDictionary()
_sharing = Lock()


class LateInteractionEmbedder(ABC):
    """An embedder with token vectors. It finds its files when created and loads them when first used."""

    repeatable = True  # the same text gives the same bytes on the same machine, so `verify` may compare them

    MODEL: PinnedModel
    RUN: Run
    CODEC_FILE: Path
    TOKEN_DIMS: int
    FORM: bytes  # part of the version, since it decides which vectors are stored

    def __init__(self, files: ModelFiles | None = None) -> None:
        files = files or find_model(self.MODEL)
        self._encoder = TextEncoder(files, type(self).RUN)
        self._codec_bytes = self.CODEC_FILE.read_bytes()
        self._warmed = False
        identity = (files.sha256[MODEL] + files.sha256[TOKENIZER]).encode()
        version = hashlib.sha256(self.FORM + identity + self._codec_bytes).hexdigest()[:8]
        self.card = ModelCard(name=self.MODEL.name, version=version, dims=POOLED_DIMS, token_dims=self.TOKEN_DIMS)

    def passages(self, texts: Sequence[str], stopping: Event | None = None) -> list[Passage]:
        """Encode texts that will be stored. stopping: once it is set, raise Closed after the text that is under way."""
        passages: list[Passage] = []
        with contextlib.closing(self._encoder.encode_many(texts, Marker.PASSAGE)) as outputs:
            for encoded in map(self.encoded, outputs):
                passages.append(Passage(pooled=to_int8(encoded.pooled), tokens=self._codec.pack(self.stored(encoded))))
                if stopping is not None and stopping.is_set() and len(passages) < len(texts):
                    raise Closed("The memory is being closed.")
        return passages

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
    RUN = tokens_and_pooled
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
    RUN = token_states
    CODEC_FILE = CODECS / "colbert-small.npz"
    TOKEN_DIMS = 96
    FORM = b"markers dropped"

    def encoded(self, output: Encoded) -> Encoded:
        return output._replace(tokens=self._codec.tokens(output.tokens), pooled=self._codec.pooled(output.tokens))

    def stored(self, encoded: Encoded) -> NDArray[np.float32]:
        """Drop [CLS], the passage marker and [SEP]: a twentieth of the bytes, and recall is the same without them."""
        return encoded.tokens[2:-1] if len(encoded.tokens) > 3 else encoded.tokens


WORD = lazy_pattern(r"\w+")

DIMS = 256
VERSION = "1"  # change it whenever the same text would give another vector
# Characters per n-gram: long enough to mean something, short enough to survive inflection and typos.
GRAMS = (3, 4)
WORD_SHARE = 0.6  # of a word's squared length that is the word itself; its n-grams share the rest
MAX_WORD = 64  # characters: a longer run is no word, and its n-grams would fill the vector
MAX_CHARACTERS = 16_000  # of a text: more words hardly change the sum
BLOCK_TEXTS = 256  # per batch: about 3,000 words of 1 KB
CACHED_WORDS = 20_000  # 1 KB each
# Stop words, which say little about a text's topic. Without a corpus there is no IDF to tell.
COMMON_WORDS = frozenset(
    """a an and are as at be been but by can did do does for from had has have he her him his how i if in
    into is it its just me my no not of on or our out she so than that the their them then there they this
    to too up us was we were what when where which who why will with would you your""".split()
)
COMMON_WEIGHT = np.float32(0.15)


class HashingEmbedder:
    """Encode more than ten thousand turns a second, without any file. It knows spelling, not meaning."""

    repeatable = True  # the same text gives the same bytes on the same machine, so `verify` may compare them

    @property
    def card(self) -> ModelCard:
        """The identity of the vectors."""
        return ModelCard(name="hashing", version=VERSION, dims=DIMS)

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        passages: list[Passage] = []
        for start in range(0, len(texts), BLOCK_TEXTS):
            rows = to_int8(_vectors(texts[start : start + BLOCK_TEXTS]))
            passages += [Passage(pooled=row, tokens=b"") for row in rows]
        return passages

    def question(self, text: str) -> Question:
        """Encode a question."""
        return Question(pooled=_vectors([text])[0], tokens=np.empty((0, 0), np.float32), unread=_unspaced(text))


def _unspaced(text: str) -> float:
    """Compute the share of letters in scripts without spaces, where a sentence looks like one unknown word."""
    letters = "".join(_words(text))
    return count_unspaced(letters) / len(letters) if letters else 0.0


def _vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Sum the vectors of each text's words, for all texts at once."""
    counted = [Counter(_words(text)) for text in texts]
    filled = [index for index, counts in enumerate(counted) if counts]
    vectors = np.zeros((len(texts), DIMS), np.float32)
    if filled:
        vocabulary = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(counted)))}
        known = np.stack([_word_vector(word) for word in vocabulary])
        words = [vocabulary[word] for counts in counted for word in counts]
        # Sublinear: the tenth mention of a word adds little.
        weights = 1 + np.log(np.array([count for counts in counted for count in counts.values()], np.float32))
        starts = np.cumsum([0, *(len(counted[index]) for index in filled[:-1])])
        vectors[filled] = unit(np.add.reduceat(known[words] * weights[:, None], starts, axis=0))
    return vectors


def _words(text: str) -> list[str]:
    cut = text[:MAX_CHARACTERS]
    plain = cut if cut.isascii() else unicodedata.normalize("NFKC", well_formed(cut))
    return WORD.findall(plain.casefold())


@lru_cache(maxsize=CACHED_WORDS)
def _word_vector(word: str) -> NDArray[np.float32]:
    framed = f"<{word[:MAX_WORD]}>"
    parts = [framed[i : i + size] for size in GRAMS for i in range(len(framed) - size + 1)]
    vector = _signed(parts) * np.float32((1 - WORD_SHARE) ** 0.5)
    vector += _signed([f"={word}"]) * np.float32(WORD_SHARE**0.5)
    return vector * COMMON_WEIGHT if word in COMMON_WORDS else vector


def _signed(features: list[str]) -> NDArray[np.float32]:
    """Add each feature in a dimension and with a sign taken from its hash, so that collisions cancel out."""
    vector = np.zeros(DIMS, np.float32)
    for feature in features:
        dimension, sign = blake2b(feature.encode(), digest_size=2).digest()
        vector[dimension] += 1 if sign & 1 else -1
    return unit(vector)
