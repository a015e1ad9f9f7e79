"""Fit the storage codec of an exported model: python -m training.fit FOLDER --lines pools.jsonl.xz

The model gives token vectors of the size that is stored: what is fitted are the centroids and the
parts of differences from them. The file has the form that everyword.models.token_codec reads.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from tools.fit_codec import _sample, quantizer, without_projection  # pyright: ignore[reportPrivateUsage]

from everyword.models.token_codec import unit
from training.embedder import Trained


def main() -> None:
    """Encode sample lines, fit and write."""
    parser = argparse.ArgumentParser(description="Fit the storage codec of an exported model.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    (arguments.folder / "codec.npz").unlink(missing_ok=True)
    model = Trained(arguments.folder)
    rng = np.random.default_rng(arguments.seed)
    lines = _sample(arguments.lines, arguments.count, random.Random(arguments.seed))
    tokens = np.concatenate([tokens for tokens, _ in model.kept(lines)])
    codec = without_projection(tokens.shape[1]) | quantizer(tokens, None, rng)
    with (arguments.folder / "codec.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **codec)
    fitted = Trained(arguments.folder).codec
    close = [(unit(fitted.unpack(fitted.pack(one[None]))) * one).sum() for one in tokens[:: len(tokens) // 300]]
    print(f"{len(lines)} lines, {len(tokens)} tokens; mean cosine with what is stored {np.mean(close):.4f}")


if __name__ == "__main__":
    main()
