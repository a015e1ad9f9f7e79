"""A model as the product loads it: the graph, the tokenizer, and the codec of what is stored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from tools.fit_codec import quantizer, without_projection
from torch import Tensor

from training import export
from training.scoring import encode_all
from training.weights import Arrays

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
    """Fit centroids and parts to tokens, in the form that TokenCodec reads."""
    model.eval()
    lines = bench.plain()
    count = min(bench.plan.get("sample", LINES), len(bench.seen))
    rows = np.random.default_rng(1).choice(bench.seen, count, replace=False)
    vectors, _, _ = encode_all(model, lines, rows, bench.punctuation, 0)
    vectors = vectors.float() if projection is None else vectors.float() @ projection
    tokens = torch.nn.functional.normalize(vectors, dim=-1).cpu().numpy()
    return without_projection(tokens.shape[1]) | quantizer(tokens, None, np.random.default_rng(1))
