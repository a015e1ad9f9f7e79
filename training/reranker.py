"""A light cross-encoder for the third stage: some layers of the large one, taught on what late interaction puts on top.

It learns the labels and the large one's order of each question's candidates. What it is worth is what it adds to the
second stage: both scores standardised over the first twenty and added, as recall/reread.py does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from training import weights
from training.data import Flat
from training.network import CrossEncoder, load_encoder
from training.scoring import HALF, encode_all, pool_scores, tasks
from training.teachers import cross_scores, pair_ids

DEPTH = 20  # candidates of the second stage that are read again
BLENDS = (0.0, 0.15, 0.25, 0.35, 0.5, 0.75, 1.0)  # weights of the reranker beside the second stage's 1
BUCKETS = 4  # of like length that the pairs of a batch are scored in


def teach_reranker(bench: Any, step: dict[str, Any]) -> dict[str, Any]:
    """Make a cross-encoder of few layers, and say what it adds on what was kept back."""
    model = CrossEncoder(len(step["pick"]))
    load_encoder(model, weights.some_layers(bench.arrays("cross.npz"), step["pick"]))
    model = model.to(bench.device).train()
    model.encoder.embed_word.weight.requires_grad_(False)
    model.encoder.drop = step.get("drop", 0.1)
    learner = bench.learner(model.named_parameters(), step["lr"])
    chance = np.random.default_rng(step.get("seed", 1))
    odds = bench.odds(step)
    told: list[Tensor] = []
    for number in range(step["steps"]):
        bench.set_rate(learner, step, number)
        rows = chance.choice(len(bench.asked), step["batch"], replace=False, p=odds)
        columns = bench.columns(rows, step["negatives"], chance)
        lines = bench.varied(number)
        loss = _loss(bench, step, model, lines, rows, columns)
        bench.learn(learner, loss, model)
        told.append(loss.detach())
        if number % 200 == 199:
            bench.say(f"{step['name']} {number + 1}: {torch.stack(told[-200:]).mean().item():.4f}")
    model.encoder.drop = 0.0
    bench.models[step["name"]] = model
    return {"loss": round(torch.stack(told[-200:]).mean().item(), 4), **added(bench, model, step["second"])}


def judge_reranker(bench: Any, step: dict[str, Any]) -> dict[str, Any]:
    """Say what a reranker that is there adds."""
    return added(bench, bench.models[step["model"]], step["second"])


def _loss(bench: Any, step: dict[str, Any], model: Any, lines: Flat, rows: Any, columns: Any) -> Tensor:
    asked = bench.asked[rows]
    passages = bench.candidates[rows[:, None], columns]
    pairs_q, pairs_l = np.repeat(asked, columns.shape[1]), passages.ravel()
    order = np.argsort(bench.questions.lengths[pairs_q] + lines.lengths[pairs_l], kind="stable")
    scores = []
    for bucket in np.array_split(order, BUCKETS):
        ids, there, kinds = pair_ids(bench.questions, lines, pairs_q[bucket], pairs_l[bucket])
        with torch.autocast(bench.device, torch.bfloat16, enabled=HALF):
            scores.append(model(ids, there, kinds))
    back = torch.from_numpy(np.argsort(order)).to(bench.device)
    said = torch.cat(scores)[back].view(columns.shape)
    labels = np.array(
        [[line in bench.positive_sets[q] for line in row] for q, row in zip(asked, passages, strict=True)]
    )
    right = torch.from_numpy(labels).to(bench.device).float()
    at, here = torch.from_numpy(rows).to(bench.device), torch.from_numpy(columns).to(bench.device)
    large = (bench.cross[at].gather(1, here) / step.get("cross_t", 2.0)).softmax(1)
    share = step.get("cross", 0.4)
    target = (1 - share) * right / right.sum(1, keepdim=True) + share * large
    return F.kl_div(said.log_softmax(1), target, reduction="batchmean")


@torch.no_grad()
def added(bench: Any, model: Any, second: str) -> dict[str, Any]:
    """Blend with a late-interaction model's scores of its first twenty; give the share found, by weight."""
    model.eval()
    late = bench.models[second].eval()
    lines = bench.plain()
    found: dict[str, list[Any]] = {}
    for name, asked, rows in tasks(bench.data):
        vectors, starts, _ = encode_all(late, lines, rows, bench.punctuation, 0)
        own, own_starts, _ = encode_all(late, bench.questions, asked, None, 0)
        scores = pool_scores(own, own_starts, vectors, starts)
        first, which = scores.topk(min(DEPTH, scores.shape[1]), dim=1)
        candidates = rows[which.cpu().numpy()]
        again = cross_scores(bench, model, asked, candidates)
        for weight in BLENDS:
            best = (_standard(first) + weight * _standard(again)).argsort(1, descending=True).cpu().numpy()
            for question, row, order in zip(asked, candidates, best, strict=True):
                wanted = bench.positive_sets[question]
                for k in (5, 10):
                    hit = sum(int(line) in wanted for line in row[order[:k]]) / len(wanted)
                    found.setdefault(f"{name}@{k} {weight}", []).append(hit)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    shown: dict[str, Any] = {}
    for k in (5, 10):
        for weight in BLENDS:
            held = [
                value for name, value in means.items() if name.startswith("held-") and name.endswith(f"@{k} {weight}")
            ]
            shown[f"@{k} {weight}"] = [round(means[f"dev@{k} {weight}"], 4), round(float(np.mean(held)), 4)]
    return {"dev, held by weight": shown}


def _standard(scores: Tensor) -> Tensor:
    return (scores - scores.mean(1, keepdim=True)) / scores.std(1, keepdim=True, unbiased=False).clamp(min=1e-9)
