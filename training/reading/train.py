"""Train readers: python -m training.reading.train --inputs FOLDER --work FOLDER --run NAME SETTING=VALUE ...

FOLDER of inputs holds talk.jsonl.xz, labels.jsonl.xz, wnut17-train.conll.xz, pools.jsonl.xz and questions.jsonl.xz;
what is missing is left out. Several --run share the time of --seconds. Each writes WORK/NAME.pt and WORK/NAME.json:
scores on the conversations that are kept for choosing. The held ones are never read here (training.reading.score does).
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from everyword.models.reader.decoding import CHOICES, KINDS, MODES, PAIRS, POINTER_DIMS, TYPES, Matrix
from everyword.models.reader.rows import JoinedRow, ReadingRow, prefix
from training.reading import corpus
from training.reading.choices import Choice, ChoiceTable, choice_scores, choices_of
from training.reading.corpus import Conversation, read_stories
from training.reading.data import (
    CANDIDATES,
    NONE,
    AskedTable,
    Batch,
    Indices,
    PairTable,
    ReadTable,
    Rng,
    Source,
    alone,
    labelled,
    named_readings,
    pad,
    public_questions,
    relations_of,
    unnamed,
    worn,
)
from training.reading.evaluation import Chosen, evaluate, headline, likeliest_temperature
from training.reading.examples import Writer
from training.reading.export import read_parts, relations_of_run
from training.reading.model import Reader, Recall, from_onnx, make, recall

SMALL = Path("packages/everyword-models/src/everyword_models/everyword-small")
EVERY = 20.0  # seconds between lines of progress
LIKE = 1.6  # lengths of batches that are encoded together
KEPT = 0.998  # of the running mean of the weights, a step

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Plan:
    """The settings of one run."""

    seed: int = 1
    epochs: float = 30.0  # rounds over the labelled turns, if there is time
    seconds: float = 400.0  # at most
    turns: int = 0  # of the training conversations; 0 for all
    layers: str = ""  # which of the encoder's layers, as 0.2.3.5; all if empty
    rate: float = 3e-4  # of the last layer
    lower: float = 0.9  # what each layer below it has of that
    head_rate: float = 1e-3
    drop: float = 0.15
    masked: float = 0.06  # tokens that are hidden in training
    unnamed: float = 0.0  # names that are hidden whole
    smooth: float = 0.1  # of the labels of kinds and pairs
    decay: float = 0.05
    batch: int = 64
    bare: float = 0.25  # turns without the one before and single sentences, for each labelled turn
    kind: float = 1.5
    type: float = (
        0.5  # of a name's type, where a name is; names are few, so that it counts little in the mean of all tokens
    )
    pair: float = 1.5
    unrelated: float = 0.3  # pairs that nobody related, for each labelled one
    answer: float = 1.0
    choice: float = 1.0
    public: float = 0.6  # public questions for each of our own
    twice: float = 0.0  # weight of the difference between two readings of a batch, with other tokens hidden (R-Drop)
    looks: int = 3  # how often it is scored, from two fifths of the way on
    fresh: bool = False  # starts from the encoder even where an earlier reader is at hand


class Bench:
    """What all runs share: the corpus, the encoder that they start from, what recall finds for each question."""

    def __init__(
        self, inputs: Path | None, device: str, *, most: int = 0, public: int = 20_000, start: Path | None = None
    ) -> None:
        self.device, self.began, self._said = device, time.time(), 0.0
        self.start = read_parts(start, "reader") if start else {}
        self.writer = Writer(SMALL / "tokenizer.json")
        talk = inputs if inputs and (inputs / "talk.jsonl.xz").exists() else None
        pools = inputs if inputs and (inputs / "pools.jsonl.xz").exists() else None
        conversations = [one for one in corpus.load(talk=talk, pools=pools) if one.split != "held"]
        if most:
            # The shortest ones: this is for trying the code.
            conversations = sorted(conversations, key=lambda one: sum(len(turn.text) for turn in one.turns))[:most]
        self.conversations = conversations
        self.train = [one for one in self.conversations if one.split == "train"]
        self.choose = [one for one in self.conversations if one.split == "choose"]
        self.stories = [one for one in read_stories() if one.split != "held"][: most or None]
        # The heads of an earlier reader can go on only with its relations.
        self.relations = relations_of_run(start) if start else relations_of(self.train)
        self.arrays = from_onnx(SMALL / "model.onnx")
        wnut = inputs / "wnut17-train.conll.xz" if inputs else None
        self.names = named_readings(wnut, self.writer) if wnut and wnut.exists() else []
        self.public = public_questions(pools)[:public] if pools else []
        self.ranked = self._ranked(inputs / "ranked.json" if inputs else None)
        count = sum(len(one.turns) for one in self.train)
        self.say(
            f"{len(self.train)} conversations, {count} turns to train, {len(self.relations)} relations, "
            f"{len(self.public)} public questions",
            always=True,
        )

    def say(self, text: str, *, always: bool = False) -> None:
        """Print a line of progress, at most one in a while."""
        now = time.time() - self.began
        if always or now - self._said >= EVERY:
            self._said = now
            print(f"{now:6.1f} s  {text}", flush=True)

    def _ranked(self, kept: Path | None) -> dict[str, list[list[int]]]:
        """Rank the turns for every question, or read what an earlier run kept."""
        found: dict[str, list[list[int]]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
        conversations = [*self.conversations, *self.stories]
        found = {one.id: found.get(one.id, []) for one in conversations}
        missing = [one for one in conversations if len(found[one.id]) != len(one.questions)]
        if missing:
            self.say("ranks the turns for every question", always=True)
            writer = Writer(SMALL / "tokenizer.json")
            encoder = recall(from_onnx(SMALL / "model.onnx")).to(self.device)
        for one in missing:
            lines = [writer.plain(t.text, prefix(t)) for t in one.turns]
            asked = [writer.plain(q.text) for q in one.questions]
            found[one.id] = rank(encoder, lines, asked, self.device)
        if kept and missing:
            kept.write_text(json.dumps(found))
        return found

    def choices(self, conversations: list[Conversation], seed: int) -> Iterator[list[Choice]]:
        """Set the turns that answer questions beside others."""
        chance = np.random.default_rng(seed)
        for one in conversations:
            if one.lang == "en":
                yield from choices_of(one, self.ranked[one.id], self.writer, chance)

    def model(self, plan: Plan) -> Reader:
        """Make the network that a run begins with."""
        kept = [int(one) for one in plan.layers.split(".")] if plan.layers else None
        arrays = self.arrays if plan.fresh else {**self.arrays, **self.start}
        if "pair.weight" in arrays:
            # Comparing two turns begins as comparing two statements does, without products of the two.
            hidden = {part: arrays[f"pair_hidden.{part}"] for part in ("weight", "bias")}
            hidden["weight"] = hidden["weight"][:, : 3 * len(hidden["bias"])]
            arrays = {f"choice_hidden.{part}": value for part, value in hidden.items()} | arrays
        return make(arrays, len(self.relations), layers=kept, drop=plan.drop).to(self.device)


class TorchRunner:
    """Runs a reader in batches of like length."""

    def __init__(self, model: Reader, device: str, batch: int = 256) -> None:
        self.model, self.device, self._batch = model, device, batch

    def read(self, rows: list[ReadingRow]) -> list[Matrix]:
        return self._run(rows, lambda last, both, batch: self.model.reading(both))

    def answer(self, rows: list[JoinedRow]) -> list[Matrix]:
        return self._run(rows, lambda last, both, batch: self.model.answers(both))

    def pair(self, rows: list[JoinedRow]) -> Matrix:
        told = self._run(rows, lambda last, both, batch: self.model.pairs(last, batch.there, batch.segments)[:, None])
        return np.stack([one[0] for one in told]) if told else np.zeros((0, len(PAIRS)))

    def choose(self, rows: list[JoinedRow]) -> Matrix:
        told = self._run(rows, lambda last, both, batch: self.model.choices(last, batch.there, batch.segments)[:, None])
        return np.stack([one[0] for one in told]) if told else np.zeros((0, len(CHOICES)))

    def _run(self, rows: list[Any], head: Any) -> list[Matrix]:
        self.model.eval()
        found: list[Any] = [None] * len(rows)
        order = np.argsort([len(row.ids) for row in rows], kind="stable")
        for start in range(0, len(rows), self._batch):
            chosen = order[start : start + self._batch].tolist()
            batch = pad([rows[n] for n in chosen], self.device)
            with torch.no_grad(), half(self.device):
                told = head(*self.model.both(*batch.parts), batch).float().cpu().numpy()
            for n, matrix in zip(chosen, told, strict=True):
                found[n] = matrix[: len(rows[n].ids)]
        return found


def half(device: str) -> Any:
    """Compute in bfloat16 where that is fast."""
    return torch.autocast(device, torch.bfloat16, enabled=device == "cuda")


def rank(encoder: Recall, lines: list[JoinedRow], asked: list[JoinedRow], device: str) -> list[list[int]]:
    """Order lines by late interaction with each question."""
    batch, questions = pad(lines, device), pad(asked, device)
    with torch.no_grad(), half(device):
        passages, tokens = (encoder(one.ids, one.there).float() for one in (batch, questions))
    best = torch.einsum("qad,lbd->qlab", tokens, passages).amax(-1)
    return best.sum(-1).argsort(1, descending=True).tolist()


class Material:
    """What one run learns from, on the device, and the order in which it is drawn."""

    def __init__(self, bench: Bench, plan: Plan, conversations: list[Conversation]) -> None:
        writer, device = bench.writer, bench.device
        self.mask = writer.markers.mask
        own = [labelled(row, bench.relations) for one in conversations for row in writer.readings(one)]
        later = [turn for one in conversations for turn in one.turns[1:]]
        turns = [turn for one in conversations for turn in one.turns if turn.with_statements]
        single = [part for turn in turns for part in alone(turn)]
        bare = [labelled(row, bench.relations) for turn in (*later, *single) for row in writer.windows(turn, None)]
        names = [labelled(row, bench.relations) for row in bench.names]
        self.turns = len(own)
        self.readings = ReadTable([*own, *bare, *names], device)
        self.chance = np.random.default_rng(plan.seed)

        def read(chance: Rng) -> Indices:
            # Some turns without the one before, and single sentences: a note, or the first event of a session.
            without = chance.permutation(len(bare))[: round(plan.bare * len(own))] + len(own)
            named = chance.permutation(len(names))[: round(0.15 * len(own))] + len(own) + len(bare)
            return np.concatenate([np.arange(len(own)), without, named]).astype(np.int64)

        self.read = Source(read, self.readings.sizes, plan.batch, plan.seed)
        self.pairs, self.pair = None, None
        if any(one.pairs for one in conversations):
            self.pairs = table = PairTable(conversations, writer, device, plan.seed)
            self.pair = Source(
                lambda chance: table.round(chance, plan.unrelated), table.sizes, max(4, plan.batch * 3 // 8), plan.seed
            )
        self.questions, self.question = None, None
        self.choices, self.choice = None, None
        stories = [one for one in bench.stories if one.split == "train"]
        if any(one.questions for one in conversations):
            asking = [*conversations, *stories]
            self.questions = asked = AskedTable(asking, bench.ranked, bench.public, writer, device)
            self.question = Source(
                lambda chance: asked.round(chance, plan.public), asked.widest, max(2, plan.batch // 5), plan.seed
            )
            self.choices = chosen = ChoiceTable(bench.choices(asking, plan.seed), device)
            self.choice = Source(chosen.round, chosen.sizes, max(4, plan.batch // 2), plan.seed)


def train(bench: Bench, plan: Plan, name: str, work: Path) -> None:
    """Train one reader; keep the best of several looks at the conversations for choosing."""
    device, began = bench.device, time.time()
    torch.manual_seed(plan.seed)
    model = bench.model(plan)
    average = copy.deepcopy(model)
    conversations = _some(bench.train, plan.turns)
    material = Material(bench, plan, conversations)
    weights = class_weights(conversations, device)
    steps = max(8, round(plan.epochs * material.turns * 1.25 / plan.batch))
    learner = learner_of(model, plan)
    bench.say(f"{name}: {material.turns} readings, {steps} steps at most", always=True)
    best, number, done, looked = -1.0, 0, 0.0, 0
    started = time.time()
    seconds = plan.seconds - (started - began)
    parts: list[Tensor] = []
    while done < 1:
        set_rate(learner, done)
        model.train()
        losses = step_losses(material, plan, model, weights)
        loss = torch.stack(list(losses.values())).sum()
        model.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        learner.step()
        number += 1
        _follow(average, model, min(KEPT, (1 + number) / (10 + number)))
        parts = [*parts[-49:], torch.stack([one.detach() for one in losses.values()])]
        done = max(number / steps, (time.time() - started) / seconds)
        if number % 10 == 0 and time.time() - bench.began - bench._said >= EVERY:
            means = torch.stack(parts).mean(0).tolist()
            told = " ".join(f"{key} {value:.3f}" for key, value in zip(losses, means, strict=True))
            bench.say(f"{name} {number}/{steps} {done:.2f}: {told}")
        if done >= (looked + 1) / plan.looks and (looked + 1 >= plan.looks * 0.4 or done >= 1):
            result, chosen = _evaluated(bench, average)
            bench.say(f"{name} at {done:.2f}: {_brief(result)}", always=True)
            if headline(result) >= best:
                best = headline(result)
                result |= {"headline": best, "steps": number, "seconds": round(time.time() - started, 1)}
                result["turns trained"] = sum(len(one.turns) for one in conversations)
                keep(bench, work, name, vars(plan), average, result, chosen)
        looked = int(done * plan.looks)
    bench.say(f"{name} done after {number} steps: {best}", always=True)
    (work / f"{name}.done").touch()


def _follow(average: Reader, model: Reader, kept: float) -> None:
    """Move the running mean of the weights."""
    with torch.no_grad():
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - kept)


def step_losses(material: Material, plan: Plan, model: Reader, weights: Weights) -> dict[str, Tensor]:
    """Compute the losses of one batch of each task, which go through the encoder together."""
    read = _doubled(next(material.read), plan)
    tagged = material.readings.tags(read)
    whole = unnamed(material.readings.batch(read), tagged[0], plan.unnamed, material.mask)
    batches = [worn(whole, plan.masked, material.mask)]
    pair, told_rows = None, None
    if material.pairs and material.pair:
        pair = _doubled(next(material.pair), plan)
        batches.append(worn(material.pairs.batch(pair), plan.masked, material.mask))
    if material.questions and material.question:
        rows, *told = material.questions.candidates(next(material.question), material.chance)
        told_rows = (_doubled(rows, plan), *(torch.cat([one, one]) if plan.twice else one for one in told))
        batches.append(worn(material.questions.batch(told_rows[0]), plan.masked / 2, material.mask))
    chosen = None
    if material.choices and material.choice:
        chosen = _doubled(next(material.choice), plan)
        batches.append(worn(material.choices.batch(chosen), plan.masked / 2, material.mask))
    states = encoded(model, batches)
    batch, both = batches.pop(0), states.pop(0)
    losses = reading_losses(model, _told(model, both), batch, tagged, plan, weights)
    if material.pairs and pair is not None:
        batch, both = batches.pop(0), states.pop(0)
        labels = material.pairs.labels[torch.as_tensor(pair, device=both.device)]
        logits = _paired(model, both, batch)
        losses["pair"] = plan.pair * (
            F.cross_entropy(logits, labels, weights["pair"], label_smoothing=plan.smooth) + _apart(logits, plan)
        )
    if told_rows is not None:
        losses |= answer_losses(model, states.pop(0), batches.pop(0), plan, *told_rows[1:])
    if material.choices and chosen is not None:
        labels = material.choices.labels[torch.as_tensor(chosen, device=states[0].device)]
        with half(states[0].device.type):
            logits = model.choices(states[0].chunk(2, -1)[0], batches[0].there, batches[0].segments)
        losses["choice"] = plan.choice * (
            F.cross_entropy(logits, labels, label_smoothing=plan.smooth / 2) + _apart(logits, plan)
        )
    return losses


def _doubled(chosen: Indices, plan: Plan) -> Indices:
    """Put rows into a batch twice, where two readings of them are to agree."""
    return np.concatenate([chosen, chosen]) if plan.twice else chosen


def _apart(logits: Tensor, plan: Plan) -> Tensor:
    """Tell how far the chances of a batch's second half are from those of the first, which are the same rows."""
    if not plan.twice or not len(logits):
        return logits.new_zeros(())
    one, other = F.log_softmax(logits.float(), -1).chunk(2)
    both = F.kl_div(one, other, reduction="batchmean", log_target=True)
    return plan.twice * 0.5 * (both + F.kl_div(other, one, reduction="batchmean", log_target=True))


def encoded(model: Reader, batches: list[Batch]) -> list[Tensor]:
    """Encode batches of like length as one: what takes time is to start the many small computations."""
    groups: list[list[int]] = []
    for n in sorted(range(len(batches)), key=lambda n: batches[n].ids.shape[1]):
        if groups and batches[n].ids.shape[1] <= LIKE * batches[groups[-1][0]].ids.shape[1]:
            groups[-1].append(n)
        else:
            groups.append([n])
    found: dict[int, Tensor] = {}
    for group in groups:
        some = [batches[n] for n in group]
        length = max(one.ids.shape[1] for one in some)
        rows = [
            torch.cat([F.pad(part, (0, length - part.shape[1])) for part in parts])
            for parts in zip(*(one.parts for one in some), strict=True)
        ]
        with half(some[0].ids.device.type):
            both = model.both(*rows)[1].split([len(one.ids) for one in some])
        found |= {n: states[:, : batches[n].ids.shape[1]] for n, states in zip(group, both, strict=True)}
    return [found[n] for n in range(len(batches))]


def _told(model: Reader, both: Tensor) -> Tensor:
    with half(both.device.type):
        return model.reading(both)


def _paired(model: Reader, both: Tensor, batch: Batch) -> Tensor:
    with half(both.device.type):
        return model.pairs(both.chunk(2, -1)[0], batch.there, batch.segments)


def answer_losses(
    model: Reader, both: Tensor, batch: Batch, plan: Plan, right: Tensor, first: Tensor, last: Tensor
) -> dict[str, Tensor]:
    """Compute how far off the choice among a question's lines is, or of none of them, and the answer in the line."""
    scores, lines = line_scores(model, both, batch)
    chosen = torch.arange(len(right), device=right.device) * CANDIDATES + right.clamp(max=CANDIDATES - 1)
    spans = lines[chosen]
    return {
        "line": plan.answer * (F.cross_entropy(scores, right) + _apart(scores, plan)),
        "answer": plan.answer * 0.5 * (_mean_loss(spans[..., 0], first) + _mean_loss(spans[..., 1], last)),
    }


def line_scores(model: Reader, both: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Score each of a question's lines, and none of them in the last place; besides, the answer's places in a line."""
    with half(both.device.type):
        logits = model.answers(both)
    # The first token stands for no answer in this line.
    lines = logits.masked_fill(~((batch.segments == 1) & batch.there)[..., None], -1e4)
    scores = (lines.logsumexp(1) - logits[:, 0]).sum(-1).view(-1, CANDIDATES)
    return torch.cat([scores, torch.zeros_like(scores[:, :1])], 1), lines


def reading_losses(
    model: Reader, told: Tensor, batch: Batch, tagged: tuple[Tensor, Tensor, Tensor], plan: Plan, weights: Weights
) -> dict[str, Tensor]:
    """Compute how far names, statements and what is said of them are off."""
    columns = model.columns
    entity, statement, spans = tagged
    losses = {
        "entity": 2 * F.cross_entropy(told[..., columns["entity"]].flatten(0, 1), entity.flatten(), ignore_index=NONE),
        "statement": 2 * _mean_loss(told[..., columns["statement"]].flatten(0, 1), statement.flatten()),
    }
    named = entity > 0
    by_type = told[..., columns["entity"]][named][:, 1:].view(-1, len(TYPES), 2).logsumexp(2)
    losses["type"] = plan.type * (_mean_loss(by_type, (entity[named] - 1) // 2) + _apart(by_type, plan))
    if not len(spans):
        return losses | {name: told.sum() * 0 for name in ("kind", "said", "value", "pointer")}
    row, first, last, kind, mode, state, about, relation, value1, value2, name1, name2 = spans.unbind(1)
    at = torch.arange(told.shape[1], device=told.device)
    inside = (at >= first[:, None]) & (at <= last[:, None])
    of_row = told[row]
    mean = (of_row * inside[..., None]).sum(1) / inside.sum(1, keepdim=True)
    kinds = mean[:, columns["kind"]]
    losses["kind"] = plan.kind * (
        F.cross_entropy(kinds, kind, weights["kind"], label_smoothing=plan.smooth) + _apart(kinds, plan)
    )
    losses["said"] = (
        0.5 * F.cross_entropy(mean[:, columns["mode"]], mode, weights["mode"])
        + 0.5 * _mean_loss(mean[:, columns["state"]], state)
        + 0.5 * F.cross_entropy(mean[:, columns["about"]], about)
        + 0.3 * F.cross_entropy(mean[:, columns["relation"]], relation)
    )
    # Position 0, the row's first marker, stands for no value: its score is nought.
    values = of_row[..., columns["value"]].masked_fill(~inside[..., None], -1e4)
    values = torch.cat([torch.zeros_like(values[:, :1]), values[:, 1:]], 1)
    losses["value"] = 0.25 * (_mean_loss(values[..., 0], value1) + _mean_loss(values[..., 1], value2))
    pointer = of_row[..., columns["pointer"]]
    query = mean[:, columns["pointer"]]
    d = POINTER_DIMS
    away = (~batch.there[row]).float() * -1e4
    to_first = torch.einsum("sld,sd->sl", pointer[..., 2 * d : 3 * d], query[:, :d]) + away
    to_last = torch.einsum("sld,sd->sl", pointer[..., 3 * d :], query[:, d : 2 * d]) + away
    losses["pointer"] = 0.15 * (_mean_loss(to_first, name1) + _mean_loss(to_last, name2))
    return losses


def class_weights(conversations: list[Conversation], device: str) -> Weights:
    """Weigh rare classes up: kinds, modes and pairs by a root of how rare they are."""
    statements = [s for c in conversations for t in c.turns for s in t.statements]
    counts = {
        "kind": ([sum(s.kind == one for s in statements) for one in KINDS], 0.25),
        "mode": ([sum(s.mode == one for s in statements) for one in MODES], 0.5),
        "pair": ([sum(p.relation == one for c in conversations for p in c.pairs) for one in PAIRS], 0.5),
    }
    found: Weights = {}
    for name, (numbers, power) in counts.items():
        share = torch.tensor(numbers, dtype=torch.float).clamp(min=1)
        weight = ((share.mean() / share) ** power).clamp(max=4.0)
        found[name] = (weight / weight.mean()).to(device)
    return found


def learner_of(model: Reader, plan: Plan) -> torch.optim.Optimizer:
    """Make the optimiser: lower layers learn more slowly, heads faster, word embeddings not at all."""
    layers = len(model.encoder.layers)
    groups: dict[tuple[float, bool], list[Any]] = {}
    for name, one in model.named_parameters():
        # Word embeddings are shared with recall, which stays as it is.
        one.requires_grad_(name != "encoder.embed_word.weight")
        if not one.requires_grad:
            continue
        rate = plan.head_rate
        if name.startswith("encoder.layers."):
            rate = plan.rate * plan.lower ** (layers - 1 - int(name.split(".")[2]))
        elif name.startswith("encoder.") and "shape" not in name and "segment" not in name:
            rate = plan.rate * plan.lower**layers
        groups.setdefault((rate, one.ndim > 1), []).append(one)
    rows = [
        {"params": some, "weight_decay": plan.decay * decayed, "peak": rate} for (rate, decayed), some in groups.items()
    ]
    return torch.optim.AdamW(rows, lr=plan.rate, betas=(0.9, 0.98), fused=torch.cuda.is_available())


def set_rate(learner: torch.optim.Optimizer, done: float) -> None:
    """Rise at the start, then fall along a cosine."""
    share = done / 0.06 if done < 0.06 else 0.5 + 0.5 * float(np.cos(np.pi * (done - 0.06) / 0.94))
    for group in learner.param_groups:
        group["lr"] = group["peak"] * max(share, 0.01)


def _mean_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Compute the mean cross-entropy over what has a label; nought if nothing has."""
    total = F.cross_entropy(logits, labels, ignore_index=NONE, reduction="sum")
    return total / (labels != NONE).sum().clamp(min=1)


def _evaluated(bench: Bench, model: Reader) -> tuple[dict[str, Any], Chosen]:
    runner = TorchRunner(model, bench.device)
    ranked = lambda one: bench.ranked[one.id]  # noqa: E731
    result, chosen = evaluate(runner, bench.choose, bench.writer, bench.relations, model.columns, ranked, None)
    kept = {"conversations": bench.choose, "stories": [one for one in bench.stories if one.split == "choose"]}
    for name, some in kept.items():
        told = [one for group in bench.choices(some, 0) for one in group]
        logits = runner.choose([one.row for one in told])
        result.setdefault("choices", {})[name] = choice_scores(logits, told)
        if name == "conversations" and told and chosen.temperatures is not None:
            chosen.temperatures["choice"] = likeliest_temperature(logits, [one.label for one in told])
    return result, chosen


def _some(conversations: list[Conversation], turns: int) -> list[Conversation]:
    """Take whole conversations, in an order that never changes, until there are enough turns."""
    if not turns:
        return conversations
    found: list[Conversation] = []
    for n in np.random.default_rng(0).permutation(len(conversations)).tolist():
        found.append(conversations[n])
        if sum(len(one.turns) for one in found) >= turns:
            break
    return found


def _brief(result: dict[str, Any]) -> str:
    s, e, g, a = (result[name] for name in ("statements", "entities", "open goals", "answers"))
    rates = result["accuracy"]
    replaces = result["pairs"].get("replaces", {}).get("p", 0)
    return (
        f"all {headline(result)} statements {s['p']:.2f}/{s['r']:.2f} kind {rates.get('kind', 0):.2f} "
        f"entities {e['f1']:.2f} type {rates.get('entity type', 0):.2f} goals {g['p']:.2f}/{g['r']:.2f} "
        f"pairs {result['pairs']['macro f1']:.2f} replaces {replaces:.2f} answers {a['right']:.2f}/{a['refused']:.2f} "
        f"choices {result['choices']}"
    )


def parse_run(words: list[str]) -> tuple[str, Plan]:
    """Read NAME SETTING=VALUE ..."""
    name, *settings = words
    given: dict[str, Any] = {}
    for key, value in (one.split("=", 1) for one in settings):
        kind = type(getattr(Plan(), key))
        given[key] = value == "True" if kind is bool else kind(value)
    return name, replace(Plan(), **given)


def main() -> None:
    """Do the runs that are named, as far as there is time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--run", nargs="+", action="append", default=[], metavar="NAME SETTING=VALUE")
    parser.add_argument("--mean", nargs="+", action="append", default=[], metavar="NAME RUN")
    parser.add_argument("--seconds", type=float, default=480.0, help="for all runs together, loading included")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--conversations", type=int, default=0, help="take about so many of them, to try the code")
    parser.add_argument("--start", type=Path, help="folder of an earlier reader's parts, to go on from")
    parser.add_argument("--public", type=int, default=20_000, help="public questions, at most")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    torch.backends.cuda.matmul.allow_tf32 = True
    bench = Bench(
        arguments.inputs,
        arguments.device,
        most=arguments.conversations,
        public=arguments.public,
        start=arguments.start,
    )
    ends = bench.began + arguments.seconds
    for name, *of in arguments.mean:
        mean(bench, arguments.work, name, of)
    runs = [parse_run(words) for words in arguments.run]
    for place, (name, plan) in enumerate(runs):
        # What comes before the first step, and the last scoring after its time is up.
        left = ends - time.time() - 30
        if left < 20:
            bench.say(f"{name}: no time is left", always=True)
            continue
        # Equal shares of what is left; a run that ends early leaves more to the others.
        plan = replace(plan, seconds=min(plan.seconds, left / (len(runs) - place)))
        train(bench, plan, name, arguments.work)


def mean(bench: Bench, work: Path, name: str, of: list[str]) -> None:
    """Score the mean of some runs' weights; of none, the reader that all began with."""
    model = bench.model(Plan())
    if of:
        found = [torch.load(work / f"{one}.pt", map_location=bench.device) for one in of]
        model.load_state_dict({key: sum(one[key].float() for one in found) / len(found) for key in found[0]})
    result, chosen = _evaluated(bench, model)
    result["headline"] = headline(result)
    bench.say(f"{name}: {_brief(result)}", always=True)
    keep(bench, work, name, {**vars(Plan()), "of": of}, model, result, chosen)


def keep(
    bench: Bench, work: Path, name: str, plan: dict[str, Any], model: Reader, result: dict[str, Any], chosen: Chosen
) -> None:
    """Write weights and scores of a run."""
    about = {"name": name, "plan": plan, "relations": bench.relations, "chosen": chosen.as_json(), "choose": result}
    torch.save(model.state_dict(), work / f"{name}.pt")
    (work / f"{name}.json").write_text(json.dumps(about, indent=1))


if __name__ == "__main__":
    main()
