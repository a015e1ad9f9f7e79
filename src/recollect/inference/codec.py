"""Make token states small enough to keep, and compare them without unpacking more than a lookup.

A token state of 384 floats becomes 96 numbers of 4 bits each, 48 bytes instead of 1,536. On development conversations
that costs .01 of recall at 10 (.802 to .789), most of it by the projection; 128 dimensions gained nothing back.
tools/fit_codec.py fits the numbers in codecs/.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import StoreCorrupt
from recollect.inference.protocol import Matches

Floats = NDArray[np.float32]

LEVELS = 16  # 4 bits: half a byte a dimension, at .004 of recall against floats of the same dimensions
# Tokens of one passage closer than this (cosine) match the same question words: one of them is enough.
# It leaves 82% of the tokens of chat turns, without a measurable loss.
DUPLICATE_COSINE = 0.95
INT8_UNIT = 127  # a unit vector's largest possible component, as int8
# Tokens unpacked at a time: 2,048 x 96 floats stay in the second-level cache of a small core.
BLOCK_TOKENS = 2048
# Multiplications up to which OpenBLAS stays on one thread. With several it waits for the slowest at each product:
# 1 ms became 16 to 40 ms on a machine whose cores were busy, and gained nothing on an idle one.
ONE_THREAD = 4 * 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class LateCodec:
    """The fitted numbers of one model, and what is done with them. Token states come in at unit length."""

    projection: Floats  # (states, token_dims)
    mean: Floats  # (token_dims,) of projected tokens
    spread: Floats  # (token_dims,) standard deviation of projected tokens
    levels: Floats  # (LEVELS,) of standardised values, rising
    pooled_mean: Floats  # (states,) unit length: the direction that all texts share
    pooled_projection: Floats  # (states, dims)
    table: NDArray[np.uint64]  # byte -> its two levels as two float32 side by side

    @classmethod
    def read(cls, content: bytes) -> LateCodec:
        """Read the arrays that tools/fit_codec.py wrote."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            named = {name: np.ascontiguousarray(arrays[name], np.float32) for name in arrays.files}
        return cls(**named, table=_byte_table(named["levels"]))

    @property
    def token_bytes(self) -> int:
        """Say how many bytes one token takes."""
        return len(self.mean) // 2

    def tokens(self, states: Floats) -> Floats:
        """Project token states; what a question is compared with."""
        return unit(product(states, self.projection))

    def pack(self, states: Floats) -> bytes:
        """Drop near-duplicate tokens, project the others and write them with 4 bits a dimension."""
        return self.rounded(self.tokens(states[distinct(states)]))

    def rounded(self, tokens: Floats) -> bytes:
        """Write projected tokens with 4 bits a dimension."""
        standard = (tokens - self.mean) / self.spread
        edges = (self.levels[1:] + self.levels[:-1]) / 2
        codes = np.searchsorted(edges, standard.ravel()).astype(np.uint8)
        return (codes[0::2] | codes[1::2] << 4).tobytes()

    def unpack(self, packed: bytes) -> Floats:
        """Give the token vectors back, as near as 4 bits allow."""
        return self._levels(packed) * self.spread + self.mean

    def pooled(self, states: Floats) -> Floats:
        """Give the one vector of a text: the mean of its tokens, without what all texts share."""
        own = unit(unit(states.mean(axis=0)) - self.pooled_mean)
        # einsum, since even this small product would be spread over threads.
        return unit(np.einsum("i,ij->j", own, self.pooled_projection))

    def matches(self, question: Floats, packed: Sequence[bytes]) -> Matches:
        """Find for each token of the question the nearest one of each passage; 0 where it has no tokens."""
        lengths = np.array([len(passage) // self.token_bytes for passage in packed], np.float32)
        nearest = np.zeros((len(packed), len(question)), np.float32)
        if not len(question):
            return Matches(nearest, lengths)
        # A level stands for level * spread + mean: scaling the question spares scaling every passage.
        scaled = (question * self.spread).T.copy()
        offset = question @ self.mean
        for places, starts, block in _blocks(packed, self.token_bytes):
            similar = product(self._levels(block), scaled)
            nearest[places] = np.maximum.reduceat(similar, starts, axis=0) + offset
        return Matches(nearest, lengths)

    def _levels(self, packed: bytes) -> Floats:
        codes = np.frombuffer(packed, np.uint8)
        # mode: every byte is in range; "raise" would go through a second buffer.
        return self.table.take(codes, mode="clip").view(np.float32).reshape(-1, len(self.mean))


def unit(vectors: Floats) -> Floats:
    """Scale vectors to unit length; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(length, np.float32(1e-9))


def product(left: Floats, right: Floats) -> Floats:
    """Multiply matrices a few rows at a time, so that each step stays on the calling thread."""
    result = np.empty((left.shape[0], right.shape[1]), np.float32)
    # Not one row: that is another routine, which takes threads much sooner.
    rows = max(2, ONE_THREAD // right.size)
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right, out=result[start : start + rows])
    return result


def to_int8(vector: Floats) -> NDArray[np.int8]:
    """Round a unit vector to the form in which it is stored."""
    return np.rint(vector * INT8_UNIT).astype(np.int8)


def distinct(states: Floats) -> NDArray[np.bool_]:
    """Mark the tokens to keep: in order, each that is not nearly the same as one kept before it."""
    near = np.triu(product(states, states.T) > DUPLICATE_COSINE, k=1)
    keep = np.ones(len(states), np.bool_)
    for token in np.flatnonzero(near.any(axis=0)):
        keep[token] = not (near[:token, token] & keep[:token]).any()
    return keep


def _byte_table(levels: Floats) -> NDArray[np.uint64]:
    byte = np.arange(256)
    pairs = np.stack([levels[byte % LEVELS], levels[byte // LEVELS]], axis=1)
    return np.ascontiguousarray(pairs).view(np.uint64).ravel()


def _blocks(packed: Sequence[bytes], token_bytes: int) -> Iterator[tuple[list[int], NDArray[np.intp], bytes]]:
    """Join passages to blocks: their places in the list, where each starts (in tokens), and their bytes."""
    places: list[int] = []
    starts: list[int] = []
    tokens = 0
    for place, passage in enumerate(packed):
        count, rest = divmod(len(passage), token_bytes)
        if rest:
            raise StoreCorrupt(f"Token vectors of {len(passage)} bytes are not a multiple of {token_bytes}.")
        if not count:
            continue
        places.append(place)
        starts.append(tokens)
        tokens += count
        if tokens >= BLOCK_TOKENS:
            yield places, np.array(starts), b"".join([packed[i] for i in places])
            places, starts, tokens = [], [], 0
    if places:
        yield places, np.array(starts), b"".join([packed[i] for i in places])
