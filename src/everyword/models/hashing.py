"""The embedder without a model: words and character n-grams, hashed to a fixed number of dimensions."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import ModelCard, Passage, Question, well_formed
from everyword.models.token_codec import to_int8, unit
from everyword.text.terms import UNSPACED

WORD = re.compile(r"\w+")

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
    WORD.findall(
        """a an and are as at be been but by can did do does for from had has have he her him his how i if in
        into is it its just me my no not of on or our out she so than that the their them then there they this
        to too up us was we were what when where which who why will with would you your"""
    )
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
    if text.isascii():
        return 0.0
    letters = "".join(_words(text))
    return len(re.findall(f"[{UNSPACED}]", letters)) / len(letters) if letters else 0.0


def _vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Sum the vectors of each text's words, for all texts at once."""
    vocabulary: dict[str, int] = {}
    words: list[int] = []
    counts: list[int] = []
    filled: list[int] = []
    starts: list[int] = []
    for index, text in enumerate(texts):
        found = Counter(_words(text))
        if found:
            filled.append(index)
            starts.append(len(words))
            words += [vocabulary.setdefault(word, len(vocabulary)) for word in found]
            counts += found.values()
    vectors = np.zeros((len(texts), DIMS), np.float32)
    if filled:
        known = np.stack([_word_vector(word) for word in vocabulary])
        # Sublinear: the tenth mention of a word adds little.
        weights = 1 + np.log(np.array(counts, np.float32))
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
