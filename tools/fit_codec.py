"""Fit the codec of an embedder from lines of text: python -m tools.fit_codec MODEL --lines FILE... --questions FILE

Each line of a file is one JSON object: {"text", "speaker"?, "date"?}, or a pool of them, {"lines": [...]}, of which two
are drawn, or a conversation, {"turns": [...]}. The lines pass through the product's own encoder, as stored passages do.
The same lines on the same kind of machine give the same file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from everyword.interfaces.cli.terminal import Terminal
from everyword.models.embedders import POOLED_DIMS, ColbertSmall, EverywordSmall
from everyword.models.onnx import Marker, TextEncoder, token_states, tokens_and_pooled
from everyword.models.token_codec import (
    CENTROIDS,
    PART_DIMS,
    TokenCodec,
    nearest_centroids,
    unit,
)
from everyword.models.weights import COLBERT_SMALL, EVERYWORD_SMALL, find_model
from everyword.types.times import day_in_words

_Encoded = TypeVar("_Encoded")
Floats = NDArray[np.float32]
Fitted = tuple[dict[str, NDArray[Any]], list[Floats]]  # a codec, and the tokens that it was fitted to

FIRST_DAY, DAYS = datetime(2020, 1, 1, tzinfo=UTC), 3000
LINES_A_POOL = 2  # a pool is one document: more of it would teach its topic, not the language
MAX_CHARACTERS = 600  # about the longest passage that is stored as one
ROUNDS = 20  # of k-means: the error no longer falls
MOST_TOKENS = 100_000  # that k-means looks at
LEAST_SHARE = 0.3  # of the mean direction's weight: a question may have any direction
# Between none (0) and full (-.5) whitening: what most texts share counts less, noise is not blown up.
HALF_WHITE = -0.25


def main() -> None:
    """Read the lines, encode them, fit, and write the codec."""
    arguments = _arguments()
    share = arguments.count // len(arguments.lines)
    lines = [line for path in arguments.lines for line in _sample(path, share, random.Random(arguments.seed))]
    questions = _questions(arguments.questions, arguments.count // 4, random.Random(arguments.seed))
    rng = np.random.default_rng(arguments.seed)
    if arguments.model == EVERYWORD_SMALL.name:
        path, codec, tokens = EverywordSmall.CODEC_FILE, *_everyword_small(lines, questions, rng)
    else:
        path, codec, tokens = ColbertSmall.CODEC_FILE, *_colbert_small(lines, questions, rng)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **codec)
    _report(tokens, path)


def quantizer(tokens: Floats, questions: Floats | None, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Fit the bases, the centroids of token vectors and the parts of the differences from them.

    What is stored of a passage is only ever multiplied with a question, so errors are weighed by how much questions
    have of each direction. Without questions all directions weigh the same.
    """
    weighing = np.eye(tokens.shape[1]) if questions is None else _weighing(questions)
    some = tokens[rng.choice(len(tokens), min(MOST_TOKENS, len(tokens)), replace=False)]
    weighed = (some @ weighing).astype(np.float32)
    centroids = _centroids(weighed, rng)
    basis = weighing @ _balanced_rotation(weighed - centroids[nearest_centroids(weighed, centroids)])
    vectors = some @ basis.astype(np.float32)
    # Rounded first, so that all that follows is fitted to what will be used.
    centroids = _centroids(vectors, rng).astype(np.float16).astype(np.float32)
    differences = vectors - centroids[nearest_centroids(vectors, centroids)]
    parts = np.split(differences, differences.shape[1] // PART_DIMS, axis=1)
    return {
        "passage_basis": basis.astype(np.float32),
        "question_basis": np.linalg.inv(basis).T.astype(np.float32),
        "centroids": centroids.astype(np.float16),
        "parts": np.stack([_centroids(np.ascontiguousarray(part), rng) for part in parts]).astype(np.float16),
    }


def _weighing(questions: Floats) -> NDArray[np.float64]:
    """Scale each direction by the root of what questions have of it, and of a share that all directions have."""
    directions, weights = _components(questions)
    shares = (weights / weights.mean() + LEAST_SHARE) / (1 + LEAST_SHARE)
    return directions * np.sqrt(shares) @ directions.T


def _balanced_rotation(differences: Floats) -> NDArray[np.float64]:
    """Rotate to the principal directions, in an order in which the variances of each part have the same product."""
    directions, weights = _components(differences)
    parts: list[list[int]] = [[] for _ in range(len(weights) // PART_DIMS)]
    for number in range(len(weights)):  # the largest first
        least = min((part for part in parts if len(part) < PART_DIMS), key=lambda part: np.log(weights[part]).sum())
        least.append(number)
    return directions[:, [number for part in parts for number in part]]


def without_projection(dims: int) -> dict[str, NDArray[Any]]:
    """Give the arrays that a model does not use whose graph projects and pools by itself."""
    return {
        "projection": np.eye(dims, dtype=np.float16),
        "pooled_mean": np.zeros(dims, np.float32),
        "pooled_projection": np.zeros((dims, 1), np.float16),
    }


def _with_progress(encoded: Iterable[_Encoded], total: int) -> Iterator[_Encoded]:
    with Terminal(json_wanted=False).progress("Encoding") as report:
        for done, one in enumerate(encoded, 1):
            report("lines", done, total)
            yield one


def _everyword_small(lines: list[str], questions: list[str], rng: np.random.Generator) -> Fitted:
    embedder, encoder = EverywordSmall(), TextEncoder(find_model(EVERYWORD_SMALL), tokens_and_pooled)
    encoded = _with_progress(encoder.encode_many(lines, Marker.PASSAGE), len(lines))
    tokens = [embedder.stored(text) for text in encoded]
    asked = np.concatenate([text.tokens for text in encoder.encode_many(questions, Marker.QUESTION)])
    return without_projection(EverywordSmall.TOKEN_DIMS) | quantizer(np.concatenate(tokens), asked, rng), tokens


def _colbert_small(lines: list[str], questions: list[str], rng: np.random.Generator) -> Fitted:
    encoder = TextEncoder(find_model(COLBERT_SMALL), token_states)
    encoded = _with_progress(encoder.encode_many(lines, Marker.PASSAGE), len(lines))
    states = [text.tokens for text in encoded]
    components, _ = _components(np.concatenate(states))
    # Rounded first, so that all that follows is fitted to what will be used.
    projection = components[:, : ColbertSmall.TOKEN_DIMS].astype(np.float16)
    tokens = [unit(text @ projection.astype(np.float32)) for text in states]

    means = np.stack([text.mean(axis=0) for text in states])
    pooled_mean = unit(means.mean(axis=0))
    centred = unit(unit(means) - pooled_mean)
    pooled_components, weights = _components(centred)
    pooled_projection = pooled_components[:, :POOLED_DIMS] * weights[:POOLED_DIMS] ** HALF_WHITE
    codec = {
        "projection": projection,
        "pooled_mean": pooled_mean.astype(np.float32),
        "pooled_projection": pooled_projection.astype(np.float16),
    }
    asked = np.concatenate([text.tokens for text in encoder.encode_many(questions, Marker.QUESTION)])
    asked = asked @ projection.astype(np.float32)
    return codec | quantizer(np.concatenate(tokens), unit(asked), rng), tokens


def _centroids(vectors: Floats, rng: np.random.Generator) -> Floats:
    """Place the centroids by k-means; one that no vector is nearest to stays where it is."""
    centroids = vectors[rng.choice(len(vectors), CENTROIDS, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = nearest_centroids(vectors, centroids)
        counts = np.bincount(nearest, minlength=CENTROIDS)
        sums = [np.bincount(nearest, column, minlength=CENTROIDS) for column in vectors.T]
        found = counts > 0
        centroids[found] = (np.stack(sums, axis=1)[found] / counts[found, None]).astype(np.float32)
    return centroids


def _components(vectors: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the principal directions (not centred: a cosine is not) and their weights, largest first."""
    weights, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64) / len(vectors))
    return directions[:, ::-1], weights[::-1]


def _sample(path: Path, count: int, chance: random.Random) -> list[str]:
    lines = list(_lines(path, chance))
    chance.shuffle(lines)
    return lines[:count]


def _questions(path: Path, count: int, chance: random.Random) -> list[str]:
    with _opened(path) as file:
        asked = [str(json.loads(row)["question"]) for row in file]
    chance.shuffle(asked)
    return asked[:count]


def _lines(path: Path, chance: random.Random) -> Iterator[str]:
    with _opened(path) as file:
        for row in file:
            entry = json.loads(row)
            pool = entry.get("lines", [entry])
            drawn = entry["turns"] if "turns" in entry else chance.sample(pool, min(LINES_A_POOL, len(pool)))
            # Events have a date always; a conversation without one gets some day.
            day = day_in_words(FIRST_DAY + timedelta(days=chance.randrange(DAYS))) if "turns" in entry else None
            for line in drawn:
                date = f"[{line.get('date', day)}] " if line.get("date", day) else ""
                speaker = f"{line['speaker']}: " if line.get("speaker") else ""
                yield date + speaker + line["text"][:MAX_CHARACTERS]


def _opened(path: Path) -> IO[str]:
    return lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")


def _report(tokens: list[Floats], path: Path) -> None:
    codec = TokenCodec.read(path.read_bytes())
    some = np.concatenate(tokens[:: max(1, len(tokens) // 200)])
    close = (unit(_repacked(codec, some)) * some).sum(axis=1).mean()
    print(
        f"{path}: {path.stat().st_size:,} bytes; {len(tokens):,} lines, {sum(map(len, tokens)):,} tokens; "
        f"{codec.vector_bytes} bytes a vector, mean cosine with it {close:.4f}"
    )


def _repacked(codec: TokenCodec, tokens: Floats) -> Floats:
    """Pack a few tokens at a time, so that none are merged."""
    return np.concatenate([codec.unpack(codec.pack(some)) for some in np.array_split(tokens, len(tokens) // 64 + 1)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit the codec of an embedder.")
    parser.add_argument("model", choices=(EVERYWORD_SMALL.name, COLBERT_SMALL.name))
    parser.add_argument(
        "--lines", type=Path, nargs="+", required=True, help="JSON lines, plain or .xz; a file each kind"
    )
    parser.add_argument("--questions", type=Path, required=True, help='JSON lines with "question", plain or .xz')
    parser.add_argument("--count", type=int, default=4000, help="how many lines to use")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
