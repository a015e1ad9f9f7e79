"""Let teachers label text that nobody labelled: python -m training.reading.label --inputs FOLDER --work FOLDER ...

    --smol FOLDER --teachers NAME NAME --to FILE.pkl

Turns (public lines that are not labelled, our themes and goals), pairs of statements of one training conversation, and
public questions with their lines. What teachers are unsure of is kept: a silver label is the mean of their chances.
Teachers and reader have different vocabularies, so chances move from token to token by their characters.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import lzma
import pickle
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.reading import corpus, decoding, external, llama
from training.reading.corpus import Conversation, Turn
from training.reading.data import CANDIDATES, NONE, Rng, Told, _before, line_turn, public_questions
from training.reading.decoding import Matrix, Settings, softmax
from training.reading.evaluation import gold_tokens
from training.reading.examples import Joined, Reading, Writer, side
from training.reading.model import Reader, layout
from training.reading.train import SMALL, TorchRunner

PAIRS_EACH = 40  # statements of a conversation that are paired, at most
SPEAKERS = "user Ana Tom Priya Lukas Mei Omar Sofia".split()
TALKS = {"friendsqa", "realmem"}  # public sets that are talk
PARTS = ("kind", "mode", "state", "about")  # what of a statement has silver labels

Chances = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class SoftReading:
    """A reading with chances: of each token's tags (names, then statements), and of what is said of each statement."""

    reading: Reading
    tags: Chances
    spans: list[tuple[int, int]]
    said: Chances  # the classes of PARTS, side by side


@dataclass(frozen=True, slots=True)
class SoftAsked:
    """A question's lines, the chances of each and of none, and the answer in the likeliest line."""

    rows: list[Joined]
    chances: Chances
    best: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Silver:
    readings: list[SoftReading]
    pairs: list[tuple[Joined, Chances]]
    asked: list[SoftAsked]


def turns(inputs: Path, talks: Sequence[Conversation]) -> Iterator[tuple[Turn, Turn | None]]:
    """List turns without labels, each with the one before it."""
    labelled = {turn.text for one in talks for turn in one.turns}
    with lzma.open(inputs / "questions.jsonl.xz", "rt", encoding="utf-8") as file:
        pools = {row["pool"] for row in map(json.loads, file) if row["source"] in TALKS}
    for lines in external.read_pools(inputs, pools).values():
        said = [line_turn(line) for line in lines]
        for n, turn in enumerate(said):
            if turn.text not in labelled and len(turn.text) > 3:
                yield turn, said[n - 1] if n else None
    chance = np.random.default_rng(0)
    for number, text in enumerate(_own_lines()):
        day = f"2026-{chance.integers(1, 13):02}-{chance.integers(1, 28):02}"
        yield Turn(f"line/{number}", day, SPEAKERS[int(chance.integers(len(SPEAKERS)))], text), None


def _own_lines() -> Iterator[str]:
    here = Path(__file__).parents[1]
    with lzma.open(here / "themes.jsonl.xz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            yield from row["events"]
    for line in (here / "goals.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)["text"]


def candidates(c: Conversation, chance: Rng) -> Iterator[tuple[Told, Told]]:
    """Pair statements of a conversation that nobody related, those with words in common first."""
    told: list[Told] = [(n, (s.start, s.end), s.about_name) for n, t in enumerate(c.turns) for s in t.statements]
    related = {(p.a[:2], p.b[:2]) for p in c.pairs}
    words = [set(re.findall(r"\w{4,}", c.turns[n].text[slice(*quote)].lower())) for n, quote, _ in told]
    found: list[tuple[float, int, int]] = []
    for a in range(len(told)):
        for b in range(a + 1, len(told)):
            if told[a][0] < told[b][0] and (told[a][:2], told[b][:2]) not in related:
                near = len(words[a] & words[b]) / (2 + min(len(words[a]), len(words[b])))
                near += 0.1 * (told[a][2] == told[b][2])
                found.append((near + 0.15 * float(chance.random()), a, b))
    for _, a, b in sorted(found, reverse=True)[:PAIRS_EACH]:
        yield told[a], told[b]


def groups(inputs: Path, conversations: Sequence[Conversation], ranked: dict[str, Any], chance: Rng) -> Iterator[Any]:
    """List questions, each with CANDIDATES lines: public ones, and our own without the line that answers."""
    for text, right, wrong in public_questions(inputs):
        lines = [(one, None) for one in [right[int(chance.integers(len(right)))], *wrong]]
        yield text, _filled(lines)
    for c in conversations:
        for question, order in zip(c.questions, ranked.get(c.id, ()), strict=False):
            near = [(c.turns[n], _before(c, n)) for n in order[:10] if n != question.turn]
            if near:
                yield question.text, _filled([near[n] for n in chance.permutation(len(near)).tolist()])


def _filled(lines: list[Any]) -> list[Any]:
    return [*lines, *[lines[-1]] * CANDIDATES][:CANDIDATES]


class Labeller:
    """Writes rows for the reader and for its teachers."""

    def __init__(self, inputs: Path, smol: Path, *, most: int = 0) -> None:
        self.reader = Writer(SMALL / "tokenizer.json")
        self.teacher = Writer(smol / "tokenizer.json", llama.MARKERS)
        talks = [one for one in corpus.load(talk=inputs, pools=inputs) if one.split == "train"]
        ranked = json.loads((inputs / "ranked.json").read_text())
        chance = np.random.default_rng(0)
        cut = slice(most or None)
        self.turns = list(turns(inputs, talks))[cut]
        pairs = [(side(c, *a), side(c, *b)) for c in talks[cut] for a, b in candidates(c, chance)]
        asked = list(groups(inputs, talks, ranked, chance))
        asked = [asked[n] for n in chance.permutation(len(asked)).tolist()][cut]
        both = self.reader, self.teacher
        self.readings, self.taught = ([list(one.windows(*turn)) for turn in self.turns] for one in both)
        self.pairs, self.taught_pairs = ([one.pair(a, b) for a, b in pairs] for one in both)
        self.asked, self.taught_asked = (
            [[one.answer(text, *line) for line in lines] for text, lines in asked] for one in both
        )

    def label(self, models: Sequence[Reader], abouts: Sequence[dict[str, Any]], device: str) -> Silver:
        """Ask all teachers, and take the mean of their chances."""
        rows = [row for some in self.taught for row in some]
        lines = [row for some in self.taught_asked for row in some]
        told: list[list[Matrix]] = []
        pairs: list[Matrix] = []
        answers: list[list[Matrix]] = []
        for model in models:
            runner = TorchRunner(model, device, batch=512)
            told.append(runner.read(rows))
            pairs.append(softmax(runner.pair(self.taught_pairs)))
            answers.append(runner.answer(lines))
        columns = layout(len(abouts[0]["relations"]))
        settings = Settings(**abouts[0]["chosen"]["settings"])
        place, readings = 0, list[SoftReading]()
        for own, taught in zip(self.readings, self.taught, strict=True):
            some = [[one[n] for one in told] for n in range(place, place + len(taught))]
            place += len(taught)
            readings += _soft_readings(own, taught, some, columns, settings)
        chances = np.mean(pairs, 0)
        asked = [
            _soft_asked(own, taught, [one[n * CANDIDATES : (n + 1) * CANDIDATES] for one in answers])
            for n, (own, taught) in enumerate(zip(self.asked, self.taught_asked, strict=True))
        ]
        return Silver(readings, list(zip(self.pairs, chances.astype(np.float16), strict=True)), asked)


def _soft_readings(
    own: list[Reading], taught: list[Reading], told: list[list[Matrix]], columns: dict[str, slice], settings: Settings
) -> Iterator[SoftReading]:
    """Move chances from the teachers' tokens to the reader's."""
    turn = own[0].turn
    at = np.full(len(turn.text) + 1, -1)
    rows: list[Matrix] = []
    spans: list[tuple[int, int, Matrix]] = []
    for reading, matrices in zip(taught, told, strict=True):
        tags = np.mean([np.concatenate([softmax(m[:, columns[part]]) for part in ("entity", "statement")], 1)
                        for m in matrices], 0)  # fmt: skip
        for n in reading.own():
            at[reading.starts[n] : reading.ends[n]] = len(rows) + n
        logs = np.mean(matrices, 0)
        logs[:, columns["statement"]] = np.log(tags[:, -3:] + 1e-6)
        for tokens, score in decoding.statement_spans(reading, logs, columns, settings.inside):
            if score >= settings.keep:
                said = [np.mean([softmax(m[tokens].mean(0)[columns[part]]) for m in matrices], 0) for part in PARTS]
                spans.append((reading.starts[tokens[0]], reading.ends[tokens[-1]], np.concatenate(said)))
        rows += list(tags)
    table = np.array(rows)
    width = table.shape[1] - 3
    for reading in own:
        tags = np.zeros((len(reading.ids), table.shape[1]), np.float32)
        last = -1
        for n in reading.own():
            source = int(at[reading.starts[n]])
            if source < 0:
                continue
            tags[n] = table[source]
            if source == last:
                # The second part of a token that begins something is inside it.
                tags[n, 2:width:2] += tags[n, 1:width:2]
                tags[n, 1:width:2] = 0
                tags[n, width + 2] += tags[n, width + 1]
                tags[n, width + 1] = 0
            last = source
        inside = [
            (gold_tokens(reading, a, b), said) for a, b, said in spans if reading.window[0] <= a < reading.window[1]
        ]
        inside = [one for one in inside if one[0]]
        said = np.array([one[1] for one in inside], np.float16)
        yield SoftReading(reading, tags.astype(np.float16), [(t[0], t[-1]) for t, _ in inside], said)


def _soft_asked(own: list[Joined], taught: list[Joined], told: list[list[Matrix]]) -> SoftAsked:
    """Score the lines as training does, and find the answer in the likeliest one."""
    chances: list[Matrix] = []
    for matrices in told:
        scores = [0.0] * len(taught)
        for n, (row, logits) in enumerate(zip(taught, matrices, strict=True)):
            line = logits[[k for k, segment in enumerate(row.segments) if segment == 1]]
            peak = line.max(0)
            scores[n] = float((np.log(np.exp(line - peak).sum(0)) + peak - logits[0]).sum())
        chances.append(softmax(np.array([*scores, 0.0])))
    mean = np.mean(chances, 0)
    best = int(mean[:-1].argmax())
    row, logits = taught[best], np.mean([one[best] for one in told], 0)
    places = [n for n, start in enumerate(row.starts) if start >= 0]
    if not places:
        return SoftAsked(own, mean.astype(np.float32), best, NONE, NONE)
    _, first, last = decoding.best_span(logits[places, 0], logits[places, 1], 24)
    span = row.starts[places[first]], row.ends[places[last]]
    inside = [n for n, start in enumerate(own[best].starts) if 0 <= start < span[1] and own[best].ends[n] > span[0]]
    ends = (inside[0], inside[-1]) if inside else (NONE, NONE)
    return SoftAsked(own, mean.astype(np.float32), best, *ends)


def main() -> None:
    """Write rows while the teachers learn; label when they are done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--smol", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--teachers", nargs="+", required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--most", type=int, default=0, help="so many of each, to try the code")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    began = time.time()
    labeller = Labeller(arguments.inputs, arguments.smol, most=arguments.most)
    print(f"{time.time() - began:.0f} s: {len(labeller.turns)} turns, {len(labeller.pairs)} pairs, "
          f"{len(labeller.asked)} questions", flush=True)  # fmt: skip
    while not all((arguments.work / f"{name}.done").exists() for name in arguments.teachers):
        time.sleep(1)
    models: list[Reader] = []
    abouts: list[dict[str, Any]] = []
    for name in arguments.teachers:
        abouts.append(json.loads((arguments.work / f"{name}.json").read_text()))
        plan = abouts[-1]["plan"]
        encoder = llama.LlamaEncoder(ahead=plan["ahead"], echo=plan["echo"])
        model = Reader(encoder, len(abouts[-1]["relations"]))
        model.load_state_dict(torch.load(arguments.work / f"{name}.pt", map_location="cpu"))
        model.to(arguments.device)
        if arguments.device == "cuda":
            model.encoder.bfloat16()
        models.append(model)
    silver = labeller.label(models, abouts, arguments.device)
    partial = arguments.to.with_suffix(".part")
    with partial.open("wb") as file:
        pickle.dump(silver, file, protocol=5)
    partial.rename(arguments.to)
    print(
        f"{time.time() - began:.0f} s: labelled {len(silver.readings)} readings with "
        f"{sum(len(one.spans) for one in silver.readings)} statements",
        np.bincount([int(one.argmax()) for _, one in silver.pairs], minlength=6).tolist(),
        np.bincount([int(one.chances.argmax()) for one in silver.asked], minlength=7).tolist(),
        flush=True,
    )


if __name__ == "__main__":
    # What is kept names the module of its classes, which must not be __main__.
    from training.reading.label import main as labelling

    labelling()
