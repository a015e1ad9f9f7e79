"""Gather trained readers, and write one as ONNX.

    python -m training.reading.export pack --work WORK --to OUT --runs RUN ...  # where it was trained: the best
    python -m training.reading.export onnx --parts OUT --name reader --to FOLDER     # anywhere: the int8 graph
    python -m training.reading.export back --model FOLDER --to START   # a graph's weights, to go on training from

The graph takes one row at a time: word embeddings (`words`), `segments` and `shapes` go in; `reading` (columns as
`decoding.columns` says), `pair`, `choice` and `answer` (logits) come out.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from everyword.models.reader.decoding import CHOICES, PAIRS
from training import export as base
from training.weights import Arrays

PART_BYTES = 14_000_000  # of a file that comes back from the machine that trains
WORDS = "encoder.embed_word.weight"
SMALL = Path("packages/everyword-models/src/everyword_models/everyword-small")


class FloatGraph(base.Graph):
    """The same graph with float matrices."""

    def product(self, states: str, name: str, matrix: Any, bias: Any | None) -> str:
        made = self.node("MatMul", [states, self.number(name, matrix.astype(np.float32))])
        if bias is None:
            return made
        return self.node("Add", [made, self.number(f"{name}@bias", bias.astype(np.float32))])


def build(arrays: Arrays, *, rounded: bool) -> Any:
    """Build the graph of a reader. Word embeddings go in: the product has them in the file of everyword-small."""
    g: base.Graph = base.Graph() if rounded else FloatGraph()
    f = {name: np.asarray(value, np.float32) for name, value in arrays.items()}
    g.number("zero", np.array([0], np.int64))
    _reader(g, f, _behind(g, f, _embedded(g, f)))
    outputs = [
        ("reading", ["n", f["read.weight"].shape[0]]),
        ("pair", [1, len(PAIRS)]),
        ("choice", [1, len(CHOICES)]),
        ("answer", ["n", 2]),
    ]
    graph = helper.make_graph(
        g.nodes,
        "everyword",
        [
            helper.make_tensor_value_info("words", TensorProto.FLOAT, ["n", f["read.weight"].shape[1]]),
            *(helper.make_tensor_value_info(name, TensorProto.INT64, ["n"]) for name in ("segments", "shapes")),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        g.numbers,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(base.OURS, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def _reader(g: base.Graph, f: Arrays, behind: list[str]) -> None:
    last, middle = (g.node("Squeeze", [one, "zero"]) for one in (behind[-1], behind[(len(behind) - 1) // 2]))
    both = g.node("Concat", [last, middle], axis=-1)
    for name in ("read", "answer"):
        hidden = _linear(g, f, f"{name}_hidden", both)
        _linear(g, f, name, _gelu(g, hidden), out={"read": "reading", "answer": "answer"}[name])
    _compared(g, f, last, "pair", (0, 1))
    _compared(g, f, last, "choice", (1, 2))


def layers_of(arrays: Arrays) -> int:
    """Count the layers of an encoder."""
    return 1 + max(int(name.split(".")[2]) for name in arrays if name.startswith("encoder.layers."))


def _embedded(g: base.Graph, f: Arrays) -> str:
    """Add positions, segments and how words are written to word embeddings."""
    positions = (f["encoder.embed_position.weight"] + f["encoder.embed_token_type.weight"][0]).astype(np.float16)
    size = g.node("Shape", ["words"], start=0, end=1)
    here = g.node("Slice", [g.number("positions", positions), "zero", size])
    states = g.node("Add", ["words", g.node("Cast", [here], to=TensorProto.FLOAT)])
    for kind, ids in (("segment", "segments"), ("shape", "shapes")):
        states = g.node("Add", [states, g.node("Gather", [g.number(kind, f[f"encoder.embed_{kind}.weight"]), ids])])
    norm = [g.number(f"norm.{kind}", f[f"encoder.embed_norm.{kind}"]) for kind in ("weight", "bias")]
    states = g.node("LayerNormalization", [states, *norm], axis=-1, epsilon=base.NORM_EPSILON)
    return g.node("Unsqueeze", [states, "zero"])


def _behind(g: base.Graph, f: Arrays, states: str) -> list[str]:
    """Give the states behind each layer."""
    found: list[str] = []
    for layer in range(layers_of(f)):
        start = f"encoder.layers.{layer}."
        part = {name.removeprefix(start): v for name, v in f.items() if name.startswith(start)}
        states = base._layer(g, part, layer, states)
        found.append(states)
    return found


def _part(g: base.Graph, states: str, segment: int) -> str:
    """Take the states of one segment."""
    here = g.node("Equal", ["segments", g.number(f"segment{segment}-{len(g.nodes)}", np.array([segment], np.int64))])
    return g.node("Compress", [states, here], axis=0)


def _compared(g: base.Graph, f: Arrays, last: str, name: str, segments: tuple[int, int]) -> None:
    """Set two parts of a row side by side; a row without them gives a number that nothing uses."""
    first = g.node("Slice", [last, "zero", g.number(f"one-{name}", np.array([1], np.int64))])
    means: list[str] = []
    for segment in segments:
        part = _part(g, last, segment)
        size = g.node("Cast", [g.node("Shape", [part], start=0, end=1)], to=TensorProto.FLOAT)
        size = g.node("Max", [size, g.number(f"least-{name}{segment}", np.array([1], np.float32))])
        total = g.node("ReduceSum", [part, "zero"], keepdims=1)
        means.append(g.node("Div", [total, size]))
    a, b = means
    features = [first, a, b]
    if name == "pair":
        features += [g.node("Mul", [a, b]), g.node("Abs", [g.node("Sub", [a, b])])]
    hidden = _linear(g, f, f"{name}_hidden", g.node("Concat", features, axis=-1))
    _linear(g, f, name, _gelu(g, hidden), out=name)


def _linear(g: base.Graph, f: Arrays, name: str, states: str, out: str | None = None) -> str:
    # Heads are kept as float16: to round them further would cost more than the bytes are worth.
    kept = g.number(f"{name}.weight", f[f"{name}.weight"].T.astype(np.float16))
    made = g.node("MatMul", [states, g.node("Cast", [kept], to=TensorProto.FLOAT)])
    return g.node("Add", [made, g.number(f"{name}.bias", f[f"{name}.bias"])], out=out)


def _gelu(g: base.Graph, states: str) -> str:
    return g.node("Gelu", [states], domain=base.OURS)


def pack(work: Path, out: Path, names: Sequence[str]) -> None:
    """Write the best of some runs in parts, and the scores of all."""
    import torch

    found = {path.stem: json.loads(path.read_text()) for path in sorted(work.glob("*.json"))}
    best = max(names, key=lambda name: found[name]["choose"]["headline"])
    state = torch.load(work / f"{best}.pt", map_location="cpu")
    write_parts({key: value.float().numpy() for key, value in state.items()}, out, "reader")
    (out / "runs.json").write_text(json.dumps({**found, "reader": found[best]}, indent=1))
    print(f"packed {best}", flush=True)


def write_parts(arrays: Arrays, out: Path, name: str) -> None:
    """Write weights as float16 in files small enough to come back, without word embeddings."""
    parts: list[Arrays] = [{}]
    size = 0
    for key, value in arrays.items():
        if key == WORDS:
            continue
        if size and size + 2 * value.size > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][key] = value.astype(np.float16)
        size += 2 * value.size
    for number, part in enumerate(parts):
        np.savez(out / f"{name}-{number}.npz", allow_pickle=False, **part)


def take_back(folder: Path, to: Path) -> None:
    """Write the weights of a shipped reader in parts, as training goes on from them."""
    from training.reading.model import reader_from_onnx

    about = json.loads((folder / "reader.json").read_text())
    to.mkdir(parents=True, exist_ok=True)
    write_parts(reader_from_onnx(folder / "reader.onnx"), to, "reader")
    (to / "runs.json").write_text(json.dumps({"reader": {"relations": about["relations"]}}))


def read_parts(folder: Path, name: str) -> Arrays:
    """Read what `write_parts` wrote; the word embeddings are those of everyword-small."""
    arrays: Arrays = {}
    for path in sorted(folder.glob(f"{name}-[0-9].npz")):
        with np.load(path, allow_pickle=False) as file:
            arrays |= {key: file[key].astype(np.float32) for key in file.files}
    return arrays


def relations_of_run(folder: Path) -> list[str]:
    """List the relations that the reader in a folder of parts knows."""
    return json.loads((folder / "runs.json").read_text())["reader"]["relations"]


def write_folder(arrays: Arrays, about: dict[str, Any], to: Path) -> None:
    """Write reader.onnx and reader.json, which the product ships."""
    to.mkdir(parents=True, exist_ok=True)
    model = build(arrays, rounded=True)
    onnx.checker.check_model(model)
    data = model.SerializeToString()
    (to / "reader.onnx").write_bytes(data)
    chosen = about["chosen"]
    written = {
        "version": hashlib.sha256(data).hexdigest()[:8],
        "relations": about["relations"],
        "thresholds": chosen["settings"],
        "temperatures": chosen["temperatures"] or {},
        "answer_least": chosen["answer_least"],
        "answer_rank": chosen["answer_rank"],
        "words": words_in(SMALL / "model.onnx"),
    }
    (to / "reader.json").write_text(json.dumps(written, indent=1) + "\n")
    print(f"reader.onnx: {len(data) / 1e6:.1f} MB")


def words_in(path: Path) -> dict[str, Any]:
    """Say where the word embeddings are in the file of everyword-small."""
    data = path.read_bytes()
    stored = {one.name: one for one in onnx.load_from_string(data).graph.initializer}
    table, scale = stored["words"], stored["words@scale"]
    for one in (table, scale):
        assert data.count(one.raw_data[:4096]) == 1, one.name
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "shape": list(table.dims),
        "offset": data.index(table.raw_data),
        "scale_offset": data.index(scale.raw_data),
    }


def main() -> None:
    """Pack or export."""
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(dest="do", required=True)
    packing = kinds.add_parser("pack")
    packing.add_argument("--work", type=Path, required=True)
    packing.add_argument("--to", type=Path, required=True)
    packing.add_argument("--runs", nargs="+", required=True)
    exporting = kinds.add_parser("onnx")
    exporting.add_argument("--parts", type=Path, required=True)
    exporting.add_argument("--name", default="reader")
    exporting.add_argument("--to", type=Path, required=True)
    back = kinds.add_parser("back")
    back.add_argument("--model", type=Path, required=True)
    back.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.do == "pack":
        pack(arguments.work, arguments.to, arguments.runs)
        return
    if arguments.do == "back":
        take_back(arguments.model, arguments.to)
        return
    about = json.loads((arguments.parts / "runs.json").read_text())[arguments.name]
    write_folder(read_parts(arguments.parts, arguments.name), about, arguments.to)


if __name__ == "__main__":
    main()
