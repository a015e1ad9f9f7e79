"""Train on one device: teacher, student, seeds, as a plan says: python -m training.train --plan PLAN --out FOLDER

A plan is JSON: {"data", "steps": [{"do": ..., ...}]}; each step's settings and scores are a line of FOLDER/log.jsonl.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training import weights
from training.data import Data, Flat, Style, flat_questions
from training.distil import NESTED, chat_flats, distil, principal
from training.network import WIDTH, CrossEncoder, TwoHeads, load_encoder
from training.prepare import TRAIN
from training.reranker import judge_reranker, teach_reranker
from training.scoring import HALF, Rounding, evaluate, max_sim, mine, stored
from training.teachers import cross_scores, teacher_scores

CANDIDATES = 24  # positives and mined lines a question
PUBLIC_SHARE = {"made": 0.25, "hotpot": 0.2, "2wiki": 0.1, "squad": 0.12, "timeqa": 0.05, "realmem": 0.1, "xquad": 0.05,
                "friendsqa": 0.13}  # fmt: skip
BUCKETS = 5  # of like length that the passages of a batch are encoded in


class Bench:
    """What all steps share: data on the device, models by name, the log."""

    def __init__(self, plan: dict[str, Any], out: Path) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.out = out
        self.plan = plan
        self.data = Data(Path(plan["data"]), plan.get("limit"))
        self.files = Path(plan["data"]).parent
        contexts = [False, True] if plan.get("context") else [False]
        styles = [Style(0, False, c) for c in contexts]
        styles += [Style(seed, True, c) for c in contexts for seed in range(1, plan.get("styles", 6) + 1)]
        began = time.time()
        written = self._written(styles)
        self.lines = {style: Flat(*rows, self.device) for style, rows in zip(styles, written, strict=True)}
        self.questions = flat_questions(self.data, self.device)
        self.punctuation = torch.from_numpy(self.data.arrays["punctuation"]).to(self.device)
        self.models: dict[str, Any] = {}
        self.trained = self.data.chosen(TRAIN)
        self.asked = self._some(self.trained, plan.get("made_questions", 6000))
        repeats = plan.get("repeats", {"friendsqa": 10, "realmem": 6, "made": 2})
        self.seen = self._seen(repeats)
        self.pools = self._pools(repeats)
        self.answers = self._answers()
        self.positive_sets = [set(lines) for lines in self.data.positives]
        self.candidates: np.ndarray[Any, Any] | None = None
        self.cross: Tensor | None = None
        self.teacher: dict[str, Tensor] = {}
        self.projections: dict[str, Tensor] = {}  # of a student: from its teacher's token vectors to its own
        self.flats = chat_flats(self.files / "chats.npz", self) if (self.files / "chats.npz").exists() else {}
        self.note(
            {
                "do": "open",
                "device": self.device,
                "questions": len(self.asked),
                "s": round(time.time() - began, 1),
                "chats": {name: len(flat.lengths) for name, flat in self.flats.items()},
            }
        )

    def _written(self, styles: list[Style]) -> list[Any]:
        """Write the lines out in every style, or read what an earlier run wrote."""
        kept = self.files / f"written-{len(styles)}.npz"
        if kept.exists():
            with np.load(kept, allow_pickle=False) as file:
                return [(file[f"ids{n}"], file[f"starts{n}"]) for n in range(len(styles))]
        with ProcessPoolExecutor(min(len(styles), self.plan.get("processes", 14))) as pool:
            written = list(pool.map(partial(Data.write_out, self.data), styles))
        named = {f"ids{n}": pair[0] for n, pair in enumerate(written)}
        named |= {f"starts{n}": pair[1] for n, pair in enumerate(written)}
        np.savez(kept, allow_pickle=False, **named)
        return written

    def _some(self, asked: Any, most: int) -> Any:
        """Leave out of our own questions what is more than enough."""
        ours = np.flatnonzero(self.data.source[asked] == self.data.sources.index("made"))
        spare = np.random.default_rng(0).permutation(ours)[most:]
        return np.delete(asked, spare)

    def _seen(self, repeats: dict[str, int]) -> Any:
        """Give the lines that training may see at all, those of dialogues several times."""
        trained = self.data.chosen(TRAIN)
        return np.concatenate([
            np.tile(self.data.lines_of(trained[self.data.source[trained] == number]), repeats.get(name, 1))
            for number, name in enumerate(self.data.sources)
            if (self.data.source[trained] == number).any()
        ])  # fmt: skip

    def _pools(self, repeats: dict[str, int]) -> Any:
        """Give the pools that training may see, those of dialogues several times."""
        source = self.data.source[self.trained]
        return np.concatenate([
            np.tile(np.unique(self.data.pool[self.trained[source == number]]), repeats.get(name, 1))
            for number, name in enumerate(self.data.sources)
        ])  # fmt: skip

    def _answers(self) -> dict[int, list[int]]:
        """Say of each line which questions of training it answers; of our own questions only some."""
        found: dict[int, list[int]] = {}
        for question in self.asked.tolist():
            for line in self.data.positives[question]:
                found.setdefault(line, []).append(question)
        return found

    def plain(self, context: bool = False) -> Flat:
        """Give the lines as the product writes them."""
        return self.lines[Style(0, False, context)]

    def varied(self, number: int, context: bool = False) -> Flat:
        """Give the lines in one of the styles of training."""
        return self.lines[Style(1 + number % self.plan.get("styles", 6), True, context)]

    def arrays(self, file: str) -> weights.Arrays:
        """Read weights."""
        return weights.read(self.files / file)

    def learner(self, named: Any, rate: float) -> torch.optim.Optimizer:
        """Make what changes the weights."""
        named = [(name, one) for name, one in named if one.requires_grad]
        plain = [one for name, one in named if one.ndim < 2]
        decayed = [one for name, one in named if one.ndim >= 2]
        groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=torch.cuda.is_available())

    def set_rate(self, learner: torch.optim.Optimizer, step: dict[str, Any], number: int) -> None:
        """Rise at the start, then fall to almost nothing."""
        warm = max(1, step["steps"] // 16)
        done = (number - warm) / max(1, step["steps"] - warm)
        rate = step["lr"] * (number / warm if number < warm else 0.02 + 0.98 * (1 - done))
        for group in learner.param_groups:
            group["lr"] = rate

    def learn(self, learner: torch.optim.Optimizer, loss: Tensor, model: nn.Module) -> None:
        """Take one step."""
        learner.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        learner.step()

    def columns(self, rows: Any, negatives: int, chance: np.random.Generator) -> np.ndarray[Any, Any]:
        """Draw for each question one of its positives, then other candidates."""
        drawn = np.empty((len(rows), 1 + negatives), np.int64)
        for place, row in enumerate(rows):
            good = min(4, len(self.data.positives[self.asked[row]]))
            first = chance.integers(good)
            rest = chance.permutation(CANDIDATES - 1)[:negatives]
            drawn[place] = [first, *(rest + (rest >= first))]
        return drawn

    def odds(self, step: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Say how often each question is drawn: every source has its share."""
        shares = {**PUBLIC_SHARE, **step.get("shares", {})}
        source = self.data.source[self.asked]
        odds = np.zeros(len(source))
        for number, name in enumerate(self.data.sources):
            chosen = source == number
            if chosen.any():
                odds[chosen] = shares.get(name, 0.0) / chosen.sum()
        return odds / odds.sum()

    def evaluated(self, name: str, context: bool = False) -> dict[str, Any]:
        """Score a model on what was kept back."""
        if self.plan.get("blind"):
            return {}
        model, rounding = self.models[name], self.models.get(f"{name}/rounding")
        result = evaluate(model, self.data, self.plain(), self.questions, rounding)
        if self.plan.get("brief", True):
            result = {key: one for key, one in result.items() if not key.startswith("held-") or key.endswith("late@10")}
        if rounding is not None:
            told = evaluate(model, self.data, self.plain(), self.questions)
            result["dev.late@10 unrounded"] = told["dev.late@10"]
        if context:
            told = evaluate(model, self.data, self.plain(True), self.questions, rounding)
            result["dev.late@10 with context"] = told["dev.late@10"]
        return result

    def say(self, text: str) -> None:
        """Tell how far a step is."""
        print(text, flush=True)

    def note(self, row: dict[str, Any]) -> None:
        """Log a step."""
        print(json.dumps(row), flush=True)
        with (self.out / "log.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")


def main() -> None:
    """Do the steps of a plan."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    plan = json.loads(arguments.plan.read_text())
    torch.backends.cuda.matmul.allow_tf32 = True
    bench = Bench(plan, arguments.out)
    for step in plan["steps"]:
        began = time.time()
        torch.manual_seed(step.get("seed", 1))
        result = STEPS[step["do"]](bench, step)
        bench.note({**step, **(result or {}), "s": round(time.time() - began, 1)})


def load_teacher(bench: Bench, step: dict[str, Any]) -> dict[str, Any]:
    """Load the late-interaction teacher, as a model with our heads that change nothing."""
    model = TwoHeads(12, WIDTH, weighted=False)
    load_encoder(model.encoder, bench.arrays(step["file"]))
    with torch.no_grad():
        model.to_tokens.weight.copy_(torch.eye(WIDTH))
        model.to_pooled.weight.copy_(torch.eye(WIDTH))
        model.to_pooled.bias.zero_()
    bench.models[step["name"]] = model.to(bench.device)
    return bench.evaluated(step["name"])


def mine_candidates(bench: Bench, step: dict[str, Any]) -> dict[str, Any]:
    """Mine hard negatives with a model, and let both teachers score them."""
    model = bench.models[step["model"]]
    bench.candidates = mine(
        model, bench.data, bench.plain(), bench.questions, bench.asked, CANDIDATES, step.get("seed", 1)
    )
    bench.teacher.clear()
    if "cross" in step:
        cross = bench.models.get("cross") or _cross(bench, step["cross"])
        bench.models["cross"] = cross
        bench.cross = cross_scores(bench, cross, bench.asked, bench.candidates)
        np.savez(bench.files / "mined.npz", candidates=bench.candidates, cross=bench.cross.cpu().numpy())
        top = bench.cross.argmax(1).cpu().numpy()
        right = [
            bench.candidates[i, t] in bench.data.positives[q]
            for i, (q, t) in enumerate(zip(bench.asked, top, strict=True))
        ]
        return {"cross.first": round(float(np.mean(right)), 4)}
    return {}


def take_mined(bench: Bench, step: dict[str, Any]) -> None:
    """Take up the candidates that an earlier run on the same machine mined, and the large cross-encoder."""
    with np.load(bench.files / "mined.npz", allow_pickle=False) as file:
        bench.candidates = file["candidates"]
        bench.cross = torch.from_numpy(file["cross"]).to(bench.device)
    bench.models["cross"] = _cross(bench, step["cross"])


def fine_tune(bench: Bench, step: dict[str, Any]) -> dict[str, Any]:
    """Teach a model to rank: labels against hard and in-batch negatives, and the teachers' order of each pool."""
    device, model = bench.device, bench.models[step["model"]]
    if step.get("name", step["model"]) != step["model"]:
        model = _copy(model, step).to(device)
    name = step.get("name", step["model"])
    rounding = Rounding(model.to_tokens.out_features, step["bits"]).to(device) if step.get("bits") else None
    model.encoder.embed_word.weight.requires_grad_(False)
    model.encoder.drop = step.get("drop", 0.0)
    model.train()
    assert bench.candidates is not None
    want_late = teacher_scores(bench, step["teacher"]) if step.get("teacher") else None
    scales = nn.Parameter(torch.tensor([math.log(step.get("scale", 40.0)), math.log(25.0)], device=device))
    learner = bench.learner([*model.named_parameters(), ("scales", scales)], step["lr"])
    chance = np.random.default_rng(step.get("seed", 1))
    odds = bench.odds(step)
    parts: list[Tensor] = []
    for number in range(step["steps"]):
        bench.set_rate(learner, step, number)
        rows = chance.choice(len(bench.asked), step["batch"], replace=False, p=odds)
        columns = bench.columns(rows, step["negatives"], chance)
        loss, told = _ranking_loss(bench, step, model, rounding, scales, rows, columns, want_late, number)
        bench.learn(learner, loss, model)
        parts.append(told)
    bench.models[name] = model
    bench.models[f"{name}/rounding"] = rounding
    told = torch.stack(parts[-50:]).mean(0).tolist()
    result = {"loss": [round(one, 4) for one in told], "scales": [round(one, 1) for one in scales.exp().tolist()]}
    return {**result, **bench.evaluated(name, step.get("context", False))}


def _ranking_loss(
    bench: Bench, step: dict[str, Any], model: Any, rounding: Rounding | None, scales: Tensor, rows: Any, columns: Any,
    want_late: Tensor | None, number: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    device = bench.device
    assert bench.candidates is not None
    asked = bench.asked[rows]
    passages = bench.candidates[rows[:, None], columns].ravel()
    ids, there = bench.questions.padded(asked)
    with torch.autocast(device, torch.bfloat16, enabled=HALF):
        tokens, pooled = model(ids, there, question=True)
    lines = bench.varied(number, step.get("context", False) and number % 2 == 0)
    late, lines_pooled, away = _late(bench, step, model, rounding, tokens, lines, passages)
    if step.get("anchor"):
        away = away + _away(bench, step, ids, there, there, tokens, question=True)
    late = late / torch.from_numpy(bench.questions.lengths[asked]).to(device)[:, None] * scales[0].exp()
    count, width = columns.shape
    own = torch.arange(count * width, device=device).view(count, width)
    positive, allowed = _known(bench, asked, passages, device)
    here = torch.from_numpy(columns).to(device)
    at = torch.from_numpy(rows).to(device)
    target = torch.zeros(count, width, device=device)
    cross = None
    if bench.cross is not None:
        cross = bench.cross[at].gather(1, here)
        # A line that the cross-encoder puts above the labelled one is perhaps an answer that nobody labelled.
        above = (cross > cross[:, :1] + step.get("margin", 1.0)) & ~positive.gather(1, own)
        allowed = allowed.scatter(1, own, allowed.gather(1, own) & ~above)
        target = target + step.get("cross", 0.5) * (cross / step.get("cross_t", 2.0)).softmax(1)
    if want_late is not None:
        target = target + step.get("late", 0.5) * (want_late[at].gather(1, here) * step.get("late_t", 60.0)).softmax(1)
    labels = positive.gather(1, own).float()
    target = target + step.get("labels", 0.5) * labels / labels.sum(1, keepdim=True)
    target = target / target.sum(1, keepdim=True)
    contrast = _contrast(late, positive, allowed, own)
    order = _order(late.gather(1, own), target)
    near_contrast, near_order = torch.zeros((), device=device), torch.zeros((), device=device)
    for dims in NESTED:
        near = F.normalize(pooled[:, :dims], dim=1) @ F.normalize(lines_pooled[:, :dims], dim=1).T * scales[1].exp()
        near_contrast = near_contrast + _contrast(near, positive, allowed, own) / len(NESTED)
        near_order = near_order + _order(near.gather(1, own), target) / len(NESTED)
    order_weight, near_weight = step.get("order", 1.0), step.get("near", 0.5)
    loss = contrast + order_weight * order + near_weight * (near_contrast + order_weight * near_order)
    loss = loss + step.get("anchor_weight", 5.0) * away
    return loss, torch.stack([contrast, order, near_contrast, near_order, away]).detach()


def _late(
    bench: Bench,
    step: dict[str, Any],
    model: Any,
    rounding: Rounding | None,
    questions: Tensor,
    lines: Flat,
    passages: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Encode passages in buckets of like length, compare every question with each; say how far from the anchor."""
    order = np.argsort(lines.lengths[passages], kind="stable")
    scores, pooled = [], []
    away = torch.zeros((), device=bench.device)
    for bucket in np.array_split(order, BUCKETS):
        ids, there = lines.padded(passages[bucket])
        with torch.autocast(bench.device, torch.bfloat16, enabled=HALF):
            tokens, one = model(ids, there, question=False)
        keep = stored(ids, there, bench.punctuation)
        if step.get("anchor"):
            away = away + _away(bench, step, ids, there, keep, tokens, question=False) / BUCKETS
        if rounding is not None:
            tokens = rounding(tokens, keep)
        scores.append(max_sim(questions, tokens, keep))
        pooled.append(one)
    back = torch.from_numpy(np.argsort(order)).to(bench.device)
    return torch.cat(scores, 1)[:, back], torch.cat(pooled)[back], away


def _away(
    bench: Bench, step: dict[str, Any], ids: Tensor, there: Tensor, keep: Tensor, tokens: Tensor, *, question: bool
) -> Tensor:
    """Say how far token vectors are from those of the teacher that a student came from."""
    with torch.no_grad(), torch.autocast(bench.device, torch.bfloat16, enabled=HALF):
        want, _ = bench.models[step["anchor"]](ids, there, question=question)
    want = F.normalize(want.float() @ bench.projections[step["model"]], dim=-1)
    return (1 - (F.normalize(tokens, dim=-1) * want).sum(-1))[keep].mean()


def _known(bench: Bench, asked: Any, passages: Any, device: str) -> tuple[Tensor, Tensor]:
    """Say which of a batch's passages answer which question, and which may stand against it."""
    positive = np.zeros((len(asked), len(passages)), bool)
    places: dict[int, list[int]] = {}
    for place, line in enumerate(passages.tolist()):
        places.setdefault(line, []).append(place)
    for row, question in enumerate(asked):
        for line in bench.data.positives[question]:
            positive[row, places.get(line, [])] = True
    known = torch.from_numpy(positive).to(device)
    return known, torch.ones_like(known)


def _contrast(scores: Tensor, positive: Tensor, allowed: Tensor, own: Tensor) -> Tensor:
    """Let the first positive of each question win against everything that is no positive of it."""
    first = scores.gather(1, own[:, :1])
    others = scores.masked_fill(positive | ~allowed, -1e4)
    return (torch.logsumexp(torch.cat([first, others], 1), 1) - first[:, 0]).mean()


def _order(scores: Tensor, target: Tensor) -> Tensor:
    return F.kl_div(scores.log_softmax(1), target, reduction="batchmean")


def _cross(bench: Bench, file: str) -> Any:
    model = CrossEncoder(12)
    load_encoder(model, bench.arrays(file))
    return model.to(bench.device)


def _copy(model: TwoHeads, step: dict[str, Any]) -> TwoHeads:
    new = TwoHeads(len(model.encoder.layers), model.to_tokens.out_features, weighted=step.get("weighted", True))
    new.load_state_dict(model.state_dict(), strict=False)
    return new


def save(bench: Bench, step: dict[str, Any]) -> None:
    """Write a model as float16, in files small enough to travel; the word embeddings only if asked for."""
    state = {
        name: value.detach().float().cpu().numpy() for name, value in bench.models[step["model"]].state_dict().items()
    }
    state = {name: value for name, value in state.items() if "embed_word" not in name}
    names = list(state)
    half = sum(state[name].size for name in names) / 2
    parts: list[dict[str, Any]] = [{}, {}]
    size = 0
    for name in names:
        parts[0 if size < half else 1][name] = state[name].astype(np.float16)
        size += state[name].size
    for number, part in enumerate(parts):
        np.savez(bench.out / f"{step['file']}.{number}.npz", allow_pickle=False, **part)


def blend(bench: Bench, step: dict[str, Any]) -> dict[str, Any]:
    """Mix two models' weights: what tuning gave, with less of what it took. The pooled head is the second one's."""
    first, second = (bench.models[name] for name in step["models"])
    model = _copy(second, {"weighted": False}).to(bench.device)
    other, share = dict(first.named_parameters()), step["share"]
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "to_pooled" not in name:
                value.lerp_(other[name], 1 - share)
    bench.models[step["name"]] = model
    return bench.evaluated(step["name"])


def mean_of(bench: Bench, step: dict[str, Any]) -> dict[str, Any]:
    """Mix models that differ by their seed alone, each with the same share."""
    states = [bench.models[name].state_dict() for name in step["models"]]
    model = _copy(bench.models[step["models"][0]], {"weighted": False}).to(bench.device)
    model.load_state_dict({name: torch.stack([one[name] for one in states]).mean(0) for name in states[0]})
    bench.models[step["name"]] = model
    return bench.evaluated(step["name"])


def export_model(bench: Bench, step: dict[str, Any]) -> None:
    """Write a model as the product would load it, with a codec fitted to lines of the training data."""
    from training.ship import write_folder, write_reranker

    model = bench.models[step["model"]]
    if isinstance(model, CrossEncoder):
        write_reranker(bench, model, bench.files / "out" / step["model"])
        return
    projection = principal(bench, model, step["dims"]) if model.to_tokens.out_features > step["dims"] else None
    write_folder(bench, model, projection, bench.files / "out" / step.get("to", step["model"]))


def keep(bench: Bench, step: dict[str, Any]) -> None:
    """Keep a model for a later run on the same machine."""
    state = {"state": bench.models[step["model"]].state_dict(), "projection": bench.projections.get(step["model"])}
    torch.save(state, bench.files / f"{step['model']}.pt")


def load(bench: Bench, step: dict[str, Any]) -> None:
    """Take up a model that an earlier run kept."""
    stored = torch.load(bench.files / f"{step['model']}.pt", map_location=bench.device)
    state = stored["state"]
    layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers."))
    model = TwoHeads(layers, len(state["to_tokens.weight"]), weighted="to_weight.weight" in state)
    model.load_state_dict(state)
    bench.models[step["model"]] = model.to(bench.device)
    if stored["projection"] is not None:
        bench.projections[step["model"]] = stored["projection"]


STEPS = {
    "teacher": load_teacher, "mine": mine_candidates, "distil": distil, "tune": fine_tune, "save": save, "blend": blend,
    "export": export_model, "keep": keep, "load": load, "mined": take_mined, "rerank": teach_reranker,
    "judge": judge_reranker, "mean": mean_of,
}  # fmt: skip

if __name__ == "__main__":
    main()
