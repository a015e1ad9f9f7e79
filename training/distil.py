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
ASKED = 48  # questions that are matched with a batch of passages
NEAR = 36  # of them, those that a passage of the batch answers, or out of whose words they are made
SPAN = (5, 14)  # tokens of a passage that stand for a question where nobody asked one
PART = 12  # a draw of batches is a part of all pools or chats: what is like a passage is then often beside it
POWER = 0.75  # of the product's recipe: a token counts by how far its best match stands out
# What batches are made of: the lines of the training data, of the chats, and questions of both.
MIX = {"lines": 0.28, "chats": 0.2, "pages": 0.34, "asked": 0.1, "chats asked": 0.08}


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
            asked = _asked(bench, flat, rows, ids, chance)
            match, order = _matches(step, teacher, student, asked, want, said, kept)
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


def _asked(bench: Any, flat: Flat, rows: Any, passages: Tensor, chance: Any) -> tuple[Tensor, Tensor, Any]:
    """Draw questions for a batch: some that its passages answer or that are made of their words, the others at random.

    Gives their ids, which of them are no padding, and that on the CPU, too: the device need not be waited for.
    """
    near = (
        _answered(bench, rows, chance)
        if flat is not bench.flats.get("chats") and flat is not bench.flats.get("pages")
        else np.empty(0, np.int64)
    )
    others = bench.flats.get("chats asked", bench.questions)
    if others is bench.questions or chance.random() < 0.3:
        others, drawn = bench.questions, chance.choice(bench.trained, ASKED - NEAR, replace=False)
    else:
        drawn = chance.choice(len(others.lengths), ASKED - NEAR, replace=False)
    parts = [others.padded(drawn)[0]]
    lengths = [others.lengths[drawn]]
    if len(near):
        parts.append(bench.questions.padded(near)[0])
        lengths.append(bench.questions.lengths[near])
    if len(near) < NEAR:
        ids, counts = _spans(passages, flat.lengths[rows], NEAR - len(near), chance)
        parts.append(ids)
        lengths.append(counts)
    widest = max(part.shape[1] for part in parts)
    ids = torch.cat([F.pad(part, (0, widest - part.shape[1])) for part in parts])
    here = np.arange(widest) < np.concatenate(lengths)[:, None]
    return ids, torch.from_numpy(here).to(ids.device), here


def _answered(bench: Any, rows: Any, chance: Any) -> Any:
    """Give questions that have an answer among these lines."""
    found = [question for line in rows.tolist() for question in bench.answers.get(line, ())]
    return chance.permutation(np.unique(np.array(found, np.int64)))[:NEAR]


def _spans(passages: Tensor, lengths: Any, count: int, chance: Any) -> tuple[Tensor, Any]:
    """Cut pieces out of passages and write them as questions."""
    which = chance.integers(0, len(lengths), count)
    sizes = np.minimum(chance.integers(SPAN[0], SPAN[1] + 1, count), np.maximum(lengths[which] - 3, 1))
    starts = 2 + (chance.random(count) * np.maximum(lengths[which] - 2 - sizes, 0)).astype(np.int64)
    at = np.arange(SPAN[1] + 3)[None]
    places = np.clip(starts[:, None] + at - 2, 0, passages.shape[1] - 1)
    device = passages.device
    ids = passages[torch.from_numpy(which).to(device)[:, None], torch.from_numpy(places).to(device)]
    end = torch.from_numpy(at == sizes[:, None] + 2).to(device)
    inside = torch.from_numpy(at < sizes[:, None] + 3).to(device)
    ids = torch.where(end, torch.full_like(ids, SEP), ids) * inside
    ids[:, 0], ids[:, 1] = CLS, QUESTION
    return ids, sizes + 3


def _matches(
    step: dict[str, Any], teacher: Any, student: Any, questions: tuple[Tensor, Tensor, Any], want: Tensor, said: Tensor,
    kept: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Compare what each question's tokens find in each passage: how far off the student is, and its order."""
    ids, there, here = questions
    with torch.autocast(ids.device.type, torch.bfloat16, enabled=HALF):
        with torch.no_grad():
            asked, _ = teacher(ids, there, question=False)
        own, _ = student(ids, there, question=True)
    # Counted on the CPU: an index that the device had to count would make it wait for every step.
    row, column = (torch.from_numpy(one).to(ids.device) for one in np.nonzero(here))
    with torch.no_grad():
        best = _best(asked[row, column], want, kept)
        whose = row
        stands_out = (best.amax(1) - best.mean(1)).clamp(min=1e-6) ** POWER
        total = torch.zeros(ASKED, device=ids.device).index_add_(0, whose, stands_out)
        share = stands_out / total[whose]
        scores = torch.zeros(ASKED, best.shape[1], device=ids.device).index_add_(0, whose, best * share[:, None])
        scale = step.get("scale", 60.0)
        target = (scores * scale).softmax(1)
    mine = _best(own[row, column], said, kept)
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
            flat, rows = _of(bench, name, drawn, chance)
            cut = [(flat, rows[b], "asked" in name) for b in by_length(flat.lengths[rows], step["tokens"])]
            waiting[name] = [cut[place] for place in chance.permutation(len(cut))]
        yield waiting[name].pop()


def _there(bench: Any, name: str) -> bool:
    return name in ("lines", "asked") or name in bench.flats


def _of(bench: Any, name: str, drawn: int, chance: Any) -> tuple[Flat, Any]:
    if name == "lines":
        pools = chance.choice(bench.pools, max(1, len(bench.pools) // PART), replace=False)
        starts = bench.data.pool_starts
        return bench.varied(drawn), np.concatenate([np.arange(starts[pool], starts[pool + 1]) for pool in pools])
    if name == "asked":
        return bench.questions, bench.data.chosen(TRAIN)
    flat = bench.flats[name]
    count = len(flat.lengths)
    if name == "chats asked":
        return flat, np.arange(count)
    # Lines of a chat stand one behind the other.
    start = int(chance.integers(0, count))
    return flat, (start + np.arange(max(1, count // PART))) % count


def chat_flats(path: Path, bench: Any) -> dict[str, Flat]:
    """Write the lines of the chats out as the product does, each chat on a day."""
    with np.load(path, allow_pickle=False) as file:
        a = {name: file[name] for name in file.files}
    chance = random.Random(3)
    text = a["line_ids"].astype(np.int32)
    starts, s_starts = a["line_starts"], a["speaker_starts"]
    speakers = [a["speaker_ids"][x:y].tolist() for x, y in pairwise(s_starts)]
    rows: dict[bool, list[Any]] = {False: [], True: []}
    heads: dict[int, Any] = {}
    pages = a["line_page"].tolist()
    for line, (speaker, chat) in enumerate(zip(a["line_speaker"].tolist(), a["line_chat"].tolist(), strict=True)):
        head = heads.get(chat)
        if head is None:
            day = LATEST_START - chance.randint(0, 2500)
            dated = chance.random() < WITH_DATE
            head = heads[chat] = ([*bench.data.date_ids(day)] if dated else [], chance.random() < WITH_SPEAKER)
        spoken = [*speakers[speaker], COLON] if head[1] and speakers[speaker] else []
        words = text[starts[line] : starts[line + 1]]
        rows[pages[line]].append(np.concatenate([[CLS, PASSAGE, *head[0], *spoken], words, [SEP]]))
    ids, begins = a["asked_ids"].astype(np.int32), a["asked_starts"]
    asked = [np.concatenate([[CLS, QUESTION], ids[x:y], [SEP]]) for x, y in pairwise(begins) if y > x]
    return {
        name: Flat(np.concatenate(some), np.cumsum([0, *map(len, some)]), bench.device)
        for name, some in (("chats", rows[False]), ("pages", rows[True]), ("chats asked", asked))
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
