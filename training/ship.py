"""A model as the product loads it: the graph, the tokenizer, and the codec of what is stored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

from training import export
from training.scoring import encode_all
from training.weights import Arrays

LEVELS, ROUNDS = 16, 30  # of the codec: 4 bits a dimension, and how often levels are moved
SAMPLE = 400_000  # values that levels are fitted to
LINES = 6000  # of the training data that a codec is fitted to


def write_folder(bench: Any, model: Any, projection: Tensor | None, folder: Path) -> None:
    """Write model.onnx, tokenizer.json and codec.npz; a projection becomes part of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: value.detach().float().cpu().numpy() for name, value in model.state_dict().items()}
    if projection is not None:
        state["to_tokens.weight"] = projection.T.float().cpu().numpy() @ state["to_tokens.weight"]
    onnx.save(export.build(state, len(model.encoder.layers)), folder / "model.onnx")
    shutil.copy(bench.files / "tokenizer.json", folder / "tokenizer.json")
    np.savez(folder / "codec.npz", allow_pickle=False, **fitted(bench, model, projection))


def write_reranker(bench: Any, model: Any, folder: Path) -> None:
    """Write a cross-encoder as the product loads one from a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: value.detach().float().cpu().numpy() for name, value in model.state_dict().items()}
    onnx.save(export.build_pairs(state, len(model.encoder.layers)), folder / "model.onnx")
    shutil.copy(bench.files / "tokenizer.json", folder / "tokenizer.json")


def fitted(bench: Any, model: Any, projection: Tensor | None) -> Arrays:
    """Fit each dimension's mean and spread and the sixteen levels, in the form that TokenCodec reads."""
    model.eval()
    lines = bench.plain()
    count = min(bench.plan.get("sample", LINES), len(bench.seen))
    rows = np.random.default_rng(1).choice(bench.seen, count, replace=False)
    vectors, _, _ = encode_all(model, lines, rows, bench.punctuation, 0)
    vectors = vectors.float() if projection is None else vectors.float() @ projection
    tokens = torch.nn.functional.normalize(vectors, dim=-1).cpu().numpy()
    mean, spread = tokens.mean(axis=0), tokens.std(axis=0)
    standard = ((tokens - mean) / spread).ravel()
    dims = tokens.shape[1]
    return {
        "projection": np.eye(dims, dtype=np.float16),
        "mean": mean,
        "spread": spread,
        "levels": levels(standard[np.random.default_rng(1).integers(0, len(standard), SAMPLE)]),
        # The graph pools by itself; the codec's own way of pooling is not used.
        "pooled_mean": np.zeros(dims, np.float32),
        "pooled_projection": np.zeros((dims, 1), np.float16),
    }


def levels(sample: Any) -> Any:
    """Place the levels where rounding to the nearest loses least (Lloyd-Max)."""
    found = np.quantile(sample, (np.arange(LEVELS) + 0.5) / LEVELS)
    for _ in range(ROUNDS):
        nearest = np.searchsorted((found[1:] + found[:-1]) / 2, sample)
        found = np.array([sample[nearest == level].mean() for level in range(LEVELS)])
    return found.astype(np.float32)
