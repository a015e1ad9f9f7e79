"""Teach a finished reader one more question about a statement: is it worth telling unasked weeks later?

    python -m training.reading.lasting --model FOLDER --talk DATA --pools POOLS

It is one more column of the `read` layer, found by logistic regression over what that layer sees, from the labels of
`lasting.jsonl`. The rest of the network stays as it is, so that nothing else which it tells changes. Prints the scores
on the conversations that settings are chosen on.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import numpy_helper

from everyword.models.reader.decoding import columns
from everyword.models.reader.reader import ABOUT, MODEL, TextReader
from training.reading import corpus
from training.reading.evaluation import gold_tokens
from training.reading.examples import Writer, statements_of
from training.reading.export import SMALL
from training.reading.metrics import yes_scores

RIDGES = (30.0, 100.0, 300.0, 1000.0)  # tried; the best on the conversations kept back for it is taken
STEPS = 25  # of Newton's method, which has converged long before
Floats = NDArray[np.float64]


class Seen(NamedTuple):
    """What the last layer sees of one statement, and the label."""

    split: str
    hidden: Floats
    lasting: bool


def main() -> None:
    """Add the column, or replace the one that is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--talk", type=Path)
    parser.add_argument("--pools", type=Path)
    arguments = parser.parse_args()
    graph = onnx.load(arguments.model / MODEL)
    about = json.loads((arguments.model / ABOUT).read_text())
    conversations = corpus.load(talk=arguments.talk, pools=arguments.pools)
    extend(graph, about, list(_seen(graph, TextReader.in_folder(arguments.model), conversations)))
    (arguments.model / MODEL).write_bytes(graph.SerializeToString())
    (arguments.model / ABOUT).write_text(json.dumps(about, indent=1) + "\n")


def extend(graph: onnx.ModelProto, about: dict[str, Any], seen: list[Seen]) -> None:
    """Fit the question, and put its column behind the others."""
    train = [one for one in seen if one.split == "train"]
    rows, labels = np.stack([one.hidden for one in train]), np.array([one.lasting for one in train], float)
    found: list[tuple[float, Floats, float]] = []
    for ridge in RIDGES:
        weight, bias = logistic(rows, labels, ridge)
        scored = [(float(one.hidden @ weight + bias), one.lasting) for one in seen if one.split == "choose"]
        scores = yes_scores(scored)
        print(json.dumps({"ridge": ridge, **scores}))
        found.append((scores["auroc"], weight, bias))
    _, weight, bias = max(found, key=lambda one: one[0])
    first = columns(len(about["relations"]))["lasting"].start
    weights, biases = _stored(graph, "read.weight")[:, :first], _stored(graph, "read.bias")[:first]
    _store(graph, "read.weight", np.concatenate([weights, weight[:, None].astype(weights.dtype)], 1))
    _store(graph, "read.bias", np.append(biases, biases.dtype.type(bias)))
    reading = next(one for one in graph.graph.output if one.name == "reading")
    reading.type.tensor_type.shape.dim[1].dim_value = first + 1
    onnx.checker.check_model(graph)
    about["version"] = hashlib.sha256(graph.SerializeToString()).hexdigest()[:8]


def logistic(rows: Floats, labels: Floats, ridge: float) -> tuple[Floats, float]:
    """Fit a logistic regression by Newton's method; `ridge` holds the weights of standardised columns small."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    x = np.concatenate([(rows - mean) / spread, np.ones((len(rows), 1))], 1)
    held = np.diag([ridge] * rows.shape[1] + [0.0])
    weight = np.zeros(x.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weight, -30, 30)))
        slope = x.T @ (chance - labels) + held @ weight
        curve = (x * (chance * (1 - chance))[:, None]).T @ x + held
        weight -= np.linalg.solve(curve, slope)
    scaled = weight[:-1] / spread
    return scaled, float(weight[-1] - mean @ scaled)


def _seen(graph: onnx.ModelProto, product: TextReader, conversations: list[corpus.Conversation]) -> Iterator[Seen]:
    """Run the network up to its last layer on every statement that somebody decided about."""
    inner = onnx.ModelProto()
    inner.CopyFrom(graph)
    last = next(one for one in inner.graph.node if "reading" in one.output)
    made = next(one for one in inner.graph.node if one.output[0] in last.input and one.op_type == "MatMul")
    inner.graph.output.append(onnx.helper.make_empty_tensor_value_info(made.input[0]))
    session = onnxruntime.InferenceSession(inner.SerializeToString())
    writer = Writer(SMALL / "tokenizer.json")
    for one in conversations:
        for row in writer.readings(one) if one.split != "held" else ():
            decided = [told for told in statements_of(row) if told.lasting is not None]
            if not decided:
                continue
            found: Any = session.run([made.input[0]], product.feeds(row))[0]
            hidden = np.asarray(found, np.float64).reshape(len(row.ids), -1)
            for told in decided:
                if tokens := gold_tokens(row, told.start, told.end):
                    yield Seen(one.split, hidden[tokens].mean(0), bool(told.lasting))


def _stored(graph: onnx.ModelProto, name: str) -> NDArray[Any]:
    return numpy_helper.to_array(next(one for one in graph.graph.initializer if one.name == name))


def _store(graph: onnx.ModelProto, name: str, values: NDArray[Any]) -> None:
    place = next(one for one in graph.graph.initializer if one.name == name)
    place.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), name))


if __name__ == "__main__":
    main()
