"""Compress token vectors for storage, and compare them with a question's (MaxSim).

A vector is written as the nearest of 256 centroids (one byte) and its difference from it by product quantization: four
dimensions a byte, 21 bytes for 80 dimensions. Of a long passage similar vectors are merged, until 128 remain.
docs/speed.md has what this costs in recall. tools/fit_codec.py fits the numbers in codecs/."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from everyword.errors import StoreCorrupt
from everyword.models.protocol import Matches

Floats = NDArray[np.float32]

CENTROIDS = 256  # of vectors, and of each part of a difference: one byte
PART_DIMS = 4  # dimensions of a part
# Vectors of a passage: a chat turn has fewer tokens, a full window some 200. Merging the tokens of chat turns as well
# costs recall: two of three .006, half of them .015.
MOST_VECTORS = 128
INT8_UNIT = 127  # the largest component of a unit vector, as int8
# Vectors unpacked at a time: what they take fits the second-level cache of a small core.
BLOCK_VECTORS = 1024
# Multiplications up to which OpenBLAS uses one thread. With more threads each product waits for the slowest one:
# 1 ms became 16 to 40 ms on a machine with busy cores, and an idle one gained nothing.
SINGLE_THREAD_PRODUCTS = 4 * 65536
_SELF = np.float32(-9)  # below every cosine: no token is its own neighbour


class TokenCodec(Struct, frozen=True, kw_only=True):
    """The fitted numbers of one model. Token states must have unit length."""

    projection: Floats  # (states, token_dims)
    # (token_dims, token_dims) each. A passage is stored in a basis in which an error matters alike in all directions to
    # questions, and all parts vary alike. A product of both sides is that of the vectors before.
    passage_basis: Floats
    question_basis: Floats
    centroids: Floats  # (CENTROIDS, token_dims), in the basis of passages
    parts: Floats  # (token_dims / PART_DIMS, CENTROIDS, PART_DIMS) of differences from the nearest centroid
    pooled_mean: Floats  # (states,) unit length: the mean direction of all texts
    pooled_projection: Floats  # (states, dims)
    table: NDArray[np.complex128]  # `parts`, the four float32 of a row as one number

    @classmethod
    def read(cls, content: bytes) -> TokenCodec:
        """Read the .npz file that tools/fit_codec.py writes."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            named = {name: np.ascontiguousarray(arrays[name], np.float32) for name in arrays.files}
        return cls(**named, table=named["parts"].view(np.complex128).ravel())

    @property
    def vector_bytes(self) -> int:
        """Bytes per stored vector."""
        return 1 + len(self.parts)

    def tokens(self, states: Floats) -> Floats:
        """Project token states to the vectors that are compared."""
        return unit(multiply(states, self.projection))

    def pack(self, tokens: Floats) -> bytes:
        """Merge similar tokens of a long passage, and write the vectors."""
        vectors = multiply(merge_similar(tokens, MOST_VECTORS), self.passage_basis)
        packed = np.empty((len(vectors), self.vector_bytes), np.uint8)
        packed[:, 0] = nearest = nearest_centroids(vectors, self.centroids)
        differences = (vectors - self.centroids[nearest]).reshape(len(vectors), -1, PART_DIMS)
        # All parts at once: each product is too small for a second thread.
        similarities = np.matmul(differences.transpose(1, 0, 2), self.parts.swapaxes(1, 2))
        similarities -= (self.parts**2).sum(axis=2)[:, None] / 2
        packed[:, 1:] = similarities.argmax(axis=2).T
        return packed.tobytes()

    def unpack(self, packed: bytes) -> Floats:
        """Restore the stored vectors as closely as their bytes allow."""
        rows = np.frombuffer(packed, np.uint8).reshape(-1, self.vector_bytes)
        differences = self._differences(rows, self._room(len(rows)))
        return multiply(self.centroids[rows[:, 0]] + differences, self.question_basis.T)

    def pooled(self, states: Floats) -> Floats:
        """Compute the single vector of a text: the mean of its tokens minus the mean of all texts."""
        own = unit(unit(states.mean(axis=0)) - self.pooled_mean)
        # einsum stays on this thread; matmul would use several even for this small product.
        return unit(np.einsum("i,ij->j", own, self.pooled_projection))

    def matches(self, question: Floats, packed: Sequence[bytes]) -> Matches:
        """Find the best match of each question token in each passage; 0 for a passage without tokens."""
        sizes = np.fromiter(map(len, packed), np.intp, len(packed))
        lengths, rest = np.divmod(sizes, self.vector_bytes)
        if rest.any():
            wrong = sizes[rest > 0][0]
            raise StoreCorrupt(f"Token vectors of {wrong} bytes are not a multiple of {self.vector_bytes}.")
        best = np.zeros((len(packed), len(question)), np.float32)
        if len(question) and lengths.any():
            asked = multiply(question, self.question_basis).T.copy()
            to_centroids = multiply(self.centroids, asked)
            rows = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, self.vector_bytes)
            similarities = np.empty((len(rows), len(question)), np.float32)
            room = self._room(min(len(rows), BLOCK_VECTORS))
            for start in range(0, len(rows), BLOCK_VECTORS):
                block = slice(start, start + BLOCK_VECTORS)
                multiply(self._differences(rows[block], room), asked, out=similarities[block])
                similarities[block] += to_centroids.take(rows[block, 0], axis=0, mode="clip")
            there = np.flatnonzero(lengths)
            starts = np.cumsum(lengths)[there] - lengths[there]
            best[there] = np.maximum.reduceat(similarities, starts, axis=0)
        return Matches(best, lengths.astype(np.float32))

    def _room(self, vectors: int) -> tuple[NDArray[np.intp], NDArray[np.complex128]]:
        """Take memory once for all blocks: fresh pages for each would take as long as the work itself."""
        shape = (vectors, len(self.parts))
        return np.empty(shape, np.intp), np.empty(shape, np.complex128)

    def _differences(self, rows: NDArray[np.uint8], room: tuple[NDArray[np.intp], NDArray[np.complex128]]) -> Floats:
        places, differences = room[0][: len(rows)], room[1][: len(rows)]
        np.add(rows[:, 1:], np.arange(len(self.parts), dtype=np.intp) * CENTROIDS, out=places)
        # mode="clip": every place is in range, and the default mode copies through a second buffer.
        return self.table.take(places, mode="clip", out=differences).view(np.float32)


def merge_similar(vectors: Floats, most: int) -> Floats:
    """Merge vectors of unit length until at most `most` remain.

    Each round merges pairs that are each other's nearest, the most similar pairs first.
    """
    sums = vectors
    while len(vectors) > most:
        cosines = multiply(vectors, vectors.T)
        cosines = np.maximum(cosines, cosines.T)  # rounding may differ, and then no pair would be mutual
        np.fill_diagonal(cosines, _SELF)
        nearest = cosines.argmax(axis=1)
        own = np.arange(len(vectors))
        first = own[(nearest[nearest] == own) & (own < nearest)]
        if not len(first):  # not numbers
            break
        order = np.argsort(-cosines[first, nearest[first]], kind="stable")
        first = first[order[: len(vectors) - most]]
        sums = sums.copy()
        sums[first] += sums[nearest[first]]
        sums = np.delete(sums, nearest[first], axis=0)
        vectors = unit(sums)
    return vectors


def nearest_centroids(vectors: Floats, centroids: Floats) -> NDArray[np.intp]:
    """Find the nearest centroid of each vector, by distance."""
    similarities = multiply(vectors, np.ascontiguousarray(centroids.T))
    similarities -= (centroids**2).sum(axis=1) / 2
    return similarities.argmax(axis=1)


def unit(vectors: Floats) -> Floats:
    """Scale vectors to unit length; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(length, np.float32(1e-9))


def multiply(left: Floats, right: Floats, out: Floats | None = None) -> Floats:
    """Multiply matrices a few rows at a time, so that OpenBLAS stays on the calling thread."""
    result = np.empty((left.shape[0], right.shape[1]), np.float32) if out is None else out
    # At least two rows: one row is a different routine, which starts threads much sooner.
    rows = max(2, SINGLE_THREAD_PRODUCTS // right.size)
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right, out=result[start : start + rows])
    return result


def to_int8(vector: Floats) -> NDArray[np.int8]:
    """Round a unit vector to its stored form."""
    return np.rint(vector * INT8_UNIT).astype(np.int8)
