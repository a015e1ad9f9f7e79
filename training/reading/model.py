"""The reader: a network of its own that starts as a copy of our encoder, with heads for reading, pairs and answers.

It shares the word embeddings with the encoder, which stays as it is: recall gives what it gave, bit for bit. (A first
reader was one network for both. Held to the encoder's vectors it read worse, and let loose it recalled worse.)
What is said of a statement (kind, mode, state, whom it is about, relation) is predicted at every token and averaged
over the tokens of the statement. So one graph gives everything: no second pass once the spans are known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from everyword.models.reader.decoding import CHOICES, PAIRS, columns
from everyword.models.reader.rows import SEGMENTS, SHAPES
from training.network import WIDTH, Encoder
from training.weights import Arrays

Model = TypeVar("Model", bound=nn.Module)

TOKEN_DIMS = 80


class ShapedEncoder(Encoder):
    """The encoder, told besides how words are written and which part of the row they are in."""

    width = WIDTH

    def __init__(self, layers: int, drop: float = 0.0) -> None:
        super().__init__(layers, drop)
        self.embed_shape = nn.Embedding(SHAPES, WIDTH)
        self.embed_segment = nn.Embedding(SEGMENTS, WIDTH)
        # Nought at first: training starts from the encoder as it is.
        nn.init.zeros_(self.embed_shape.weight)
        nn.init.zeros_(self.embed_segment.weight)

    def ends(self, ids: Tensor, there: Tensor, segments: Tensor, shapes: Tensor) -> tuple[Tensor, Tensor]:
        """Give the last states and those in the middle."""
        states = self.embed_word(ids) + self.embed_position.weight[: ids.shape[1]]
        states = states + self.embed_token_type.weight[0] + self.embed_segment(segments) + self.embed_shape(shapes)
        states = F.dropout(self.embed_norm(states), self.drop, self.training)
        mask = there[:, None, None, :]
        found: list[Tensor] = []
        for layer in self.layers:
            states = layer(states, mask, self.drop)
            found.append(states)
        return found[-1], found[(len(found) - 1) // 2]


class Reader(nn.Module):
    """Token ids to a reading, the class of a pair and the place of an answer."""

    def __init__(self, encoder: Any, relations: int, drop: float = 0.0) -> None:
        super().__init__()
        self.drop, width = drop, encoder.width
        self.encoder = encoder
        self.columns = columns(relations)
        # The layer in the middle helps: the last ones start out bound to recall.
        self.read_hidden = nn.Linear(2 * width, width)
        self.read = nn.Linear(width, self.columns["lasting"].stop)  # the last one is fitted afterwards (lasting.py)
        self.pair_hidden = nn.Linear(5 * width, width)
        self.pair = nn.Linear(width, len(PAIRS))
        self.choice_hidden = nn.Linear(3 * width, width)
        self.choice = nn.Linear(width, len(CHOICES))
        self.answer_hidden = nn.Linear(2 * width, width)
        self.answer = nn.Linear(width, 2)

    def both(self, ids: Tensor, there: Tensor, segments: Tensor, shapes: Tensor) -> tuple[Tensor, Tensor]:
        """Give the last states, and these beside the middle ones."""
        last, middle = self.encoder.ends(ids, there, segments, shapes)
        return last, torch.cat([last, middle], -1)

    def reading(self, both: Tensor) -> Tensor:
        """Give the reading's columns at every token."""
        hidden = F.gelu(self.read_hidden(both))
        return self.read(F.dropout(hidden, self.drop, self.training)).float()

    def pairs(self, last: Tensor, there: Tensor, segments: Tensor) -> Tensor:
        """Give the logits of a pair's classes."""
        a, b = (_mean(last, there & (segments == number)) for number in (0, 1))
        hidden = F.gelu(self.pair_hidden(torch.cat([last[:, 0], a, b, a * b, (a - b).abs()], -1).to(last.dtype)))
        return self.pair(F.dropout(hidden, self.drop, self.training)).float()

    def choices(self, last: Tensor, there: Tensor, segments: Tensor) -> Tensor:
        """Give the logits of which of two turns answers a question."""
        a, b = (_mean(last, there & (segments == number)) for number in (1, 2))
        hidden = F.gelu(self.choice_hidden(torch.cat([last[:, 0], a, b], -1).to(last.dtype)))
        return self.choice(F.dropout(hidden, self.drop, self.training)).float()

    def answers(self, both: Tensor) -> Tensor:
        """Give the logits of an answer's beginning and end; those of the first token stand for no answer."""
        hidden = F.gelu(self.answer_hidden(both))
        return self.answer(F.dropout(hidden, self.drop, self.training)).float()


class Recall(nn.Module):
    """everyword-small as it is: token ids to the token vectors of recall."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.encoder = Encoder(layers)
        self.to_tokens = nn.Linear(WIDTH, TOKEN_DIMS, bias=False)

    def forward(self, ids: Tensor, there: Tensor) -> Tensor:
        """Give unit token vectors."""
        return F.normalize(self.to_tokens(self.encoder(ids, there)).float(), dim=-1) * there[..., None]


def _mean(states: Tensor, there: Tensor) -> Tensor:
    part = there[..., None].to(states.dtype)
    return (states * part).sum(1) / part.sum(1).clamp(min=1)


def reader_from_onnx(path: Path) -> Arrays:
    """Read a reader's weights back from its graph: its matrices as they were rounded, its heads as float16."""
    import onnx
    from onnx import numpy_helper

    stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    f: dict[str, Any] = {
        "encoder.embed_position.weight": stored["positions"],
        "encoder.embed_token_type.weight": np.zeros((2, WIDTH)),
        "encoder.embed_segment.weight": stored["segment"],
        "encoder.embed_shape.weight": stored["shape"],
    }
    f |= {f"encoder.embed_norm.{kind}": stored[f"norm.{kind}"] for kind in ("weight", "bias")}
    f |= _layers(stored)
    for name in ("read", "pair", "answer", "choice"):
        for head in (f"{name}_hidden", name):
            if f"{head}.weight" in stored:
                f |= {f"{head}.weight": stored[f"{head}.weight"].T, f"{head}.bias": stored[f"{head}.bias"]}
    return {name: np.ascontiguousarray(value, np.float32) for name, value in f.items()}


def from_onnx(path: Path) -> Arrays:
    """Read the float weights of everyword-small back from its graph: what they were rounded to.

    The float weights of its training were not kept. Matrices have a scale a column, word embeddings one a row; the
    vector of the first token type is part of each position's.
    """
    import onnx
    from onnx import numpy_helper

    stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    f: dict[str, Any] = {
        "encoder.embed_word.weight": stored["words"].astype(np.float32) * stored["words@scale"],
        "encoder.embed_position.weight": stored["positions"].astype(np.float32),
        "encoder.embed_token_type.weight": np.zeros((2, WIDTH), np.float32),
        "encoder.embed_norm.weight": stored["embed_norm.weight"],
        "encoder.embed_norm.bias": stored["embed_norm.bias"],
        "to_tokens.weight": stored["to_tokens"].T,
    }
    # Only the first dimensions of the pooled vector are in the graph.
    pooled = stored["to_pooled"].T
    f["to_pooled.weight"] = np.pad(pooled, ((0, WIDTH - len(pooled)), (0, 0)))
    f["to_pooled.bias"] = np.pad(stored["to_pooled@bias"], (0, WIDTH - len(pooled)))
    f |= _layers(stored)
    return {name: np.ascontiguousarray(value, np.float32) for name, value in f.items()}


def _layers(stored: dict[str, Any]) -> dict[str, Any]:
    """Read the layers of a graph; each matrix has a scale a column."""
    f: dict[str, Any] = {}
    layers = sum(name.endswith(".qkv") for name in stored)
    for layer in range(layers):
        to, of = f"encoder.layers.{layer}", f"layer{layer}"
        for part in ("qkv", "mix", "widen", "narrow"):
            f[f"{to}.{part}.weight"] = (stored[f"{of}.{part}"].astype(np.float32) * stored[f"{of}.{part}@scale"]).T
            f[f"{to}.{part}.bias"] = stored[f"{of}.{part}@bias"]
        for part in ("mixed_norm", "norm"):
            for kind in ("weight", "bias"):
                f[f"{to}.{part}.{kind}"] = stored[f"{of}.{part}.{kind}"]
    return f


def make(arrays: Arrays, relations: int, *, layers: list[int] | None = None, drop: float = 0.0) -> Reader:
    """Make a reader that starts from an encoder; `layers` keeps only some of its layers."""
    count = 1 + max(int(name.split(".")[2]) for name in arrays if name.startswith("encoder.layers."))
    kept = list(range(count)) if layers is None else layers
    return _filled(Reader(ShapedEncoder(len(kept), drop), relations, drop), arrays, kept)


def recall(arrays: Arrays) -> Recall:
    """Make the encoder that ranks the turns for a question."""
    layers = 1 + max(int(name.split(".")[2]) for name in arrays if name.startswith("encoder.layers."))
    return _filled(Recall(layers), arrays, list(range(layers))).eval()


def _filled(model: Model, arrays: Arrays, kept: list[int]) -> Model:
    own = model.state_dict()
    for name in own:
        source = name
        if name.startswith("encoder.layers."):
            _, _, layer, rest = name.split(".", 3)
            source = f"encoder.layers.{kept[int(layer)]}.{rest}"
        # A head with other classes starts anew.
        if source in arrays and arrays[source].shape == tuple(own[name].shape):
            own[name] = torch.from_numpy(np.array(arrays[source]))
    model.load_state_dict(own)
    return model
