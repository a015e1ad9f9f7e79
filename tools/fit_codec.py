"""Fit the codec of the default embedder from lines of text: python tools/fit_codec.py --lines lines.jsonl.xz

Each line of the file is one JSON object: {"text", "speaker"?, "date"?}, or a pool of them, {"lines": [...]},
of which two are drawn. The lines pass through the product's own encoder, as stored passages do. The same
lines on the same kind of machine give the same file.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from everyword.models.embedders import POOLED_DIMS, ColbertSmall
from everyword.models.encoder import Marker, TokenEncoder
from everyword.models.token_codec import LEVELS, TokenCodec, unit
from everyword.models.weights import COLBERT_SMALL, find_model

CODEC_FILE, TOKEN_DIMS = ColbertSmall.CODEC_FILE, ColbertSmall.TOKEN_DIMS
Floats = NDArray[np.float32]

LINES_A_POOL = 2  # a pool is one document: more of it would teach its topic, not the language
MAX_CHARACTERS = 600  # about the longest passage that is stored as one
LLOYD_ROUNDS = 30  # enough for 16 levels to settle
LEVEL_SAMPLE = 400_000  # standardised values that the levels are fitted to
# Between none (0) and full (-.5) whitening: what most texts share counts less, noise is not blown up.
HALF_WHITE = -0.25


def main() -> None:
    """Read the lines, encode them, fit, and write the codec."""
    arguments = _arguments()
    lines = _sample(arguments.lines, arguments.count, random.Random(arguments.seed))
    encoder = TokenEncoder(find_model(COLBERT_SMALL))
    states = list(track(encoder.encode_many(lines, Marker.PASSAGE), total=len(lines), description="Encoding lines"))
    codec = fit(states, np.random.default_rng(arguments.seed))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("wb") as file:
        np.savez(file, allow_pickle=False, **codec)
    _report(states, arguments.out)


def fit(states: list[Floats], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Fit every array of a TokenCodec to the token states of sample texts."""
    tokens = np.concatenate(states)
    # A random rotation spreads what the first components carry, so that equal bits for each are well spent.
    rotation, _ = np.linalg.qr(rng.standard_normal((TOKEN_DIMS, TOKEN_DIMS)))
    components, _ = _components(tokens)
    # Rounded first, so that all that follows is fitted to what will be used.
    projection = (components[:, :TOKEN_DIMS] @ rotation).astype(np.float16)
    projected = unit(tokens @ projection.astype(np.float32))
    mean, spread = projected.mean(axis=0), projected.std(axis=0)
    standard = ((projected - mean) / spread).ravel()

    means = np.stack([text.mean(axis=0) for text in states])
    pooled_mean = unit(means.mean(axis=0))
    centred = unit(unit(means) - pooled_mean)
    pooled_components, weights = _components(centred)
    pooled_projection = pooled_components[:, :POOLED_DIMS] * weights[:POOLED_DIMS] ** HALF_WHITE
    return {
        "projection": projection,
        "mean": mean.astype(np.float32),
        "spread": spread.astype(np.float32),
        "levels": _levels(standard[rng.integers(0, len(standard), LEVEL_SAMPLE)]),
        "pooled_mean": pooled_mean.astype(np.float32),
        "pooled_projection": pooled_projection.astype(np.float16),
    }


def _components(vectors: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the principal directions (not centred: a cosine is not) and their weights, largest first."""
    weights, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64) / len(vectors))
    return directions[:, ::-1], weights[::-1]


def _levels(sample: Floats) -> Floats:
    """Place the levels where rounding to the nearest loses least (Lloyd-Max)."""
    levels = np.quantile(sample, (np.arange(LEVELS) + 0.5) / LEVELS)
    for _ in range(LLOYD_ROUNDS):
        nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, sample)
        levels = np.array([sample[nearest == level].mean() for level in range(LEVELS)])
    return levels.astype(np.float32)


def _sample(path: Path, count: int, chance: random.Random) -> list[str]:
    lines = list(_lines(path, chance))
    chance.shuffle(lines)
    return lines[:count]


def _lines(path: Path, chance: random.Random) -> Iterator[str]:
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for row in file:
            entry = json.loads(row)
            pool = entry.get("lines", [entry])
            for line in chance.sample(pool, min(LINES_A_POOL, len(pool))):
                date = f"[{line['date']}] " if line.get("date") else ""
                speaker = f"{line['speaker']}: " if line.get("speaker") else ""
                yield date + speaker + line["text"][:MAX_CHARACTERS]


def _report(states: list[Floats], path: Path) -> None:
    codec = TokenCodec.read(path.read_bytes())
    kept = lost = total = 0.0
    for text in states[:: max(1, len(states) // 200)]:
        packed = codec.pack(text)
        kept += len(packed) / codec.token_bytes
        total += len(text)
        lost += float((1 - (unit(codec.tokens(text)) * unit(_repack(codec, text))).sum(axis=1)).sum())
    print(
        f"{path}: {path.stat().st_size:,} bytes; {len(states):,} lines, {sum(map(len, states)):,} tokens; "
        f"keeps {kept / total:.0%} of tokens, mean cosine after 4 bits {1 - lost / total:.4f}"
    )


def _repack(codec: TokenCodec, states: Floats) -> Floats:
    """Pack token by token, so that none is dropped as a duplicate."""
    return np.concatenate([codec.unpack(codec.pack(token[None])) for token in states])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit the codec of the default embedder.")
    parser.add_argument("--lines", type=Path, required=True, help="JSON lines, plain or .xz")
    parser.add_argument("--count", type=int, default=4000, help="how many lines to use")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=CODEC_FILE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
