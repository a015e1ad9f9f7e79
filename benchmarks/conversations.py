"""Three years of talk in any size: the labelled conversations of training/reading/own, again and again.

Each time other people take part, from a circle of forty, and others are spoken of. What the reader would find is taken
from the labels, and words are hashed instead of encoded: a memory of 100,000 events is filled in minutes, and its
layers hold what real ones hold.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

from benchmarks.measure import console
from everyword import Memory
from everyword.models.reader.decoding import PAIRS, FoundEntity, FoundStatement
from everyword.models.reader.reader import TextReader, TurnReading
from everyword.models.reader.rows import Side, Turn
from everyword.text.spans import prose
from everyword.types.events import Span

FOLDER = Path(__file__).parent.parent / "training" / "reading" / "own"
SPEAKERS = 40
WINGS = ("family", "work", "friends", "house", "club")
PROGRAMS = ("assistant", "tool")
DAYS = 3 * 365  # up to yesterday, so that there is something to do
FIRST_HOUR = 7
LAST_HOUR = 15  # hours after the start of a day within which conversations begin
READ_OF = 5  # one conversation of so many is read, which gives some 20,000 statements of 100,000 events
BATCH = 1_000
EMBEDDER = "hashing"
_SURE = 0.95  # score of what is labelled


class _Seen(NamedTuple):
    """A turn as a reader gets it."""

    text: str
    speaker: str
    at: str | None


@dataclass(slots=True)
class Told:
    """Events, and what the models are to say about them."""

    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    readings: dict[_Seen, TurnReading] = field(default_factory=dict["_Seen", TurnReading])
    # What a later statement does to an earlier one.
    changes: dict[tuple[_Seen, Span, _Seen, Span], str] = field(
        default_factory=dict[tuple["_Seen", Span, "_Seen", Span], str]
    )


def fill(path: Path, events: int) -> None:
    """Write a memory with all of its views."""
    told = tell(events)
    with Memory.open(path, EMBEDDER, durability="normal", background=False) as memory:
        # The engine would load the installed reader, which takes some 10 ms an event.
        vars(memory.scope.engine)["reader"] = cast("TextReader", LabelledReader(told))
        for first in range(0, events, BATCH):
            memory.add_many(told.events[first : first + BATCH])
            if first % (10 * BATCH) == 0:
                console.print(f"{first:,} of {events:,} events written", highlight=False)
        memory.admin.settle(progress=_Progress(events))


def tell(events: int, seed: int = 1) -> Told:
    """Tell this many events in the order of their dates; the same seed gives the same ones."""
    chance, told = random.Random(seed), Told()
    files = [file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.jsonl"))]
    known = [json.loads(line) for text in files for line in text.split("\n") if line]
    names = sorted({one["speaker"] for talk in known for one in talk["turns"] if one["speaker"].isalpha()} - {"user"})
    names = [name for name in names if name not in PROGRAMS]
    people = chance.sample(names, SPEAKERS)
    order: list[dict[str, Any]] = []
    while sum(len(talk["turns"]) for talk in order) < events:
        order += chance.sample(known, len(known))
    mean = sum(len(talk["turns"]) for talk in known) / len(known)
    days = sorted(chance.randrange(DAYS) for _ in range(int(events / mean) + 1))
    a_day: dict[str, int] = {}
    today = datetime.now(UTC).replace(hour=FIRST_HOUR, minute=0, second=0, microsecond=0)
    first = today - timedelta(days=DAYS)
    for number, talk in enumerate(order):
        day = days[min(number, len(days) - 1)]
        begin = first + timedelta(days=day, minutes=chance.randrange(LAST_HOUR * 60))
        wing, read = number % len(WINGS), number // len(WINGS) % READ_OF == 0
        circle = people[wing :: len(WINGS)]
        session = f"{talk['register']} {begin:%Y-%m-%d}"
        a_day[session] = a_day.get(session, 0) + 1
        session += f" ({a_day[session]})" if a_day[session] > 1 else ""
        _retell(told, talk, chance, _Scene(session, WINGS[wing], begin, circle, names, read))
        if len(told.events) >= events:
            break
    del told.events[events:]
    told.events.sort(key=lambda one: one["at"])
    return told


@dataclass(frozen=True, slots=True)
class _Scene:
    session: str
    wing: str
    begin: datetime
    circle: Sequence[str]  # who may take part
    names: Sequence[str]  # who may be spoken of
    read: bool


def _retell(told: Told, talk: dict[str, Any], chance: random.Random, scene: _Scene) -> None:
    turns = talk["turns"]
    renamed = _renamer(_new_names(turns, chance, scene))
    at, texts, seen = scene.begin, [renamed(turn["text"]) for turn in turns], list[_Seen]()
    for place, turn in enumerate(turns):
        speaker = renamed(turn["speaker"])
        role = turn["speaker"] if turn["speaker"] in PROGRAMS else "user"
        at += timedelta(seconds=chance.randint(5, 180))
        text = texts[place]
        told.events.append(
            {"text": text, "speaker": speaker, "role": role, "session": scene.session, "wing": scene.wing, "at": at}
        )
        seen.append(_Seen(prose(text), speaker, at.date().isoformat()))
        if not scene.read:
            continue
        near = f"{texts[place - 1] if place else ''}\n{text}"
        told.readings[seen[place]] = TurnReading(
            tuple(
                FoundEntity(*span, one["type"], _SURE)
                for one in turn["entities"]
                if (span := _in(text, renamed(one["text"])))
            ),
            tuple(
                _statement(one, span, text, near, speaker, renamed)
                for one in turn["statements"]
                if (span := _in(text, renamed(one["quote"])))
            ),
        )
        for change in turn["updates"]:
            earlier = texts[change["earlier"] - 1]
            later_at, earlier_at = _in(text, renamed(change["quote"])), _in(earlier, renamed(change["earlier_quote"]))
            if later_at and earlier_at:
                told.changes[seen[change["earlier"] - 1], earlier_at, seen[place], later_at] = change["does"]


def _new_names(turns: Sequence[dict[str, Any]], chance: random.Random, scene: _Scene) -> dict[str, str]:
    speakers = dict.fromkeys(turn["speaker"] for turn in turns if turn["speaker"] not in PROGRAMS)
    circle = chance.sample(scene.circle, len(scene.circle))
    new = {name: circle[number % len(circle)] for number, name in enumerate(speakers)}
    for turn in turns:
        for one in turn["entities"]:
            if one["type"] == "person" and one["text"].isalpha() and one["text"] not in new:
                new[one["text"]] = chance.choice(scene.names)
    return new


def _renamer(new: Mapping[str, str]) -> Callable[[str], str]:
    # "user" is a name of nobody: in a text it is a word.
    known = sorted((re.escape(name) for name in new if name != "user"), key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(known)})\b") if known else None

    def renamed(text: str) -> str:
        if text in new:
            return new[text]
        return pattern.sub(lambda found: new[found.group()], text) if pattern else text

    return renamed


def _in(text: str, part: str) -> Span | None:
    start = text.find(part)
    return Span(start, start + len(part)) if start >= 0 and part else None


def _statement(
    label: dict[str, Any], span: Span, text: str, near: str, speaker: str, renamed: Callable[[str], str]
) -> FoundStatement:
    about = renamed(label["about"] or "")
    value = _in(text[span.start : span.end], renamed(label["value"] or ""))
    whose = "speaker" if about == speaker else "name" if about and about in near else "other"
    return FoundStatement(
        *span,
        score=_SURE,
        kind=label["kind"],
        kind_score=_SURE,
        mode=label["mode"],
        state=label["state"],
        about=whose,
        about_text=about if whose == "name" else None,
        relation=label["relation"],
        relation_scores={label["relation"]: 1.0} if label["relation"] else {},
        value=Span(value.start + span.start, value.end + span.start) if value else None,
        lasting=_SURE,
    )


class LabelledReader:
    """Find what is labelled, in the place of the network."""

    name = "reader/labels"

    def __init__(self, told: Told) -> None:
        self._told = told

    def read(self, turn: Turn, before: Turn | None = None) -> TurnReading:
        """Look the turn up."""
        return self._told.readings.get(_Seen(turn.text, turn.speaker, turn.at), TurnReading())

    def compare(self, earlier: Side, later: Side) -> dict[str, float]:
        """Be sure of what is labelled, and that all else is unrelated."""
        seen = [_Seen(one.turn.text, one.turn.speaker, one.turn.at) for one in (earlier, later)]
        found = self._told.changes.get((seen[0], earlier.quote, seen[1], later.quote), "unrelated")
        return {one: float(one == found) for one in PAIRS}


@dataclass(slots=True)
class _Progress:
    events: int
    shown: int = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        if done - self.shown >= 10 * BATCH:
            self.shown = done
            console.print(f"{what}: {done:,} of {self.events:,}", highlight=False)
