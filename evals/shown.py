"""How much of what a memory shows unasked is right: open intents, what was done, summaries, members of concepts.

Conversations are told session by session, and what is shown is joined with labels that were made by reading. A label
names lines and character offsets and holds no text, so that labels of data that may not be shared can be. What has no
label is counted apart; `write_missing` writes it down with its text for somebody to label.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals.cache import open_embedder
from evals.errors import EvalError
from evals.graphs import event_of
from evals.tasks.locomo import locomo
from evals.tasks.reading import moment, read_jsonl
from evals.terminal import Progress, silent
from evals.values import Line
from everyword import Memory
from everyword.types.intents import Evidence, Intent

LABELS = Path(__file__).parent / "data" / "shown.jsonl"
FIRST, ALL, FIVE = "open intents, when first shown", "at the end of every session", "of these, the first five"
DONE, SUMMARY = "intents shown as done", "session summaries"
CONCEPT, MEMBER, BOTH = "labels of concepts", "members of concepts", "members of concepts, whose label is right too"
MEASURES = (FIRST, ALL, FIVE, DONE, SUMMARY, CONCEPT, MEMBER, BOTH)
MEMBERS = 6  # of a concept, drawn by chance
_LABELLED_AS = {
    **dict.fromkeys((FIRST, ALL, FIVE), "open"),
    DONE: "done",
    SUMMARY: "summary",
    CONCEPT: "concept",
    MEMBER: "member",
}
_MOST = 1_000  # intents of a list
_BESIDE = 2  # lines before and after one, for whoever labels it
_Z = 1.96  # of a 95% interval

# Name of the conversation, then names of sessions and lines, and after each line the offsets of the quote.
Key = tuple[str | int, ...]


class Shown(NamedTuple):
    """Something that a memory shows at the end of a session."""

    measure: str
    key: Key
    session: str  # the last one that was told
    text: str
    lines: Sequence[Line]  # what to read for labelling it


Judged = tuple[Shown, bool | None]


class Label(NamedTuple):
    """What somebody says of something shown; `until`: the first session at whose end an open intent is open no more."""

    what: str
    key: Key
    right: bool
    until: str | None = None


def read_conversations(path: Path) -> dict[str, Sequence[Line]]:
    """Read LoCoMo's file, or chats of several days, one day a line (JSONL, .xz); others are left out."""
    if path.suffix == ".json":
        return dict(locomo(path).stores)
    try:
        text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    except OSError as error:
        raise EvalError(f"{path} can't be read: {error}") from error
    found: dict[str, list[Line]] = {}
    for row in map(json.loads, text.decode().splitlines()):
        who, _, day = row["id"].partition("/")
        for number, turn in enumerate(row["turns"] if day else ()):
            line = Line(
                key=f"{day}/{number}",
                text=turn["text"],
                speaker=None if turn["role"] == "assistant" else turn["speaker"].strip(),
                session=day,
                role=turn["role"],
                at=moment(turn["at"]),
            )
            found.setdefault(who.strip(), []).append(line)
    return {who: sorted(lines, key=lambda one: str(one.session)) for who, lines in found.items()}


def measure(conversations: Mapping[str, Sequence[Line]], progress: Progress = silent) -> list[Shown]:
    """Tell every conversation to a memory of its own, and collect what is shown."""
    embedder = open_embedder()
    found: list[Shown] = []
    for done, (store, lines) in enumerate(conversations.items()):
        progress("conversations", done, len(conversations))
        with Memory.open(":memory:", embedder) as memory:
            found += _Told(store, lines, memory).shown()
    return found


class _Told:
    """A conversation while it is told to a memory."""

    def __init__(self, store: str, lines: Sequence[Line], memory: Memory) -> None:
        self.store, self.lines, self.memory = store, lines, memory
        self.sessions = sessions_of(lines)
        self.place = {line.key: place for place, line in enumerate(lines)}
        self.keys: dict[str, str] = {}  # id of an event -> key of its line

    def shown(self) -> Iterator[Shown]:
        seen: set[str] = set()
        for session in self.sessions:
            told = [line for line in self.lines if line.session == session]
            self.memory.add_many([event_of(line) for line in told])
            self.memory.admin.settle()
            self.keys |= {event.id: str(event.key) for event in self.memory.events()}
            yield from self._intents(session, max(line.at for line in told if line.at is not None), seen)
        last = self.sessions[-1]
        for session in self.memory.sessions():
            quotes = [part for one in session.summary for part in (self.keys[one.event_id], *one.span)]
            text = "\n".join(f"{one.part}: {one.speaker}: {one.text}" for one in session.summary)
            lines = [line for line in self.lines if line.session == session.name]
            if quotes:
                yield Shown(SUMMARY, (self.store, session.name, *quotes), last, text, lines)
        yield from self._members(last)

    def _intents(self, last: str, now: datetime, seen: set[str]) -> Iterator[Shown]:
        shown = self.memory.intents.list(limit=_MOST, now=now)
        first_five = {one.id for one in self.memory.intents.list(now=now)}
        for intent in shown:
            one = self._intent(ALL, last, intent, intent.grounds[-1])
            yield one
            if intent.id in first_five:
                yield one._replace(measure=FIVE)
            if intent.id not in seen:
                seen.add(intent.id)
                yield one._replace(measure=FIRST)
        for intent in self.memory.intents.list(status="resolved", limit=_MOST, now=now):
            if intent.settled_by is not None and (DONE + intent.id) not in seen:
                seen.add(DONE + intent.id)
                yield self._intent(DONE, last, intent, intent.grounds[-1], intent.settled_by)

    def _intent(self, measure: str, last: str, intent: Intent, *quotes: Evidence) -> Shown:
        key = tuple(part for one in quotes for part in (self.keys[one.event_id], *one.span))
        text = "\n".join([intent.statement, *(one.quote for one in quotes[1:])])
        return Shown(measure, (self.store, *key), last, text, [line for one in quotes for line in self._beside(one)])

    def _beside(self, one: Evidence) -> Sequence[Line]:
        place = self.place[self.keys[one.event_id]]
        return self.lines[max(0, place - _BESIDE) : place + _BESIDE + 1]

    def _members(self, last: str) -> Iterator[Shown]:
        for concept in self.memory.concepts.list():
            # The label is a phrase of its events; the first place where it stands names it.
            wanted = concept.label.lower()
            line = next((one for one in self.lines if wanted in one.text.lower()), self.lines[0])
            start = max(0, line.text.lower().find(wanted))
            named = (self.store, line.key, start, start + len(wanted))
            keys = {self.keys[ground.event_id] for ground in self.memory.concepts.get(concept.id).grounds}
            # An order by chance, which stays when the concept gains others.
            drawn = sorted(keys, key=lambda key: hashlib.sha256(key.encode()).digest())[:MEMBERS]
            members = [self.lines[self.place[key]] for key in drawn]
            yield Shown(CONCEPT, named, last, concept.label, members)
            for line in members:
                place = self.place[line.key]
                beside = self.lines[max(0, place - 1) : place + 1]
                yield Shown(MEMBER, (*named, line.key), last, f"{concept.label}: {line.text}", beside)


def sessions_of(lines: Iterable[Line]) -> list[str]:
    """Name the sessions in order of time."""
    return list(dict.fromkeys(str(line.session) for line in lines))


def judge(shown: Iterable[Shown], labels: Sequence[Label], conversations: Mapping[str, Sequence[Line]]) -> list[Judged]:
    """Tell of each thing whether it was right at the end of its session; None without a label."""

    def right(one: Shown) -> bool | None:
        label = next((label for label in labels if label.what == _LABELLED_AS[one.measure] and _same(one, label)), None)
        if label is None or label.until is None:
            return None if label is None else label.right
        told = sessions_of(conversations[str(one.key[0])])
        return label.right and told.index(one.session) < told.index(label.until)

    return [(one, right(one)) for one in shown]


def _same(one: Shown, label: Label) -> bool:
    """Compare keys; a quote of an intent may be cut otherwise than when it was labelled."""
    if label.what not in ("open", "done") or len(one.key) != len(label.key):
        return one.key == label.key
    mine, other = ([key[at : at + 3] for at in range(1, len(key), 3)] for key in (one.key, label.key))
    return one.key[0] == label.key[0] and all(
        a[0] == b[0] and int(a[1]) < int(b[2]) and int(b[1]) < int(a[2]) for a, b in zip(mine, other, strict=True)
    )


def read_labels(path: Path) -> list[Label]:
    """Read labels."""
    return [Label(row["what"], tuple(row["key"]), row["right"], row.get("until")) for row in read_jsonl(path)]


def take_labels(path: Path, into: Path) -> int:
    """Add what somebody labelled in a file of `write_missing`, without the text; count it."""
    given = [row for row in read_jsonl(path) if row["right"] is not None]
    rows = {
        (row["what"], *map(str, row["key"])): {name: row[name] for name in Label._fields if row.get(name) is not None}
        for row in (*(read_jsonl(into) if into.exists() else ()), *given)
    }
    written = (json.dumps(rows[key], ensure_ascii=False) + "\n" for key in sorted(rows))
    into.write_text("".join(written), encoding="utf-8")
    return len(given)


def write_missing(path: Path, judged: Iterable[Judged]) -> int:
    """Write what has no label, each thing once, with its text; `right` and `until` are to fill in."""
    rows: dict[tuple[str, Key], dict[str, Any]] = {}
    for one, right in judged:
        what = _LABELLED_AS[one.measure]
        if right is None and (what, one.key) not in rows:
            lines = [f"{line.key} {line.at:%Y-%m-%d} {line.speaker or line.role}: {line.text}" for line in one.lines]
            row = {"what": what, "key": one.key, "right": None, "until": None, "session": one.session}
            rows[what, one.key] = {**row, "text": one.text, "lines": lines}
    written = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    path.write_text("".join(written), encoding="utf-8")
    return len(rows)


def as_table(found: Mapping[str, Sequence[Judged]]) -> str:
    """Write the share that is right as a markdown table, a column for each source."""
    lines = [f"| right, of what is shown | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for name in MEASURES:
        cells = (_cell(_outcomes(name, judged)) for judged in found.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _outcomes(measure: str, judged: Sequence[Judged]) -> list[bool | None]:
    if measure != BOTH:
        return [right for one, right in judged if one.measure == measure]
    named = {one.key: right for one, right in judged if one.measure == CONCEPT}
    both = [(right, named[one.key[:-1]]) for one, right in judged if one.measure == MEMBER]
    return [None if None in pair else all(pair) for pair in both]


def _cell(outcomes: Sequence[bool | None]) -> str:
    of, right = sum(one is not None for one in outcomes), sum(one is True for one in outcomes)
    low, high = wilson(right, of)
    unlabelled = f"; {len(outcomes) - of:,} unlabelled" if of < len(outcomes) else ""
    return f"{right / of:.2f} [{low:.2f}, {high:.2f}] of {of:,}{unlabelled}" if of else f"none{unlabelled}"


def wilson(right: int, of: int) -> tuple[float, float]:
    """Give the 95% interval of a share by Wilson's score."""
    if not of:
        return 0.0, 1.0
    share, spread = right / of, _Z * _Z / of
    middle, half = share + spread / 2, _Z * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)
