"""Write a trained model as an ONNX graph with int8 weights: python -m training.export --model PART PART ... --to FOLDER

The graph is built node by node, for one text at a time: no padding, no mask, nothing but token ids goes in. Matrices
have an int8 scale a column, word embeddings one a row; what is multiplied with them is rounded as it comes. Out come
`tokens` (unit length), `pooled` (unit length) and, if the model has it, `weights` (what a question's tokens count for,
1 on average).
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from training import weights

WIDTH, HEADS = 384, 12
POOLED_DIMS = 128  # of the 384 nested ones
OURS = "com.microsoft"  # operators of onnxruntime, the only runtime that is used
NORM_EPSILON = 1e-12
LARGEST = 127


class Graph:
    """Collects nodes and numbers."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.numbers: list[Any] = []

    def number(self, name: str, value: Any) -> str:
        """Keep an array under a name."""
        self.numbers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(
        self, kind: str, inputs: list[str], *, out: str | None = None, count: int = 1, domain: str = "", **more: Any
    ) -> Any:
        """Add a node; give the names of its results."""
        names = [out] if out else [f"{kind}_{len(self.nodes)}_{place}" for place in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **more))
        return names[0] if count == 1 else names

    def product(self, states: str, name: str, matrix: Any, bias: Any | None) -> str:
        """Multiply with an int8 matrix of (in, out), a scale a column."""
        scale = (np.abs(matrix).max(axis=0) / LARGEST + 1e-12).astype(np.float32)
        rounded = np.rint(matrix / scale).astype(np.int8)
        inputs = [states, self.number(name, rounded), self.number(f"{name}@scale", scale)]
        inputs += [self.number(f"{name}@zero", np.zeros(len(scale), np.int8))]
        if bias is not None:
            inputs.append(self.number(f"{name}@bias", bias.astype(np.float32)))
        return self.node("DynamicQuantizeMatMul", inputs, domain=OURS)


def build(arrays: weights.Arrays, layers: int) -> Any:
    """Build the graph of a model of ours."""
    g = Graph()
    f = {name: value.astype(np.float32) for name, value in arrays.items()}
    states = _embedded(g, f)
    for layer in range(layers):
        states = _layer(
            g,
            {name.split(".", 3)[3]: v for name, v in f.items() if name.startswith(f"encoder.layers.{layer}.")},
            layer,
            states,
        )
    _heads(g, f, states)
    dims = f["to_tokens.weight"].shape[0]
    outputs = [("tokens", ["n", dims]), ("pooled", [POOLED_DIMS])]
    if "to_weight.weight" in f:
        outputs.append(("weights", ["n"]))
    graph = helper.make_graph(
        g.nodes,
        "everyword",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        g.numbers,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(OURS, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def build_pairs(arrays: weights.Arrays, layers: int) -> Any:
    """Build the graph of a cross-encoder: a pair's ids and kinds, one pair at a time, to one number."""
    g = Graph()
    f = {name: value.astype(np.float32) for name, value in arrays.items()}
    zero = g.number("zero", np.array([0], np.int64))
    ids, kinds = (g.node("Squeeze", [name, zero]) for name in ("input_ids", "token_type_ids"))
    states = _embedded(g, f, ids=ids, kinds=kinds)
    for layer in range(layers):
        start = f"encoder.layers.{layer}."
        states = _layer(g, {n.removeprefix(start): v for n, v in f.items() if n.startswith(start)}, layer, states)
    flat = g.node("Squeeze", [states, zero])
    first = g.node("Slice", [flat, zero, g.number("one", np.array([1], np.int64))])
    for name in ("pool", "classifier"):
        product = g.node("MatMul", [first, g.number(name, f[f"{name}.weight"].T)])
        last = name == "classifier"
        first = g.node("Add", [product, g.number(f"{name}@bias", f[f"{name}.bias"])], out="logits" if last else None)
        first = first if last else g.node("Tanh", [first])
    graph = helper.make_graph(
        g.nodes,
        "everyword",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "n"]) for name in ("input_ids", "token_type_ids")],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1])],
        g.numbers,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(OURS, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def _embedded(g: Graph, f: weights.Arrays, *, ids: str = "input_ids", kinds: str | None = None) -> str:
    words = f["encoder.embed_word.weight"]
    scale = np.abs(words).max(axis=1, keepdims=True) / LARGEST + 1e-12
    table = g.number("words", np.rint(words / scale).astype(np.int8))
    rows = g.node("Cast", [g.node("Gather", [table, ids])], to=TensorProto.FLOAT)
    rows = g.node("Mul", [rows, g.node("Gather", [g.number("words@scale", scale.astype(np.float32)), ids])])
    types = f["encoder.embed_token_type.weight"]
    # Every token is of the first kind, unless it is said: its vector is part of each position's.
    positions = g.number("positions", (f["encoder.embed_position.weight"] + types[0]).astype(np.float16))
    if not any(one.name == "zero" for one in g.numbers):
        g.number("zero", np.array([0], np.int64))
    here = g.node("Slice", [positions, "zero", g.node("Shape", [ids])])
    states = g.node("Add", [rows, g.node("Cast", [here], to=TensorProto.FLOAT)])
    if kinds is not None:
        states = g.node("Add", [states, g.node("Gather", [g.number("kinds", types - types[0]), kinds])])
    norm = [g.number(f"embed_norm.{kind}", f[f"encoder.embed_norm.{kind}"]) for kind in ("weight", "bias")]
    states = g.node("LayerNormalization", [states, *norm], axis=-1, epsilon=NORM_EPSILON)
    return g.node("Unsqueeze", [states, "zero"])


def _layer(g: Graph, f: weights.Arrays, layer: int, states: str) -> str:
    name = f"layer{layer}"
    parts = g.product(states, f"{name}.qkv", f["qkv.weight"].T, f["qkv.bias"])
    query, key, value = g.node("Split", [parts, _thirds(g)], count=3, axis=-1)
    mixed = g.node("MultiHeadAttention", [query, key, value], domain=OURS, num_heads=HEADS)
    mixed = g.product(mixed, f"{name}.mix", f["mix.weight"].T, f["mix.bias"])
    states = _norm(g, f"{name}.mixed_norm", mixed, states, f["mixed_norm.weight"], f["mixed_norm.bias"])
    wide = g.product(states, f"{name}.widen", f["widen.weight"].T, f["widen.bias"])
    wide = g.node("Gelu", [wide], domain=OURS)
    narrow = g.product(wide, f"{name}.narrow", f["narrow.weight"].T, f["narrow.bias"])
    return _norm(g, f"{name}.norm", narrow, states, f["norm.weight"], f["norm.bias"])


def _thirds(g: Graph) -> str:
    if not any(one.name == "thirds" for one in g.numbers):
        g.number("thirds", np.array([WIDTH] * 3, np.int64))
    return "thirds"


def _norm(g: Graph, name: str, new: str, old: str, weight: Any, bias: Any) -> str:
    # Not SkipLayerNormalization, which does both: onnxruntime computes it number by number, a sixth of the whole time.
    norm = [g.number(f"{name}.weight", weight), g.number(f"{name}.bias", bias)]
    return g.node("LayerNormalization", [g.node("Add", [new, old]), *norm], axis=-1, epsilon=NORM_EPSILON)


def _heads(g: Graph, f: weights.Arrays, states: str) -> None:
    flat = g.node("Squeeze", [states, "zero"])
    tokens = g.node("MatMul", [flat, g.number("to_tokens", f["to_tokens.weight"].T)])
    g.node("LpNormalization", [tokens], out="tokens", axis=-1, p=2)
    if "to_weight.weight" in f:
        _weights(g, f, flat)
    mean = g.node("ReduceMean", [flat], axes=[0], keepdims=1)
    pooled = g.node("MatMul", [mean, g.number("to_pooled", f["to_pooled.weight"][:POOLED_DIMS].T)])
    pooled = g.node("Add", [pooled, g.number("to_pooled@bias", f["to_pooled.bias"][:POOLED_DIMS])])
    pooled = g.node("LpNormalization", [pooled], axis=-1, p=2)
    g.node("Squeeze", [pooled, "zero"], out="pooled")


def _weights(g: Graph, f: weights.Arrays, flat: str) -> None:
    logits = g.node("MatMul", [flat, g.number("to_weight", f["to_weight.weight"].T)])
    logits = g.node(
        "Squeeze",
        [
            g.node("Add", [logits, g.number("to_weight@bias", f["to_weight.bias"])]),
            g.number("last", np.array([-1], np.int64)),
        ],
    )
    open_ = g.node("Sigmoid", [logits])
    g.node("Div", [open_, g.node("ReduceMean", [open_], keepdims=1)], out="weights")


def gather(parts: list[Path], words: Path) -> weights.Arrays:
    """Join the parts that training saved with the word embeddings that stayed as they were."""
    arrays: weights.Arrays = {}
    for part in parts:
        arrays |= weights.read(part)
    return arrays | {"encoder.embed_word.weight": weights.read(words)["embed_word.weight"]}


def main() -> None:
    """Read, build, check and write."""
    parser = argparse.ArgumentParser(description="Export a trained model.")
    parser.add_argument("--model", type=Path, nargs="+", required=True, help="the parts that training saved")
    parser.add_argument("--words", type=Path, required=True, help="the base whose word embeddings it has")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    model = build(gather(arguments.model, arguments.words), arguments.layers)
    onnx.checker.check_model(model)
    arguments.to.mkdir(parents=True, exist_ok=True)
    onnx.save(model, arguments.to / "model.onnx")
    print(f"{arguments.to / 'model.onnx'}: {(arguments.to / 'model.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
