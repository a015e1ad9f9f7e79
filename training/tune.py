"""Tune everyword-small on the questions of the labelled conversations: python -m training.tune prepare | train | blend

A batch is two dozen conversations whose two speakers were given the same two names, so that it is like one long
history: a question has to tell its answer from what the same people said at other times. Matches are weighed as recall
weighs them, on vectors rounded by the product's codec. Lines and questions of the public sets hold the vectors where
they were. The word embeddings stay as they are: the reader shares them.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from training.network import TwoHeads
from training.prepare import DEV_SOURCE, HELD_POOLS
from training.scoring import stored
from training.weights import Arrays

SEVERAL = Path("training/reading/several.jsonl")  # questions that take several turns to answer
TOKEN_DIMS, POOLED_DIMS, PART_DIMS = 80, 128, 4
CLS, QUESTION, PASSAGE, SEP = 101, 1, 2, 102
WORDS = "encoder.embed_word.weight"
MOST_TOKENS = 240  # of a line
PAIRS = (("Ana", "Ben"), ("Maria", "Tom"), ("Priya", "Sam"), ("Lena", "Omar"), ("Chloe", "Diego"), ("Emma", "Jack"),
         ("Nora", "Kevin"), ("Grace", "Hugo"))  # fmt: skip
ROLES = frozenset({"user", "assistant", "tool", "system", "agent", "bot"})  # speakers that keep their names
POWER = 0.75  # recall's token_power
LEAST_WEIGHT = 1e-3
LATE_SCALE, POOLED_SCALE = 40.0, 20.0  # of similarities before the softmax
ANCHOR_LINES, ANCHOR_QUESTIONS = 192, 96  # of the public sets, a step
PUBLIC_LINES, PUBLIC_QUESTIONS = 40_000, 12_000  # that are drawn from
AHEAD = 6  # batches that are made while one is learned from
EVERY = 20.0  # seconds between lines of progress

Rows = list[tuple[str, str, str]]  # day, speaker, text


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    answers: tuple[int, ...]
    also: tuple[int, ...]  # lines that tell the same; they are no wrong answers


@dataclass(frozen=True, slots=True)
class Talk:
    lines: Rows
    asked: tuple[Asked, ...]
    lang: str


def prepare(data: Path, small: Path, to: Path) -> None:
    """Write what the device needs: conversations, public lines, weights, codec and tokenizer."""
    from training.reading import corpus
    from training.reading.model import from_onnx

    to.mkdir(parents=True, exist_ok=True)
    several = {row["id"]: row["questions"] for row in map(json.loads, SEVERAL.read_text().splitlines())}
    talks: dict[str, list[Any]] = {"train": [], "choose": []}
    for one in corpus.load():
        if one.split in talks:
            talks[one.split].append(_talk(one, several.get(one.id, ())))
    pools = {row["pool"]: row["lines"] for row in _read(data / "pools.jsonl.xz")}
    questions = list(_read(data / "questions.jsonl.xz"))
    kept = {"talks": talks, **_public(pools, questions)}
    with lzma.open(to / "texts.json.xz", "wt", preset=6) as file:
        json.dump(kept, file)
    arrays = from_onnx(small / "model.onnx")
    np.savez(to / "base.npz", **{k: v.astype(np.float16) for k, v in arrays.items() if k != WORDS})
    words = arrays[WORDS]
    scale = np.abs(words).max(axis=1, keepdims=True) / 127 + 1e-12
    np.savez_compressed(to / "words.npz", words=np.rint(words / scale).astype(np.int8), scale=scale)
    (to / "tokenizer.json").write_bytes((small / "tokenizer.json").read_bytes())
    codec = Path("src/everyword/models/codecs/everyword-small.npz")
    (to / "codec.npz").write_bytes(codec.read_bytes())
    print({split: (len(of), sum(len(talk[1]) for talk in of)) for split, of in talks.items()})


def _talk(one: Any, several: Sequence[Any]) -> tuple[Rows, list[Any], str]:
    told_again: dict[int, set[int]] = defaultdict(set)
    for pair in one.pairs:
        if pair.relation == "same":
            told_again[pair.a[0]].add(pair.b[0])
            told_again[pair.b[0]].add(pair.a[0])
    answers: dict[str, set[int]] = defaultdict(set)
    for asked in one.questions:
        if asked.turn is not None:
            answers[asked.text].add(asked.turn)
    for row in several:
        answers[row["question"]] |= {turn - 1 for turn in row["turns"]}
    lines = [(day_of(turn.at), turn.speaker, turn.text) for turn in one.turns]
    asked = [(text, sorted(of), sorted(set().union(*(told_again[n] for n in of)) - of)) for text, of in answers.items()]
    return lines, asked, one.lang


def day_of(at: str | None) -> str:
    """Write a day as the product does before a line."""
    if not at:
        return ""
    from datetime import date

    from everyword.types.times import day_in_words

    return day_in_words(date.fromisoformat(at[:10]))


def _public(pools: dict[Any, Any], questions: list[dict[str, Any]]) -> dict[str, Any]:
    chance = random.Random(1)
    held: set[Any] = set()
    for source, count in HELD_POOLS.items():
        of = sorted({one["pool"] for one in questions if one["source"] == source})
        held |= set(chance.sample(of, min(count, len(of))))
    scored: dict[str, list[Any]] = defaultdict(list)
    for one in questions:
        if one["source"] == DEV_SOURCE or one["pool"] in held:
            scored[one["source"]].append((one["question"], one["pool"], one["positives"]))
    wanted = {pool for of in scored.values() for _, pool, _ in of}
    free = [(row.get("date") or "", row.get("speaker") or "", row["text"]) for pool, rows in pools.items()
            if pool not in wanted for row in rows]  # fmt: skip
    asked = [one["question"] for one in questions if one["pool"] not in wanted]
    return {
        "scored": scored,
        "pools": {str(pool): [(row.get("date") or "", row.get("speaker") or "", row["text"]) for row in pools[pool]]
                  for pool in wanted},
        "lines": chance.sample(free, min(PUBLIC_LINES, len(free))),
        "questions": chance.sample(asked, min(PUBLIC_QUESTIONS, len(asked))),
    }  # fmt: skip


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


class Codec(nn.Module):
    """What the product's codec makes of token vectors; gradients pass as if nothing had been rounded."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        with np.load(path, allow_pickle=False) as file:
            for name in ("passage_basis", "question_basis", "centroids", "parts"):
                self.register_buffer(name, torch.from_numpy(file[name].astype(np.float32)))

    @torch.autocast("cuda", enabled=False)
    def forward(self, tokens: Tensor) -> Tensor:
        """Round vectors of (count, dims)."""
        with torch.no_grad():
            vectors = tokens @ self.passage_basis
            nearest = torch.cdist(vectors, self.centroids).argmin(1)
            rest = (vectors - self.centroids[nearest]).view(len(vectors), -1, PART_DIMS).transpose(0, 1)
            near = torch.cdist(rest, self.parts).argmin(2)
            parts = self.parts.gather(1, near[..., None].expand(-1, -1, PART_DIMS)).transpose(0, 1)
            rounded = (self.centroids[nearest] + parts.reshape(len(vectors), -1)) @ self.question_basis.T
        return tokens + (rounded - tokens).detach()


class Bench:
    """Texts, weights and the model before, on the device."""

    def __init__(self, work: Path, device: str) -> None:
        self.work, self.device, self.began = work, device, time.time()
        self.tokenizer = Tokenizer.from_file(str(work / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        with lzma.open(work / "texts.json.xz", "rt") as file:
            texts = json.load(file)
        self.talks = {split: [Talk(lines, tuple(Asked(text, tuple(a), tuple(b)) for text, a, b in asked), lang)
                              for lines, asked, lang in of if asked]
                      for split, of in texts["talks"].items()}  # fmt: skip
        self.scored, self.pools = texts["scored"], texts["pools"]
        self.public = self.lines(texts["lines"])
        self.asked = self.questions(texts["questions"])
        self.codec = Codec(work / "codec.npz").to(device)
        marks = self.tokenizer.encode("[]():;,.!?-'\"/…–—“”‘’*#_`~|<>{}", add_special_tokens=False).ids
        self.punctuation = torch.tensor(marks, device=device)
        with np.load(work / "words.npz", allow_pickle=False) as file:
            self.words = torch.from_numpy(file["words"].astype(np.float32) * file["scale"].astype(np.float32))
        self.base = self.load("base")
        self.before = self.model(self.base).eval()

    def load(self, name: str) -> Arrays:
        """Read weights, in one file or several."""
        found: Arrays = {}
        for path in sorted(self.work.glob(f"{name}.npz")) + sorted(self.work.glob(f"{name}.[0-9].npz")):
            with np.load(path, allow_pickle=False) as file:
                found |= {key: file[key].astype(np.float32) for key in file.files}
        return found

    def model(self, arrays: Arrays) -> TwoHeads:
        """Make a model of weights; the word embeddings are always the same and are not trained."""
        layers = 1 + max(int(name.split(".")[2]) for name in arrays if name.startswith("encoder.layers."))
        model = TwoHeads(layers, TOKEN_DIMS, weighted=False)
        state = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
        model.load_state_dict(state | {WORDS: self.words})
        model.encoder.embed_word.weight.requires_grad_(False)
        return model.to(self.device)

    def lines(self, rows: Sequence[Sequence[str]]) -> list[list[int]]:
        """Give the ids of lines as the product writes them for its encoder."""
        written = [(f"[{day}] " if day else "") + (f"{who}: " if who else "") + text[:1000] for day, who, text in rows]
        found = self.tokenizer.encode_batch(written, add_special_tokens=False)
        return [[CLS, PASSAGE, *one.ids[:MOST_TOKENS], SEP] for one in found]

    def questions(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of questions."""
        found = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [[CLS, QUESTION, *one.ids[:80], SEP] for one in found]

    def pad(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Put rows of ids into one batch."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        there = np.zeros(ids.shape, bool)
        for n, row in enumerate(rows):
            ids[n, : len(row)], there[n, : len(row)] = row, True
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(there).to(self.device)

    def encode(self, model: TwoHeads, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Give token vectors, which are there, the pooled vectors, and the ids."""
        ids, there = self.pad(rows)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device == "cuda"):
            tokens, pooled = model(ids, there, question=False)
        return tokens, there, F.normalize(pooled[:, :POOLED_DIMS], dim=1), ids

    def passages(self, model: TwoHeads, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
        """Give the vectors that would be stored, the row of each, and the pooled vectors."""
        parts: list[tuple[Tensor, Tensor, Tensor]] = []
        order = sorted(range(len(rows)), key=lambda n: len(rows[n]))
        for start in range(0, len(rows), 256):
            some = order[start : start + 256]
            tokens, there, pooled, ids = self.encode(model, [rows[n] for n in some])
            keep = stored(ids, there, self.punctuation)
            of = torch.tensor(some, device=self.device)
            parts.append((tokens[keep], of[:, None].expand_as(keep)[keep], pooled))
        place = torch.tensor(np.argsort(order), device=self.device)
        tokens, of = (torch.cat([part[n] for part in parts]) for n in (0, 1))
        return self.codec(tokens), of, torch.cat([part[2] for part in parts])[place]


def matched(questions: Tensor, there: Tensor, tokens: Tensor, of: Tensor, lines: int) -> Tensor:
    """Score each question with each line as recall does: best matches, weighed by how far they stand out."""
    count, _, dims = questions.shape
    asked = questions.reshape(-1, dims)[there.reshape(-1)]
    similar = asked @ tokens.T
    best = torch.full((len(asked), lines), -1.0, device=similar.device, dtype=similar.dtype)
    best = best.scatter_reduce(1, of.expand(len(asked), -1), similar, "amax")
    weights = (best.amax(1) - best.mean(1)).clamp(min=LEAST_WEIGHT).detach() ** POWER
    belongs = torch.arange(count, device=there.device)[:, None].expand_as(there)[there]
    total = torch.zeros(count, device=there.device).index_add(0, belongs, weights)
    weights = weights / total[belongs]
    return torch.zeros(count, lines, device=there.device).index_add(0, belongs, best * weights[:, None])


def renamed(talk: Talk, pair: Sequence[str], chance: random.Random) -> Talk:
    """Give the two who say most other names, in lines and questions."""
    counts = Counter(who for _, who, _ in talk.lines if who and who.lower() not in ROLES)
    most = [who for who, _ in counts.most_common(2)]
    if talk.lang != "en" or not most:
        return talk
    names = dict(zip(most, chance.sample(list(pair), len(most)), strict=True))
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")

    def changed(text: str) -> str:
        return pattern.sub(lambda found: names[found[0]], text)

    lines = [(day, names.get(who, who), changed(text)) for day, who, text in talk.lines]
    return Talk(lines, tuple(Asked(changed(a.text), a.answers, a.also) for a in talk.asked), talk.lang)


def joined(talks: Sequence[Talk]) -> tuple[Rows, list[Asked]]:
    """Put conversations one behind the other."""
    lines: Rows = []
    asked: list[Asked] = []
    for talk in talks:
        first = len(lines)
        lines += talk.lines
        asked += [Asked(a.text, tuple(first + n for n in a.answers), tuple(first + n for n in a.also))
                  for a in talk.asked]  # fmt: skip
    return lines, asked


def marks(asked: Sequence[Asked], lines: int, device: str) -> tuple[Tensor, Tensor]:
    """Mark the lines that answer each question, and those that are left out."""
    found = np.zeros((2, len(asked), lines), bool)
    for n, one in enumerate(asked):
        found[0, n, list(one.answers)] = True
        found[1, n, list(one.also)] = True
    moved = torch.from_numpy(found).to(device)
    return moved[0], moved[1]


def contrast(scores: Tensor, right: Tensor, out: Tensor) -> Tensor:
    """Give the cross-entropy of each line that answers beside all that do not, the mean of a question's lines."""
    wrong = scores.masked_fill(out | right, -1e4).logsumexp(1, keepdim=True)
    each = F.softplus(wrong - scores) * right
    return (each.sum(1) / right.sum(1)).mean()


def train(bench: Bench, name: str, plan: dict[str, float]) -> None:
    """Tune a copy for a number of seconds."""
    torch.manual_seed(int(plan["seed"]))
    chance = random.Random(int(plan["seed"]) + 1000)
    model = bench.model(bench.base).train()
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=plan["lr"], weight_decay=0.01)
    began, said, step = time.time(), time.time(), 0
    sums: Counter[str] = Counter()
    batches = drawn(bench, plan)
    while (at := (time.time() - began) / plan["seconds"]) < 1:
        for group in optimizer.param_groups:
            group["lr"] = plan["lr"] * min(1.0, (step + 1) / 40) * (1 - at)
        rows, asked, questions = next(batches)
        right, out = marks(asked, len(rows), bench.device)
        tokens, of, pooled = bench.passages(model, rows)
        vectors, there, whole, _ = bench.encode(model, questions)
        late = contrast(LATE_SCALE * matched(vectors, there, tokens, of, len(rows)), right, out)
        near = contrast(POOLED_SCALE * whole @ pooled.T, right, out)
        held = anchored(bench, model, chance)
        loss = late + plan["pooled"] * near + plan["anchor"] * held
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        step += 1
        for key, value in (("late", late), ("near", near), ("held", held)):
            sums[key] += value.item() / 20
        if step % 20 == 0:
            if time.time() - said > EVERY:
                said = time.time()
                print(f"{name} step {step}", {key: round(value, 4) for key, value in sums.items()}, flush=True)
            sums.clear()
    state = {key: value.detach().float().cpu().numpy() for key, value in model.state_dict().items() if key != WORDS}
    keys, half = list(state), sum(value.size for value in state.values()) / 2
    size, parts = 0, ({}, {})
    for key in keys:
        parts[size > half][key] = state[key].astype(np.float16)
        size += state[key].size
    for number, part in enumerate(parts):
        np.savez(bench.work / f"{name}.{number}.npz", **part)
    print(f"{name}: {step} steps, {time.time() - began:.0f} s", flush=True)


def drawn(bench: Bench, plan: dict[str, float]) -> Iterator[tuple[list[list[int]], list[Asked], list[list[int]]]]:
    """Draw batches without end, some ahead of the one that is being learned from."""
    chance, talks, size = random.Random(int(plan["seed"])), bench.talks["train"], int(plan["talks"])
    order: list[int] = []

    def made(chosen: list[int], seed: float) -> tuple[list[list[int]], list[Asked], list[list[int]]]:
        own = random.Random(seed)
        pair, alike = own.choice(PAIRS), own.random() < plan["renamed"]
        lines, asked = joined([renamed(talks[n], pair, own) if alike else talks[n] for n in chosen])
        return bench.lines(lines), asked, bench.questions([one.text for one in asked])

    with ThreadPoolExecutor(AHEAD) as pool:
        waiting: deque[Any] = deque()
        while True:
            while len(waiting) < AHEAD:
                if len(order) < size:
                    order = chance.sample(range(len(talks)), len(talks))
                waiting.append(pool.submit(made, order[:size], chance.random()))
                order = order[size:]
            yield waiting.popleft().result()


def anchored(bench: Bench, model: TwoHeads, chance: random.Random) -> Tensor:
    """Give how far public lines and questions moved from where they were."""
    total = torch.zeros((), device=bench.device)
    for rows in (chance.sample(bench.public, ANCHOR_LINES), chance.sample(bench.asked, ANCHOR_QUESTIONS)):
        with torch.no_grad():
            tokens, there, pooled, _ = bench.encode(bench.before, rows)
        new, _, whole, _ = bench.encode(model, rows)
        total = total + (1 - (tokens * new).sum(-1)[there]).mean() + (1 - (pooled * whole).sum(-1)).mean()
    return total


@torch.no_grad()
def score(bench: Bench, arrays: Arrays) -> dict[str, float]:
    """Score a model on conversations kept for choosing, on development dialogues and on held public pools."""
    model = bench.model(arrays).eval()
    found: dict[str, list[float]] = defaultdict(list)
    chance = random.Random(5)
    talks = [one for one in bench.talks["choose"] if one.lang == "en"]
    for start in range(0, len(talks) - 23, 24):
        some = [renamed(talk, PAIRS[start // 24 % len(PAIRS)], chance) for talk in talks[start : start + 24]]
        _scored(bench, model, "own", *joined(some), found)
    for source, rows in bench.scored.items():
        groups: dict[str, list[Any]] = defaultdict(list)
        for question, pool, positives in rows:
            # Development dialogues are asked one by one, the pools of another source fifteen at a time.
            groups[str(pool)].append((question, positives))
        keys = sorted(groups)
        size = 1 if source == DEV_SOURCE else 15
        for start in range(0, len(keys), size):
            some = [Talk(bench.pools[key], tuple(Asked(q, tuple(p), ()) for q, p in groups[key]), "en")
                    for key in keys[start : start + size]]  # fmt: skip
            _scored(bench, model, "friends" if size == 1 else source, *joined(some), found)
    means = {name: float(np.mean(of)) for name, of in found.items()}
    others = [value for name, value in means.items() if name.endswith("@10") and not name.startswith(("own", "fri"))]
    keep = {name: value for name, value in means.items() if name.startswith(("own", "fri"))}
    return {name: round(value, 4) for name, value in {**keep, "public@10": float(np.mean(others))}.items()}


def _scored(
    bench: Bench, model: TwoHeads, name: str, lines: Rows, asked: list[Asked], found: dict[str, list[float]]
) -> None:
    tokens, of, pooled = bench.passages(model, bench.lines(lines))
    questions, there, whole, _ = bench.encode(model, bench.questions([one.text for one in asked]))
    late = matched(questions, there, tokens, of, len(lines)).cpu().numpy()
    near = (whole @ pooled.T).float().cpu().numpy()
    for row, vague, one in zip(late, near, asked, strict=True):
        row[list(one.also)] = -9
        places = [int((row > row[n]).sum()) for n in one.answers]
        kind = "own.several" if name == "own" and len(one.answers) > 1 else name
        for k in (5, 10):
            found[f"{kind}@{k}"].append(sum(place < k for place in places) / len(places))
        found[f"{kind}.mrr"].append(1 / (1 + min(places)))
        if name in ("own", "friends"):
            near_places = [int((vague > vague[n]).sum()) for n in one.answers]
            found[f"{name}.pooled@50"].append(sum(place < 50 for place in near_places) / len(near_places))


def blend(bench: Bench, names: Sequence[str], share: float) -> Arrays:
    """Go a part of the way from the model before to the mean of some."""
    models = [bench.load(name) for name in names]
    return {key: (1 - share) * value + share * sum(one[key] for one in models) / len(models)
            for key, value in bench.base.items()}  # fmt: skip


def main() -> None:
    """Prepare, train and score, or export."""
    parser = argparse.ArgumentParser(description="Tune everyword-small on labelled conversations.")
    parser.add_argument("--work", type=Path, default=Path("training/build/tune"))
    kinds = parser.add_subparsers(dest="do", required=True)
    preparing = kinds.add_parser("prepare")
    preparing.add_argument("--data", type=Path, required=True, help="folder with pools.jsonl.xz and questions.jsonl.xz")
    preparing.add_argument("--small", type=Path, required=True, help="folder of everyword-small")
    training = kinds.add_parser("train")
    training.add_argument("--run", nargs="+", action="append", required=True, metavar="NAME SETTING=VALUE")
    training.add_argument("--device", default="cuda")
    training.add_argument("--shares", type=float, nargs="+", default=[0.5, 1.0])
    blending = kinds.add_parser("blend")
    blending.add_argument("names", nargs="+")
    blending.add_argument("--share", type=float, required=True)
    blending.add_argument("--to", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.do == "prepare":
        prepare(arguments.data, arguments.small, arguments.work)
        return
    if arguments.do == "blend":
        import onnx

        from training import export

        bench = Bench(arguments.work, "cpu")
        arrays = blend(bench, arguments.names, arguments.share) | {WORDS: bench.words.numpy()}
        arguments.to.mkdir(parents=True, exist_ok=True)
        onnx.save(export.build(arrays, 6), arguments.to / "model.onnx")
        for name in ("tokenizer.json", "codec.npz"):
            (arguments.to / name).write_bytes((arguments.work / name).read_bytes())
        return
    bench = Bench(arguments.work, arguments.device)
    print("base", score(bench, bench.base), flush=True)
    names: list[str] = []
    for name, *settings in arguments.run:
        plan = {"lr": 6e-5, "seconds": 100.0, "talks": 24, "pooled": 0.2, "anchor": 4.0, "renamed": 0.9, "seed": 1}
        train(bench, name, plan | {key: float(value) for key, value in (one.split("=") for one in settings)})
        names.append(name)
        for share in arguments.shares:
            print(name, share, score(bench, blend(bench, [name], share)), flush=True)
    for share in (*arguments.shares, 0.7):
        print("mean", share, score(bench, blend(bench, names, share)), flush=True)


if __name__ == "__main__":
    main()
