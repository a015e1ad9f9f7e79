"""Can recurring trouble be told from everyday talk by the vectors of a memory?

Thirty histories have one trouble or unmet wish in five of ten sessions, in other words each time. Thirty are quiet: a
pleasant habit, a trouble that was solved, or five troubles that have nothing to do with each other. All are filled up
with single lines of the training conversations. A group is three lines or more of as many sessions that are near each
other and complain or wish; the densest group of a history counts. Tone is learned from `tone.txt`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from training.reading.corpus import load

from evals.terminal import say
from everyword import Memory

_WORDS = Path(__file__).parent / "recurring_words"
SESSIONS, MENTIONS, FILLERS = 10, 5, 55
_TONE_RIDGE = 3.0
Floats = NDArray[np.float64]


class Line(NamedTuple):
    """A line of a history."""

    text: str
    session: int
    planted: bool


class Rates(NamedTuple):
    """What is found at one threshold of similarity."""

    near: float
    found: int  # of the histories with a trouble: the densest group is mostly its lines
    missed: int
    false: int  # of the quiet histories: there is a group


def measure(thresholds: Sequence[float] = (0.3, 0.35, 0.4, 0.45, 0.5)) -> list[Rates]:
    """Look for groups in all histories."""
    troubles, quiet = histories()
    tone = _blocks("tone.txt")[0]
    texts = sorted({line.text for history in (*troubles, *quiet) for line in history} | {line[2:] for line in tone})
    vectors = dict(zip(texts, _encoded(texts), strict=True))
    weights = _tone(np.array([vectors[line[2:]] for line in tone]), np.array([line[0] == "+" for line in tone], float))
    rates: list[Rates] = []
    for near in thresholds:
        groups = [_densest(history, vectors, weights, near) for history in troubles]
        found = sum(2 * sum(line.planted for line in group) > len(group) for group in groups)
        false = sum(bool(_densest(history, vectors, weights, near)) for history in quiet)
        rates.append(Rates(near, found, len(troubles) - found, false))
    return rates


def histories(seed: int = 7) -> tuple[list[list[Line]], list[list[Line]]]:
    """Write the histories with a trouble, and the quiet ones."""
    draw = random.Random(seed)
    troubles = _blocks("troubles.txt")
    apart = [[draw.choice(block) for block in draw.sample(troubles, MENTIONS)] for _ in range(10)]
    fillers = _fillers()
    return (
        [_history(block, fillers, draw) for block in troubles],
        [_history(block, fillers, draw) for block in (*_blocks("habits.txt"), *_blocks("solved.txt"), *apart)],
    )


def _history(planted: Sequence[str], fillers: Sequence[str], draw: random.Random) -> list[Line]:
    sessions = sorted(draw.sample(range(SESSIONS), len(planted)))
    lines = [Line(text, place % SESSIONS, False) for place, text in enumerate(draw.sample(fillers, FILLERS))]
    return [*lines, *(Line(text, session, True) for text, session in zip(planted, sessions, strict=True))]


def _blocks(name: str) -> list[list[str]]:
    text = (_WORDS / name).read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return [block.strip().splitlines() for block in lines.split("\n\n") if block.strip()]


def _fillers() -> list[str]:
    """Take one short line of a person from each training conversation, so that nothing recurs."""
    draw = random.Random(3)
    fitting = (
        [t.text for t in one.turns if 20 <= len(t.text) <= 160 and "\n" not in t.text and t.speaker != "assistant"]
        for one in load()
        if (one.split, one.lang) == ("train", "en")
    )
    return [draw.choice(lines) for lines in fitting if lines]


def _encoded(texts: Sequence[str]) -> Iterator[Floats]:
    """Give the pooled vectors that a memory stores for texts, of length 1."""
    with Memory.open(":memory:", background=False, extract=False, fold=False) as memory:
        memory.add_many([{"text": text, "speaker": "Ana"} for text in texts])
        engine = memory.scope.engine
        with engine.store.reader("default") as reader:
            rows = reader.log(limit=len(texts))
            model = engine.models.serving(reader.file).model
            assert model is not None
            pooled = reader.pooled(model, [seq for seq, _ in rows])
    by_text = {event.text: pooled[seq].astype(np.float64) for seq, event in rows}
    for text in texts:
        yield by_text[text] / np.linalg.norm(by_text[text])


def _tone(vectors: Floats, complains: Floats) -> Floats:
    """Fit a logistic regression; the last weight is the constant."""
    given, weights = np.c_[vectors * 8, np.ones(len(vectors))], np.zeros(vectors.shape[1] + 1)
    for _ in range(40):
        chance = 1 / (1 + np.exp(-given @ weights))
        slope = given.T @ (chance - complains) + _TONE_RIDGE * weights
        bend = (given * (chance * (1 - chance))[:, None]).T @ given + _TONE_RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights


def _densest(history: Sequence[Line], vectors: dict[str, Floats], weights: Floats, near: float) -> list[Line]:
    rows = np.array([vectors[line.text] for line in history])
    complaining: list[int] = np.flatnonzero(rows @ weights[:-1] * 8 + weights[-1] > 0).tolist()
    centred = rows - rows.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    like = centred @ centred.T
    best, densest = 0.0, list[Line]()
    for one in complaining:
        others = [i for i in complaining if like[one, i] >= near and history[i].session != history[one].session]
        if len({history[i].session for i in others}) >= 2 and float(like[one, others].sum()) > best:
            best, densest = float(like[one, others].sum()), [history[one], *(history[i] for i in others)]
    return densest


if __name__ == "__main__":
    for one in measure():
        say(f"near {one.near:.2f}: found {one.found} of 30, false in {one.false} of 30 quiet histories")
