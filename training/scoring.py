"""MaxSim, quantisation as the codec will do it, mining of hard negatives, and what a model scores on questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from training.data import Data, Flat, by_length
from training.prepare import DEV, HELD

Numbers = np.ndarray[Any, Any]
# Levels of a standard normal that lose least when rounded to (Lloyd-Max), by bits.
LEVELS = {
    2: (-1.510, -0.4528, 0.4528, 1.510),
    4: (-2.733, -2.069, -1.618, -1.256, -0.9424, -0.6568, -0.3881, -0.1284,
        0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733),
}  # fmt: skip
HALF = torch.cuda.is_available()  # half precision only where it is fast
SMALL = torch.bfloat16 if HALF else torch.float32
TOKENS_AT_ONCE = 131_072  # of a padded batch without gradients


class Rounding(nn.Module):
    """Round token vectors to few levels, each dimension by its own mean and spread, and let gradients through."""

    def __init__(self, dims: int, bits: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dims))
        self.register_buffer("spread", torch.full((dims,), dims**-0.5))
        levels = torch.tensor(LEVELS[bits])
        self.register_buffer("levels", levels)
        self.register_buffer("edges", (levels[1:] + levels[:-1]) / 2)

    def forward(self, tokens: Tensor, keep: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                # By sums, not by an index: the device need not be waited for.
                here = keep[..., None]
                count = keep.sum()
                mean = (tokens * here).sum((0, 1)) / count
                self.mean.lerp_(mean, 0.05)
                self.spread.lerp_((((tokens - mean) * here) ** 2).sum((0, 1)).div(count).sqrt(), 0.05)
        standard = (tokens - self.mean) / self.spread
        rounded = self.levels[torch.bucketize(standard.detach(), self.edges)] * self.spread + self.mean
        return tokens + (rounded - tokens).detach()


def max_sim(questions: Tensor, passages: Tensor, keep: Tensor) -> Tensor:
    """Give the sum over question tokens of the best match in each passage: (questions, passages)."""
    count, length, dims = questions.shape
    similar = questions.reshape(-1, dims).to(SMALL) @ passages.reshape(-1, dims).to(SMALL).T
    similar = similar.view(count, length, *keep.shape) + torch.where(keep, 0.0, -4.0).to(SMALL)
    return similar.amax(-1).float().sum(1)


def stored(ids: Tensor, there: Tensor, punctuation: Tensor) -> Tensor:
    """Mark the tokens of passages that are kept: no markers, no punctuation; something of every passage."""
    marks = torch.zeros(30522, dtype=torch.bool, device=ids.device)
    marks[punctuation] = True
    marks[torch.tensor([0, 101, 102, 1, 2], device=ids.device)] = True
    keep = there & ~marks[ids.long()]
    keep[:, 2] |= ~keep.any(1)
    return keep


@torch.no_grad()
def encode_all(
    model: Any, flat: Flat, rows: Numbers, punctuation: Tensor | None, dims: int
) -> tuple[Tensor, Numbers, Tensor]:
    """Encode rows: the kept tokens one behind the other, where each row starts, and the pooled vectors."""
    device = flat.ids.device
    lengths = flat.lengths[rows]
    parts: list[Tensor] = [torch.empty(0)] * len(rows)
    pooled = torch.empty(len(rows), 384, device=device)
    for batch in by_length(lengths, TOKENS_AT_ONCE):
        ids, there = flat.padded(rows[batch])
        with torch.autocast(device.type, torch.bfloat16, enabled=HALF):
            tokens, one = model(ids, there, question=punctuation is None)
        keep = there if punctuation is None else stored(ids, there, punctuation)
        pooled[torch.from_numpy(batch).to(device)] = one
        counts = keep.sum(1).cpu().numpy()
        flat_tokens = tokens[keep].to(SMALL).split(counts.tolist())
        for place, part in zip(batch, flat_tokens, strict=True):
            parts[place] = part
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return torch.cat(parts) if len(parts) else torch.empty(0, dims), starts, pooled


@torch.no_grad()
def pool_scores(questions: Tensor, question_starts: Numbers, lines: Tensor, line_starts: Numbers) -> Tensor:
    """Give the mean MaxSim of each question with each line, all against all."""
    counts = torch.from_numpy(np.diff(line_starts)).to(lines.device)
    belongs = torch.repeat_interleave(torch.arange(len(counts), device=lines.device), counts)
    result = torch.empty(len(question_starts) - 1, len(counts), device=lines.device)
    for number in range(len(question_starts) - 1):
        one = questions[question_starts[number] : question_starts[number + 1]]
        similar = (one @ lines.T).float()
        best = torch.full((len(one), len(counts)), -4.0, device=lines.device)
        best.scatter_reduce_(1, belongs.expand(len(one), -1), similar, "amax")
        result[number] = best.mean(0)
    return result


def evaluate(
    model: Any, data: Data, lines: Flat, questions: Flat, rounding: Rounding | None = None
) -> dict[str, float]:
    """Score a model on the development dialogues and the held-back questions, by token and by pooled vectors."""
    punctuation = torch.from_numpy(data.arrays["punctuation"]).to(lines.ids.device)
    model.eval()
    scores: dict[str, list[float]] = {}
    for name, asked, rows in tasks(data):
        vectors, starts, pooled = encode_all(model, lines, rows, punctuation, 0)
        if rounding is not None:
            rounding.eval()
            keep = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
            vectors = rounding(vectors.float(), keep).to(SMALL)
        q_vectors, q_starts, q_pooled = encode_all(model, questions, asked, None, 0)
        late = pool_scores(q_vectors, q_starts, vectors, starts).cpu().numpy()
        half = nn.functional.normalize(pooled[:, :128], dim=1)
        near = (nn.functional.normalize(q_pooled[:, :128], dim=1) @ half.T).cpu().numpy()
        place = {int(row): number for number, row in enumerate(rows)}
        wanted = [[place[line] for line in data.positives[one]] for one in asked]
        for kind, matrix in (("late", late), ("pooled", near)):
            frac, rank = _found(matrix, wanted)
            scores.setdefault(f"{name}.{kind}@10", []).extend(frac)
            scores.setdefault(f"{name}.{kind}.mrr", []).extend(rank)
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    for kind in ("late@10", "pooled@10"):
        means[f"held.{kind}"] = float(
            np.mean([v for n, v in means.items() if n.startswith("held-") and n.endswith(kind)])
        )
    return {name: round(value, 4) for name, value in means.items()}


def tasks(data: Data) -> list[tuple[str, Numbers, Numbers]]:
    """Name what is asked over which lines: each development dialogue alone, the held-back pools of a source as one."""
    tasks = []
    dev = data.chosen(DEV)
    for pool in np.unique(data.pool[dev]):
        asked = dev[data.pool[dev] == pool]
        tasks.append(("dev", asked, data.lines_of(asked)))
    held = data.chosen(HELD)
    for source in np.unique(data.source[held]):
        asked = held[data.source[held] == source]
        tasks.append((f"held-{data.sources[source]}", asked, data.lines_of(asked)))
    return tasks


def _found(matrix: Numbers, wanted: list[list[int]]) -> tuple[list[float], list[float]]:
    frac, rank = [], []
    for row, lines in zip(matrix, wanted, strict=True):
        places = [int((row > row[line]).sum()) for line in lines]
        frac.append(sum(place < 10 for place in places) / len(places))
        rank.append(1 / (1 + min(places)))
    return frac, rank


@torch.no_grad()
def mine(model: Any, data: Data, lines: Flat, questions: Flat, asked: Numbers, count: int, seed: int) -> Numbers:
    """Give each question its positives (at most four) and the lines of its pool that the model takes for answers."""
    punctuation = torch.from_numpy(data.arrays["punctuation"]).to(lines.ids.device)
    model.eval()
    chance = np.random.default_rng(seed)
    every = data.lines_of(asked)
    vectors, starts, _ = encode_all(model, lines, every, punctuation, 0)
    place = {int(line): number for number, line in enumerate(every)}
    q_vectors, q_starts, _ = encode_all(model, questions, asked, None, 0)
    found = np.empty((len(asked), count), np.int64)
    order = np.argsort(data.pool[asked], kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(data.pool[asked[order]])) + 1):
        pool = data.pool[asked[group[0]]]
        first, end = data.pool_starts[pool], data.pool_starts[pool + 1]
        a, b = place[int(first)], place[int(end - 1)] + 1
        q_parts = [q_vectors[q_starts[g] : q_starts[g + 1]] for g in group]
        g_starts = np.cumsum([0, *(len(part) for part in q_parts)])
        local = starts[a : b + 1] - starts[a]
        ranks = pool_scores(torch.cat(q_parts), g_starts, vectors[starts[a] : starts[b]], local)
        ranks = ranks.argsort(1, descending=True)[:, : count + 40].cpu().numpy() + first
        for number, question in enumerate(group):
            mine_ = data.positives[asked[question]]
            good = chance.permutation(mine_)[:4].tolist()
            hard = [int(line) for line in ranks[number] if int(line) not in set(mine_)]
            row = [*good, *hard][:count]
            found[question] = [*row, *chance.choice(every, count - len(row)).tolist()]
    return found
