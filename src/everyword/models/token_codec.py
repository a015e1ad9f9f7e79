"""Compress token vectors for storage, and compare them with a question's (MaxSim).

A token vector of 384 floats becomes 96 numbers of 4 bits, 48 bytes instead of 1,536. On development conversations
that costs .01 of recall at 10 (.802 to .789), most of it from the projection; 128 dimensions were no better.
tools/fit_codec.py fits the numbers in codecs/."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everyword.errors import StoreCorrupt
from everyword.models.protocol import Matches

Floats = NDArray[np.float32]

LEVELS = 16  # quantisation levels, 4 bits; costs .004 of recall against floats of the same dimensions
# Tokens of one passage closer than this (cosine) match the same question words, so only the first is stored.
# 82% of the tokens of chat turns remain, without a measurable loss.
DUPLICATE_COSINE = 0.95
INT8_UNIT = 127  # the largest component of a unit vector, as int8
# Tokens unpacked at a time: 2,048 x 96 floats fit the second-level cache of a small core.
BLOCK_TOKENS = 2048
# Multiplications up to which OpenBLAS uses one thread. With more threads each product waits for the slowest one:
# 1 ms became 16 to 40 ms on a machine with busy cores, and an idle one gained nothing.
SINGLE_THREAD_PRODUCTS = 4 * 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCodec:
    """The fitted numbers of one model. Token states must have unit length."""

    projection: Floats  # (states, token_dims)
    mean: Floats  # (token_dims,) of projected tokens
    spread: Floats  # (token_dims,) standard deviation of projected tokens
    levels: Floats  # (LEVELS,) of standardised values, ascending
    pooled_mean: Floats  # (states,) unit length: the mean direction of all texts
    pooled_projection: Floats  # (states, dims)
    table: NDArray[np.uint64]  # byte -> its two levels, as two adjacent float32

    @classmethod
    def read(cls, content: bytes) -> TokenCodec:
        """Read the .npz file that tools/fit_codec.py writes."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            named = {name: np.ascontiguousarray(arrays[name], np.float32) for name in arrays.files}
        return cls(**named, table=_byte_table(named["levels"]))

    @property
    def token_bytes(self) -> int:
        """Bytes per stored token."""
        return len(self.mean) // 2

    def tokens(self, states: Floats) -> Floats:
        """Project token states to the vectors that are compared."""
        return unit(multiply(states, self.projection))

    def pack(self, states: Floats) -> bytes:
        """Drop near-duplicate tokens, project the others and quantize them."""
        return self.quantize(self.tokens(states[distinct_tokens(states)]))

    def quantize(self, tokens: Floats) -> bytes:
        """Write projected tokens with 4 bits per dimension."""
        standard = (tokens - self.mean) / self.spread
        edges = (self.levels[1:] + self.levels[:-1]) / 2
        codes = np.searchsorted(edges, standard.ravel()).astype(np.uint8)
        return (codes[0::2] | codes[1::2] << 4).tobytes()

    def unpack(self, packed: bytes) -> Floats:
        """Restore the token vectors as closely as 4 bits allow."""
        return self._levels(packed) * self.spread + self.mean

    def pooled(self, states: Floats) -> Floats:
        """Compute the single vector of a text: the mean of its tokens minus the mean of all texts."""
        own = unit(unit(states.mean(axis=0)) - self.pooled_mean)
        # einsum stays on this thread; matmul would use several even for this small product.
        return unit(np.einsum("i,ij->j", own, self.pooled_projection))

    def matches(self, question: Floats, packed: Sequence[bytes]) -> Matches:
        """Find the best match of each question token in each passage; 0 for a passage without tokens."""
        lengths = np.array([len(passage) // self.token_bytes for passage in packed], np.float32)
        nearest = np.zeros((len(packed), len(question)), np.float32)
        if not len(question):
            return Matches(nearest, lengths)
        # A level stands for level * spread + mean. Scaling the question is cheaper than scaling every passage.
        scaled = (question * self.spread).T.copy()
        offset = question @ self.mean
        for indices, starts, block in _blocks(packed, self.token_bytes):
            similarities = multiply(self._levels(block), scaled)
            nearest[indices] = np.maximum.reduceat(similarities, starts, axis=0) + offset
        return Matches(nearest, lengths)

    def _levels(self, packed: bytes) -> Floats:
        codes = np.frombuffer(packed, np.uint8)
        # mode="clip": every byte is in range, and the default mode copies through a second buffer.
        return self.table.take(codes, mode="clip").view(np.float32).reshape(-1, len(self.mean))


def unit(vectors: Floats) -> Floats:
    """Scale vectors to unit length; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(length, np.float32(1e-9))


def multiply(left: Floats, right: Floats) -> Floats:
    """Multiply matrices a few rows at a time, so that OpenBLAS stays on the calling thread."""
    result = np.empty((left.shape[0], right.shape[1]), np.float32)
    # At least two rows: one row is a different routine, which starts threads much sooner.
    rows = max(2, SINGLE_THREAD_PRODUCTS // right.size)
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right, out=result[start : start + rows])
    return result


def to_int8(vector: Floats) -> NDArray[np.int8]:
    """Round a unit vector to its stored form."""
    return np.rint(vector * INT8_UNIT).astype(np.int8)


def distinct_tokens(states: Floats) -> NDArray[np.bool_]:
    """Mark the tokens to keep: each that is not a near-duplicate of one kept before it."""
    near = np.triu(multiply(states, states.T) > DUPLICATE_COSINE, k=1)
    keep = np.ones(len(states), np.bool_)
    for token in np.flatnonzero(near.any(axis=0)):
        keep[token] = not (near[:token, token] & keep[:token]).any()
    return keep


def _byte_table(levels: Floats) -> NDArray[np.uint64]:
    byte = np.arange(256)
    pairs = np.stack([levels[byte % LEVELS], levels[byte // LEVELS]], axis=1)
    return np.ascontiguousarray(pairs).view(np.uint64).ravel()


def _blocks(packed: Sequence[bytes], token_bytes: int) -> Iterator[tuple[list[int], NDArray[np.intp], bytes]]:
    """Join passages into blocks: their indices, the token at which each starts, and their bytes."""
    indices: list[int] = []
    starts: list[int] = []
    tokens = 0
    for index, passage in enumerate(packed):
        count, rest = divmod(len(passage), token_bytes)
        if rest:
            raise StoreCorrupt(f"Token vectors of {len(passage)} bytes are not a multiple of {token_bytes}.")
        if not count:
            continue
        indices.append(index)
        starts.append(tokens)
        tokens += count
        if tokens >= BLOCK_TOKENS:
            yield indices, np.array(starts), b"".join([packed[i] for i in indices])
            indices, starts, tokens = [], [], 0
    if indices:
        yield indices, np.array(starts), b"".join([packed[i] for i in indices])
