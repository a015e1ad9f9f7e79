"""Fit how `ask` weighs the answers that the reader finds in several lines: python -m training.reading.answers

Tells the labelled conversations and stories for choosing, and the first half of `evals/data/changes.jsonl`, to
memories, asks their questions, and keeps what the reader says of the first hits in WORK/answers.jsonl (half an hour on
two cores). Then it fits the weights in `retrieval/answer.py` (`_WEIGHTS`): a softmax over the answers of a question and
"none of them". Prints the weights, and by cross-validation over conversations how many questions are answered rightly
and refused, and how far chances and shares of right answers differ.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from evals.reading import event_of
from evals.updates import Story, read_stories
from numpy.typing import NDArray

from everyword import Memory
from everyword.api.answers import _choosing, _read, _stated, _turns_before  # pyright: ignore[reportPrivateUsage]
from everyword.retrieval import answer as product
from everyword.retrieval.query_analysis import analyse
from everyword.types.events import Event
from training.reading.corpus import Conversation, load
from training.reading.corpus import read_stories as learned_stories

CHANGES = Path("evals/data/changes.jsonl")
CHANGE_WEIGHT = 2  # a question about one of CHANGES counts as so many: these are few, and written by somebody else
FOLDS = 4
SIGNS = product.AnswerSigns._fields
STEPS, RATE, RIDGE = 400, 0.05, 1.0
Floats = NDArray[np.float64]
Json = dict[str, Any]


class Answers(NamedTuple):
    """The answers found for one question: what is weighed, and which are right."""

    group: str  # the conversation or story
    signs: Floats  # a row an answer: score, wins, losses, 1
    right: NDArray[np.bool_]
    answerable: bool


def asked_of_conversation(conversation: Conversation) -> Iterator[Json]:
    """Tell a conversation, and look for the answers to its questions three weeks after its last turn."""
    events = [event_of(conversation, number) for number in range(len(conversation.turns))]
    with Memory.open(":memory:", background=False) as memory:
        ids = [
            memory.add(e.text, speaker=e.speaker, session=f"{e.at:%Y-%m-%d}", at=e.at, key=str(n)).id
            for n, e in enumerate(events)
        ]
        memory.admin.settle()
        now = max(one.at for one in events) + timedelta(days=21)
        for question in conversation.questions:
            right = "" if question.turn is None else ids[question.turn]
            found = look(memory, question.text, now, lambda event, right=right: event.id == right)
            yield {"group": conversation.id, "answerable": bool(right)} | found


def asked_of_story(story: Story, group: str) -> Iterator[Json]:
    """Tell a story, and look for the answers to its questions."""
    with Memory.open(":memory:", background=False) as memory:
        memory.add_many([{"session": line["at"], **line} for line in story.lines])
        memory.admin.settle()
        for asked in story.questions:
            words = re.compile(
                "|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in asked.right) or r"(?!)", re.IGNORECASE
            )
            found = look(memory, asked.question, asked.now, lambda event, words=words: bool(words.search(event.text)))
            yield {"group": group, "answerable": bool(asked.right)} | found


def look(memory: Memory, question: str, now: datetime, is_right: Callable[[Event], bool]) -> Json:
    """Find what the reader says of the first hits, and which of them answer the question."""
    asked, model = analyse(question, now), memory.scope.engine.reader
    assert model is not None
    hits = memory.recall(question, k=60, now=now)
    before = _turns_before(memory.scope, hits[: product.READ_HITS])
    read = _read(model, question, hits, before)
    if not asked.past:
        stated = _stated(memory.scope, hits[: product.READ_HITS])
        read = product.without_what_is_over(read, stated, model.answer_least, now)
    signs = product.answer_signs(read, _choosing(model, question, before))
    return {"right": [is_right(one.hit.event) for one in read], "signs": signs}


def rows_of(path: Path) -> list[Answers]:
    """Read what was found."""
    return [
        Answers(
            row["group"],
            np.array([[*one, 1.0] for one in row["signs"]]).reshape(-1, 1 + len(SIGNS)),
            np.array(row["right"], bool),
            row["answerable"],
        )
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def fit(rows: Sequence[Answers]) -> Floats:
    """Maximise the chance of a right answer, or of none where there is none, by gradient ascent (Adam)."""
    told = [row for row in rows if len(row.right)]
    given, right = np.concatenate([row.signs for row in told]), np.concatenate([row.right for row in told])
    of = np.repeat(np.arange(len(told)), [len(row.right) for row in told])
    answered = np.array([row.right.any() for row in told])
    weights = np.eye(1 + len(SIGNS))[0]
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    ridge = np.r_[np.full(len(SIGNS), RIDGE), 0.0] / len(told)  # not of the base
    for step in range(1, STEPS + 1):
        odds = np.exp(np.clip(given @ weights, -30, 30))
        chance = odds / (np.bincount(of, odds, len(told)) + 1)[of]
        of_right = np.bincount(of, chance * right, len(told))
        wanted = np.where(answered[of], chance * right / np.maximum(of_right, 1e-12)[of], 0.0)
        slope = given.T @ (chance - wanted) / len(told) + ridge * weights
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights = weights - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def outcomes(rows: Sequence[Answers], weights: Floats) -> list[tuple[float, bool, bool]]:
    """Give for each question the chance of its best answer, whether that is right, and whether there is one."""
    found: list[tuple[float, bool, bool]] = []
    for row in rows:
        odds = np.exp(row.signs @ weights)
        best = int(odds.argmax()) if len(odds) else -1
        chance = odds[best] / (1 + odds.sum()) if len(odds) else 0.0
        found.append((float(chance), best >= 0 and bool(row.right[best]), row.answerable))
    return found


def as_table(found: Sequence[tuple[float, bool, bool]]) -> str:
    """Write what comes of several bars, and how true the chances are."""
    chances, right, answerable = (np.array(column) for column in zip(*found, strict=True))
    lines = ["| least chance | right | wrong | refused | unanswerable, refused |", "|---|---|---|---|---|"]
    for least in (0.45, 0.5, 0.55, 0.6):
        given = chances >= least
        shares = [given & right, given & ~right, ~given]
        cells = [f"{float(one[answerable].mean()):.3f}" for one in shares]
        lines.append(f"| {least} | {' | '.join(cells)} | {float((~given)[~answerable].mean()):.3f} |")
    tenths = np.minimum((chances * 10).astype(int), 9)
    error = sum(abs(float((chances - right)[tenths == tenth].sum())) for tenth in range(10)) / len(chances)
    return "\n".join([*lines, "", f"Expected calibration error {error:.3f}, {len(found)} questions."])


def main() -> None:
    """Ask, keep, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--work", type=Path, default=Path("training/build"))
    parser.add_argument("--conversations", type=int, default=60)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    kept = arguments.work / "answers.jsonl"
    if not kept.exists():
        chosen = [one for one in load() if (one.split, one.lang) == ("choose", "en")]
        told = [*chosen[:: len(chosen) // arguments.conversations], *learned_stories()]
        told = [one for one in told if one.split == "choose"]
        with kept.open("w", encoding="utf-8") as file:
            for number, conversation in enumerate(told):
                file.writelines(json.dumps(row) + "\n" for row in asked_of_conversation(conversation))
                print(f"{number + 1} of {len(told)} conversations and stories", flush=True)
            for number, story in enumerate(read_stories(CHANGES)):
                file.writelines(json.dumps(row) + "\n" for row in asked_of_story(story, f"{CHANGES.stem} {number}"))
    rows = rows_of(kept)
    twice = [row for row in rows if row.group.startswith(f"{CHANGES.stem} ")] * (CHANGE_WEIGHT - 1)
    groups = sorted({row.group for row in rows})
    held: list[tuple[float, bool, bool]] = []
    for fold in range(FOLDS):
        out = set(groups[fold::FOLDS])
        weights = fit([row for row in rows + twice if row.group not in out])
        held += outcomes([row for row in rows if row.group in out], weights)
    print(as_table(held))
    named = zip((*SIGNS, "base"), fit(rows + twice).tolist(), strict=True)
    print(", ".join(f"{name} {value:.2f}" for name, value in named))


if __name__ == "__main__":
    main()
