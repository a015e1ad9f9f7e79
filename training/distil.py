"""Distil a teacher of twelve layers into a student of fewer.

The student learns, of every token of any text, the teacher's vector in the directions that are stored; and of batches
of passages and questions together how well each question's token is matched by each passage, as the teacher
says it with all its dimensions: that is what recall reads, and what projection and rounding take something away from.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training import weights
from training.data import CLS, COLON, LATEST_START, PASSAGE, QUESTION, SEP, WITH_DATE, WITH_SPEAKER, Flat, by_length
from training.network import WIDTH, TwoHeads, load_encoder
from training.prepare import TRAIN
from training.scoring import HALF, SMALL, Rounding, encode_all, stored

NESTED = (384, 256, 128, 64)  # dimensions at which the pooled vector must be good
FIRST_WORD = 1996  # of the vocabulary: before it are markers, characters and unused places
ASKED = 40  # questions that are matched with a batch of passages
POWER = 0.75  # of the product's recipe: a token counts by how far its best match stands out
# What batches are made of: the lines of the training data, of the chats, and questions of both.
MIX = {"lines": 0.35, "chats": 0.45, "asked": 0.12, "chats asked": 0.08}


def distil(bench: Any, step: dict[str, Any]) -> dict[str, Any]:
    """Make a student that gives the teacher's token vectors, projected, and a pooled vector."""
    device = bench.device
    teacher, pooler = bench.models[step["teacher"]].eval(), bench.models[step.get("pooler", step["teacher"])].eval()
    student = _student(bench, step, teacher)
    projection = bench.projections[step["name"]]
    wide = nn.Linear(WIDTH, WIDTH).to(device)
    with torch.no_grad():
        wide.weight.copy_(torch.eye(WIDTH))
        wide.bias.zero_()
    student.train()
    if step.get("compile"):
        for layer in (*student.encoder.layers, *teacher.encoder.layers):
            layer.compile(dynamic=True)
    rounding = Rounding(step["dims"], 4).to(device)
    learner = bench.learner([*student.named_parameters(), *wide.named_parameters()], step["lr"])
    chance = np.random.default_rng(step.get("seed", 1))
    batches = _batches(bench, step, chance)
    words = _words(bench)
    parts: list[Tensor] = []
    for number, done in _progress(step):
        bench.set_rate(learner, step, int(done * step["steps"]))
        flat, rows, question = next(batches)
        ids, there = flat.padded(rows)
        if chance.random() < step.get("noisy", 0.4):
            ids = _other_words(ids, words, step.get("noise", 0.15))
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=HALF):
            behind = teacher.encoder.every(ids, there)
            want, _ = teacher.heads(behind[-1], there, question=False)
        with torch.autocast(device, torch.bfloat16, enabled=HALF):
            layers = student.encoder.every(ids, there)
            tokens, pooled = student.heads(layers[-1], there, question=question)
            full = F.normalize(wide(layers[-1]).float(), dim=-1)
        kept = there if question else stored(ids, there, bench.punctuation)
        count = kept.sum()
        away = 1 - (tokens * F.normalize(want @ projection, dim=-1)).sum(-1)
        direction = (away * kept).sum() / count
        whole = ((1 - (full * want).sum(-1)) * there).sum() / there.sum()
        loss = direction + 0.5 * whole
        match = order = near = torch.zeros((), device=device)
        if not question and done >= step.get("match_from", 0.15):
            said = rounding(tokens, kept) if done >= step.get("round_from", 0.5) else tokens
            match, order = _matches(bench, step, teacher, student, want, said, kept, chance)
            loss = loss + step.get("match", 10.0) * match + step.get("order", 0.3) * order
        if number % 4 == 0:
            near = _pooled(bench, pooler, ids, there, behind[-1] if pooler is teacher else None, pooled)
            loss = loss + step.get("near", 1.0) * near
        if done < 0.4 and step.get("pick"):
            for own, layer in zip(layers[:-1], step["pick"], strict=False):
                alike = F.cosine_similarity(own.float(), behind[layer].float(), dim=-1)
                loss = loss + 0.2 * (1 - (alike * there).sum() / there.sum())
        bench.learn(learner, loss, student)
        parts.append(torch.stack([direction, whole, match, order, near]).detach())
        if number % 200 == 199:
            bench.say(f"{step['name']} {number + 1}, {done:.3f}, {time.time():.1f} s: {_means(parts[-200:])}")
    bench.models[step["name"]] = student
    return {"loss": _means(parts[-200:]), "steps done": len(parts), **bench.evaluated(step["name"])}


def _progress(step: dict[str, Any]) -> Iterator[tuple[int, float]]:
    """Number the steps, each with the share that is done: of the steps, or of the seconds where they are given."""
    began, number, done = time.time(), 0, 0.0
    while done < 1:
        yield number, done
        number += 1
        done = (time.time() - began) / step["seconds"] if "seconds" in step else number / step["steps"]


def _means(parts: list[Tensor]) -> list[float]:
    rows = torch.stack(parts)
    # A part that is not looked at in every step is nought in the others.
    return [round((rows[:, n].sum() / (rows[:, n] != 0).sum().clamp(min=1)).item(), 4) for n in range(rows.shape[1])]


def _student(bench: Any, step: dict[str, Any], teacher: Any) -> TwoHeads:
    layers = len(step["pick"])
    student = TwoHeads(layers, step["dims"], weighted=False).to(bench.device)
    bench.projections[step["name"]] = projection = principal(bench, teacher, step["dims"])
    if step.get("start"):
        student.load_state_dict(bench.models[step["start"]].state_dict())
        bench.projections[step["name"]] = bench.projections[step["start"]]
    else:
        load_encoder(student.encoder, weights.some_layers(bench.arrays(step["init"]), step["pick"]))
        with torch.no_grad():
            student.to_tokens.weight.copy_(projection.T)
            pooler = bench.models[step.get("pooler", step["teacher"])]
            student.to_pooled.load_state_dict(pooler.to_pooled.state_dict())
    student.encoder.embed_word.weight.requires_grad_(False)
    return student


def _matches(
    bench: Any, step: dict[str, Any], teacher: Any, student: Any, want: Tensor, said: Tensor, kept: Tensor, chance: Any
) -> tuple[Tensor, Tensor]:
    """Compare what each question's tokens find in each passage: how far off the student is, and its order."""
    flat = bench.flats["chats asked"] if chance.random() < 0.5 and "chats asked" in bench.flats else bench.questions
    rows = bench.trained if flat is bench.questions else np.arange(len(flat.lengths))
    ids, there = flat.padded(chance.choice(rows, ASKED, replace=False))
    with torch.autocast(bench.device, torch.bfloat16, enabled=HALF):
        with torch.no_grad():
            asked, _ = teacher(ids, there, question=False)
        own, _ = student(ids, there, question=True)
    with torch.no_grad():
        best = _best(asked[there], want, kept)
        whose = torch.arange(ASKED, device=ids.device)[:, None].expand_as(there)[there]
        stands_out = (best.amax(1) - best.mean(1)).clamp(min=1e-6) ** POWER
        total = torch.zeros(ASKED, device=ids.device).index_add_(0, whose, stands_out)
        share = stands_out / total[whose]
        scores = torch.zeros(ASKED, best.shape[1], device=ids.device).index_add_(0, whose, best * share[:, None])
        scale = step.get("scale", 60.0)
        target = (scores * scale).softmax(1)
    mine = _best(own[there], said, kept)
    own_scores = torch.zeros_like(scores).index_add_(0, whose, mine * share[:, None])
    # Near the top an error counts more: most passages answer nothing, and only have to stay below.
    weight = torch.exp((best - best.amax(1, keepdim=True)) * 6.0)
    match = (weight * (mine - best) ** 2).sum() / weight.sum()
    order = F.kl_div((own_scores * scale).log_softmax(1), target, reduction="batchmean")
    return match, order


def _best(asked: Tensor, passages: Tensor, kept: Tensor) -> Tensor:
    similar = (asked.to(SMALL) @ passages.reshape(-1, passages.shape[-1]).to(SMALL).T).view(len(asked), *kept.shape)
    return (similar + torch.where(kept, 0.0, -4.0).to(SMALL)).amax(-1).float()


def _pooled(bench: Any, pooler: Any, ids: Tensor, there: Tensor, states: Tensor | None, pooled: Tensor) -> Tensor:
    with torch.no_grad(), torch.autocast(bench.device, torch.bfloat16, enabled=HALF):
        if states is None:
            states = pooler.encoder(ids, there)
        _, want = pooler.heads(states, there, question=False)
    near = torch.zeros((), device=ids.device)
    for dims in NESTED:
        near = near + (1 - F.cosine_similarity(pooled[:, :dims], want[:, :dims])).mean() / len(NESTED)
    return near


def _batches(bench: Any, step: dict[str, Any], chance: Any) -> Iterator[tuple[Flat, Any, bool]]:
    """Draw batches of like lengths without end, of each kind its share."""
    waiting: dict[str, list[tuple[Flat, Any, bool]]] = {}
    mix = {name: share for name, share in {**MIX, **step.get("mix", {})}.items() if share and _there(bench, name)}
    names, odds = list(mix), np.array(list(mix.values())) / sum(mix.values())
    drawn = 0
    while True:
        name = names[chance.choice(len(names), p=odds)]
        if not waiting.get(name):
            drawn += 1
            flat, rows = _of(bench, name, drawn)
            cut = [(flat, rows[b], "asked" in name) for b in by_length(flat.lengths[rows], step["tokens"])]
            waiting[name] = [cut[place] for place in chance.permutation(len(cut))]
        yield waiting[name].pop()


def _there(bench: Any, name: str) -> bool:
    return not name.startswith("chats") or name in bench.flats


def _of(bench: Any, name: str, drawn: int) -> tuple[Flat, Any]:
    if name == "lines":
        return bench.varied(drawn), bench.seen
    if name == "asked":
        return bench.questions, bench.data.chosen(TRAIN)
    return bench.flats[name], np.arange(len(bench.flats[name].lengths))


def chat_flats(path: Path, bench: Any) -> dict[str, Flat]:
    """Write the lines of the chats out as the product does, each chat on a day."""
    with np.load(path, allow_pickle=False) as file:
        a = {name: file[name] for name in file.files}
    chance = random.Random(3)
    text = a["line_ids"].astype(np.int32)
    starts, s_starts = a["line_starts"], a["speaker_starts"]
    speakers = [a["speaker_ids"][x:y].tolist() for x, y in pairwise(s_starts)]
    rows, heads = [], {}
    for line, (speaker, chat) in enumerate(zip(a["line_speaker"].tolist(), a["line_chat"].tolist(), strict=True)):
        head = heads.get(chat)
        if head is None:
            day = LATEST_START - chance.randint(0, 2500)
            dated = chance.random() < WITH_DATE
            head = heads[chat] = ([*bench.data.date_ids(day)] if dated else [], chance.random() < WITH_SPEAKER)
        spoken = [*speakers[speaker], COLON] if head[1] and speakers[speaker] else []
        rows.append(np.concatenate([[CLS, PASSAGE, *head[0], *spoken], text[starts[line] : starts[line + 1]], [SEP]]))
    ids, begins = a["asked_ids"].astype(np.int32), a["asked_starts"]
    asked = [np.concatenate([[CLS, QUESTION], ids[x:y], [SEP]]) for x, y in pairwise(begins) if y > x]
    return {
        name: Flat(np.concatenate(some), np.cumsum([0, *map(len, some)]), bench.device)
        for name, some in (("chats", rows), ("chats asked", asked))
    }


def _words(bench: Any) -> Tensor:
    """Give whole words to draw from, the frequent ones more often, but less so than in the texts."""
    counts = np.bincount(bench.data.arrays["text_ids"], minlength=30522).astype(np.float64)
    counts[:FIRST_WORD] = 0
    odds = counts**0.5 / (counts**0.5).sum()
    drawn = np.random.default_rng(5).choice(30522, 1 << 20, p=odds)
    return torch.from_numpy(drawn).to(bench.device)


def _other_words(ids: Tensor, words: Tensor, share: float) -> Tensor:
    """Put other words in the place of some: the teacher's answer to any text is a lesson, and ours are of few kinds."""
    changed = (torch.rand(ids.shape, device=ids.device) < share) & (ids >= FIRST_WORD)
    drawn = words[torch.randint(len(words), ids.shape, device=ids.device)]
    return torch.where(changed, drawn.to(ids.dtype), ids)


@torch.no_grad()
def principal(bench: Any, teacher: Any, dims: int) -> Tensor:
    """Give the teacher's principal directions, rotated so that each carries about the same."""
    lines = bench.varied(0)
    rows = np.random.default_rng(0).choice(len(lines.lengths), min(6000, len(lines.lengths)), replace=False)
    vectors, _, _ = encode_all(teacher, lines, rows[: bench.plan.get("sample", 6000)], bench.punctuation, 0)
    vectors = vectors.float()
    _, directions = torch.linalg.eigh(vectors.T @ vectors / len(vectors))
    turn, _ = torch.linalg.qr(torch.randn(dims, dims, generator=torch.Generator().manual_seed(7)))
    return directions[:, -dims:] @ turn.to(bench.device)

