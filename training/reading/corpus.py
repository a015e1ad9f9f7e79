"""Load the labelled conversations: turns with character spans, split by conversation.

Three sources: `own/*.jsonl` beside this file, the conversations of a folder `talk` (talk.jsonl.xz, labels.jsonl.xz) and
lines of public sets (`external`), whose text is no part of this repository. Nothing here needs more than the
standard library.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

OWN = Path(__file__).parent / "own"
LASTING = Path(__file__).parent / "lasting.jsonl"
STORIES = Path(__file__).parent / "stories.jsonl"  # in which something changes; with questions alone
HELD_PERCENT, CHOOSE_PERCENT = 15, 15
UPDATE_AS_PAIR = {"confirms": "same"}  # every other update has the name of its pair
# WNUT 2017's types in our words; its groups are teams and bands.
WNUT_TYPES = {"person": "person", "location": "place", "corporation": "organisation", "group": "organisation",
              "product": "product", "creative-work": "work"}  # fmt: skip

Json = dict[str, Any]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Entity:
    start: int
    end: int
    type: str
    who: str


@dataclass(frozen=True, slots=True)
class Statement:
    start: int
    end: int
    kind: str
    about: str  # one of ABOUT
    about_name: str
    about_span: Span | None  # where the name stands, if about is `name`
    about_before: bool  # whether it stands in the turn before
    relation: str | None
    value: Span | None
    time: str | None
    mode: str
    state: str | None
    lasting: bool | None = None  # worth telling unasked weeks later; None if nobody decided


@dataclass(frozen=True, slots=True)
class Turn:
    key: str
    at: str | None  # 2026-03-02 or 2026-03-02 19:40
    speaker: str
    text: str
    entities: tuple[Entity, ...] = ()
    statements: tuple[Statement, ...] = ()
    with_statements: bool = True  # whether statements were labelled at all


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    turn: int | None  # index of the answering turn; None if nothing answers it
    answer: Span | None
    earlier: tuple[int, ...] = ()  # turns that answered it once and no longer do, where somebody said which


@dataclass(frozen=True, slots=True)
class Pair:
    a: tuple[int, Span, str]  # index of the turn, span of the quote, whom it is about
    b: tuple[int, Span, str]
    relation: str


@dataclass(frozen=True, slots=True)
class Conversation:
    id: str
    register: str
    lang: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...] = ()
    pairs: tuple[Pair, ...] = ()
    split: str = field(default="train")


def load(own: Path | None = OWN, talk: Path | None = None, pools: Path | None = None) -> list[Conversation]:
    """Load all conversations, with the split of each; `pools` is the folder of the lines that `external` labels."""
    found: list[Conversation] = []
    if own is not None:
        for path in sorted(own.glob("*.jsonl")):
            found += [read_conversation(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    if talk is not None:
        found += _talk(talk)
    if pools is not None:
        from training.reading import external

        found += external.load(pools)
    return list(_marked(found, LASTING))


def _marked(conversations: list[Conversation], path: Path) -> Iterator[Conversation]:
    """Add what is decided apart of statements: [turn from 1, start, end, lasting, trouble]; the last is not used."""
    marks = {row["id"]: row["marks"] for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    for one in conversations:
        of = {(turn, start, end): bool(lasting) for turn, start, end, lasting, _ in marks.get(one.id, ())}
        if not of:
            yield one
            continue
        turns = (
            replace(turn, statements=tuple(replace(s, lasting=of.get((n, s.start, s.end))) for s in turn.statements))
            for n, turn in enumerate(one.turns, 1)
        )
        yield replace(one, turns=tuple(turns))


def split_of(conversation: str) -> str:
    """Choose the split of a conversation by its id alone, so that it never moves: train, choose or held."""
    place = int.from_bytes(hashlib.sha256(conversation.encode()).digest()[:4]) % 100
    if place < HELD_PERCENT:
        return "held"
    return "choose" if place < HELD_PERCENT + CHOOSE_PERCENT else "train"


def read_conversation(row: Json) -> Conversation:
    """Turn a line of `own/*.jsonl` into spans."""
    turns = tuple(_turn(row, number) for number in range(len(row["turns"])))
    questions = [
        Question(q["question"], q["turn"] - 1, _first(row["turns"][q["turn"] - 1]["text"], q["answer"]))
        if q["turn"] is not None
        else Question(q["question"], None, None)
        for q in row.get("questions", ())
    ]
    pairs = {
        (pair.a[0], pair.a[1], pair.b[0], pair.b[1]): pair
        for pair in [*_updates(row), *(_pair(row, one) for one in row.get("pairs", ()))]
        if pair is not None
    }
    return Conversation(
        row["id"], row["register"], row["lang"], turns, tuple(questions), tuple(pairs.values()), split_of(row["id"])
    )


def read_stories(path: Path = STORIES) -> list[Conversation]:
    """Read the stories in which something changes; nothing is labelled in them but questions."""
    return [_story(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _story(row: Json) -> Conversation:
    turns = tuple(
        Turn(f"{row['id']}/{n}", at, speaker, text, with_statements=False)
        for n, (at, speaker, text) in enumerate(row["turns"], 1)
    )
    questions = tuple(_question(one, turns) for one in row["questions"])
    return Conversation(row["id"], "stories", "en", turns, questions, split=split_of(row["id"]))


def _question(row: Json, turns: Sequence[Turn]) -> Question:
    if row["turn"] is None:
        return Question(row["question"], None, None)
    turn = row["turn"] - 1
    start = turns[turn].text.index(row["answer"])
    span = (start, start + len(row["answer"]))
    return Question(row["question"], turn, span, tuple(n - 1 for n in row["earlier"]))


def wnut(path: Path) -> Iterator[Turn]:
    """Read sentences of WNUT 2017 as turns whose names alone are labelled."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        # Between sentences stands a line with nothing but a tab.
        blocks = re.split(r"\n\s*\n", file.read())
    for number, block in enumerate(blocks):
        rows = [line.split("\t") for line in block.splitlines() if "\t" in line]
        if not rows:
            continue
        text, entities, at = "", list[Entity](), 0
        for word, tag in ((row[0], row[1].strip()) for row in rows):
            at = len(text) + bool(text)
            text = f"{text} {word}" if text else word
            if tag.startswith("B-"):
                entities.append(Entity(at, len(text), WNUT_TYPES[tag[2:]], word))
            elif tag.startswith("I-") and entities:
                last = entities[-1]
                entities[-1] = Entity(last.start, len(text), last.type, text[last.start :])
        yield Turn(f"wnut/{number}", None, "", text, tuple(entities), (), with_statements=False)


def _talk(folder: Path) -> list[Conversation]:
    with lzma.open(folder / "labels.jsonl.xz", "rt", encoding="utf-8") as file:
        labels = {row["key"]: row for row in map(json.loads, file)}
    found: list[Conversation] = []
    with lzma.open(folder / "talk.jsonl.xz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            key = f"{row['source']}/{row['id']}"
            turns = [{**turn, **labels[f"{key}/{n}"]} for n, turn in enumerate(row["turns"])]
            for turn in turns:
                turn["speaker"] = turn["speaker"].strip()
                # Updates of these labels name the earlier turn by its key.
                turn["updates"] = [{**u, "earlier": int(u["earlier"].rsplit("/", 1)[1]) + 1} for u in turn["updates"]]
            if turns:
                found.append(read_conversation({"id": key, "register": row["source"], "lang": "en", "turns": turns}))
    return found


def _turn(row: Json, number: int) -> Turn:
    turn = row["turns"][number]
    before = row["turns"][number - 1] if number else None
    return Turn(
        f"{row['id']}/{number + 1}",
        turn.get("at"),
        turn["speaker"],
        turn["text"],
        tuple(mentions(turn["text"], turn["entities"])),
        tuple(one for one in (statement_of(one, turn, before, row) for one in turn["statements"]) if one),
    )


def mentions(text: str, entities: list[Json]) -> Iterator[Entity]:
    """Find every mention of the names of a turn: a label names each once. The longer of two that overlap counts."""
    taken: list[Span] = []
    for entity in sorted(entities, key=lambda one: -len(one["text"])):
        pattern = r"(?<!\w)" + re.escape(entity["text"]) + r"(?!\w)"
        spans = [one.span() for one in re.finditer(pattern, text)]
        at = text.find(entity["text"])
        for start, end in spans or ([(at, at + len(entity["text"]))] if at >= 0 else []):
            if all(end <= a or start >= b for a, b in taken):
                taken.append((start, end))
                yield Entity(start, end, entity["type"], entity["who"])


def statement_of(label: Json, turn: Json, before: Json | None, row: Json) -> Statement | None:
    """Find the spans of a labelled statement; none if its quote is not in the turn."""
    quote = _first(turn["text"], label["quote"])
    if quote is None:
        return None
    value = _inside(turn["text"], label["value"], quote) if label["value"] else None
    about, span, in_before = _about(label["about"].strip(), quote, turn, before, row)
    return Statement(
        *quote, label["kind"], about, label["about"].strip(), span, in_before, label["relation"], value, label["time"],
        label["mode"], label["state"],
    )  # fmt: skip


def _about(name: str, quote: Span, turn: Json, before: Json | None, row: Json) -> tuple[str, Span | None, bool]:
    speakers = {one["speaker"] for one in row["turns"]}
    if name == turn["speaker"] or (name == "user" and turn.get("role") == "user"):
        return "speaker", None, False
    others = speakers - {turn["speaker"]}
    if (before and name == before["speaker"]) or (others == {name}):
        return "listener", None, False
    for said, in_before in ((turn, False), (before, True)):
        if said is None:
            continue
        span = next((e for e in said["entities"] if e["who"] == name), None)
        found = _inside(said["text"], span["text"] if span else name, quote if not in_before else None)
        if found is not None:
            return "name", found, in_before
    return "other", None, False


def _inside(text: str, part: str, quote: Span | None) -> Span | None:
    """Find words, best within the quote; letters may be of either case."""
    if quote is not None:
        at = text.find(part, quote[0], quote[1])
        if at >= 0:
            return at, at + len(part)
    return _first(text, part) or _first(text.lower(), part.lower())


def _first(text: str, part: str) -> Span | None:
    at = text.find(part)
    return (at, at + len(part)) if at >= 0 else None


def _side(row: Json, turn: int, quote: str) -> tuple[int, Span, str] | None:
    """Find a statement by its turn (from 1) and its quote."""
    if not 0 < turn <= len(row["turns"]):
        return None
    label = next((one for one in row["turns"][turn - 1]["statements"] if one["quote"] == quote), None)
    span = _first(row["turns"][turn - 1]["text"], quote)
    return (turn - 1, span, label["about"]) if label and span else None


def _pair(row: Json, pair: Json) -> Pair | None:
    a, b = (_side(row, pair[side]["turn"], pair[side]["quote"]) for side in ("a", "b"))
    return Pair(a, b, pair["relation"]) if a and b else None


def _updates(row: Json) -> Iterator[Pair | None]:
    for number, turn in enumerate(row["turns"], 1):
        for update in turn["updates"]:
            a, b = _side(row, update["earlier"], update["earlier_quote"]), _side(row, number, update["quote"])
            does = update["does"]
            yield Pair(a, b, UPDATE_AS_PAIR.get(does, does)) if a and b else None
