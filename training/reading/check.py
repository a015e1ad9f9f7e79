"""Check the labelled conversations, and count them: python -m training.reading.check"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "own"
STORIES = Path(__file__).parent / "stories.jsonl"
KINDS = set("attribute fact preference relationship habit event plan task decision insight instruction".split())
WITH_STATE = {"plan", "task"}
MODES = {"asserted", "negated", "hypothetical", "asked", "reported"}
STATES = {"open", "done", "dropped"}
TYPES = {"person", "pet", "organisation", "place", "product", "work", "event", "project", "other"}
UPDATES = {"replaces", "ends", "fulfils", "refines", "confirms"}
RELATIONS = {"same", "refines", "replaces", "ends", "fulfils", "unrelated"}
REASONS = {"wrong_person", "wrong_time", "never_told"}
DAY = r"\d{4}(-\d\d(-\d\d)?)?"
TIME = re.compile(f"{DAY}(/{DAY})?")

Json = dict[str, Any]


def problems(conversation: Json) -> Iterator[str]:
    """List what is wrong with one conversation."""
    turns: list[Json] = conversation["turns"]
    quotes = [{statement["quote"] for statement in turn["statements"]} for turn in turns]
    for number, turn in enumerate(turns, 1):
        for problem in _of_turn(turn, quotes[:number]):
            yield f"turn {number}: {problem}"
    for question in conversation["questions"]:
        if question["turn"] is None:
            if question["reason"] not in REASONS:
                yield f"unknown reason {question['reason']!r}"
        elif question["answer"] not in turns[question["turn"] - 1]["text"]:
            yield f"the answer {question['answer']!r} is not in turn {question['turn']}"
    for pair in conversation["pairs"]:
        if pair["relation"] not in RELATIONS:
            yield f"unknown relation {pair['relation']!r}"
        for side in (pair["a"], pair["b"]):
            if side["quote"] not in quotes[side["turn"] - 1]:
                yield f"{side['quote']!r} is no statement of turn {side['turn']}"


def _of_turn(turn: Json, quotes: list[set[str]]) -> Iterator[str]:
    text = turn["text"]
    for entity in turn["entities"]:
        if entity["text"] not in text or entity["type"] not in TYPES:
            yield f"entity {entity}"
    for one in turn["statements"]:
        verbatim = one["quote"] in text and (one["value"] or "") in text
        known = one["kind"] in KINDS and one["mode"] in MODES and one["about"]
        state = one["state"] in STATES if one["kind"] in WITH_STATE else one["state"] is None
        if not (verbatim and known and state and TIME.fullmatch(one["time"] or "2026")):
            yield f"statement {one}"
    for update in turn["updates"]:
        earlier = quotes[update["earlier"] - 1] if update["earlier"] <= len(quotes) else set[str]()
        if update["does"] not in UPDATES or update["quote"] not in quotes[-1] or update["earlier_quote"] not in earlier:
            yield f"update {update}"


def story_problems(story: Json) -> Iterator[str]:
    """List what is wrong with one story."""
    texts = [text for _, _, text in story["turns"]]
    times = [at for at, _, _ in story["turns"]]
    if times != sorted(times):
        yield "its turns are not in order"
    for asked in story["questions"]:
        turn, earlier = asked["turn"], asked["earlier"]
        if turn is None:
            if asked["answer"] is not None or earlier or asked["asks"] != "never":
                yield f"an answer to {asked['question']!r}, which nothing tells"
        elif asked["answer"] not in texts[turn - 1]:
            yield f"the answer {asked['answer']!r} is not in turn {turn}"
        elif turn in earlier or not all(0 < one <= len(texts) for one in earlier):
            yield f"earlier turns of {asked['question']!r}: {earlier}"


def main() -> None:
    """Check all files; end with 1 if anything is wrong."""
    counts: Counter[str] = Counter()
    wrong = 0
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            conversation: Json = json.loads(line)
            for problem in problems(conversation):
                wrong += 1
                print(f"{path.name}, {conversation['id']}: {problem}")  # noqa: T201
            turns = conversation["turns"]
            counts.update(conversations=1, turns=len(turns), questions=len(conversation["questions"]))
            counts.update(pairs=len(conversation["pairs"]), empty_turns=sum(not turn["statements"] for turn in turns))
            for part in ("entities", "statements", "updates"):
                counts[part] += sum(len(turn[part]) for turn in turns)
    for line in STORIES.read_text(encoding="utf-8").splitlines():
        story: Json = json.loads(line)
        for problem in story_problems(story):
            wrong += 1
            print(f"{STORIES.name}, {story['id']}: {problem}")  # noqa: T201
        counts.update(stories=1, story_turns=len(story["turns"]), story_questions=len(story["questions"]))
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))  # noqa: T201
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
