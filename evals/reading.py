"""How well the reader reads: what it finds in labelled conversations, beside what people found.

The files have one conversation a line, as training/reading/README.md describes. A statement counts as found if it
shares half of the shorter one's characters with a labelled one, one to one.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from training.reading.corpus import Conversation, Statement, read_conversation
from training.reading.metrics import match

from evals.errors import EvalError
from evals.tasks.reading import read_jsonl
from everyword.knowledge.comparing import CLOSING, Verdict, verdict_of
from everyword.knowledge.reading import EventReading, ReadStatement, read_event, turn_of
from everyword.models.reader.decoding import GOALS, PAIRS
from everyword.models.reader.reader import TextReader
from everyword.models.reader.rows import Side
from everyword.text.dates import find_dates, write_date
from everyword.types.events import Event, Span
from everyword.types.statements import SaidDate

_RESAMPLES = 400  # of conversations, for the intervals
_YEAR = re.compile(r"\d{4}")
_SAME_DATE = 0.5  # of the days that two dates cover together must be in both

# name of a measure -> right, found, told
Counts = dict[str, tuple[int, int, int]]
# name of a decision -> how sure the reader was, and whether it was right
Sure = dict[str, list[tuple[float, bool]]]
Read = Callable[[Event, Event | None], EventReading]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision, recall and F1 with 95% intervals."""

    precision: tuple[float, float, float]
    recall: tuple[float, float, float]
    f1: tuple[float, float, float]
    told: int


def load(paths: Sequence[Path], *, split: str | None) -> list[Conversation]:
    """Read labelled conversations; split: only those kept for training, choosing or the report."""
    found = [read_conversation(one) for path in paths for one in read_jsonl(path)]
    chosen = [one for one in found if split in (None, one.split) and one.lang == "en"]
    if not chosen:
        raise EvalError("No conversation in English was found in these files.")
    return chosen


def measure(conversations: Sequence[Conversation], reader: TextReader) -> tuple[dict[str, Score], Sure]:
    """Read all turns and score them; give also how sure the reader was of what it found."""
    sure: Sure = defaultdict(list)

    def read(event: Event, before: Event | None) -> EventReading:
        return read_event(reader, event, before)

    return scores([_counts(one, read, reader, sure) for one in conversations]), sure


def calibration_error(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Compute the expected calibration error: how far confidence and share of right ones differ, by tenths."""
    chances, right = np.array(outcomes, float).T
    tenths = np.minimum((chances * 10).astype(int), 9)
    return float(sum(abs((chances - right)[tenths == tenth].sum()) for tenth in range(10)) / len(outcomes))


def scores(counts: Sequence[Counts]) -> dict[str, Score]:
    """Sum up the counts of conversations, with intervals from resampling whole conversations."""
    chance = np.random.default_rng(0)
    draws = chance.integers(0, len(counts), (_RESAMPLES, len(counts)))
    found: dict[str, Score] = {}
    for name in sorted({name for one in counts for name in one}):
        table = np.array([one.get(name, (0, 0, 0)) for one in counts], float)
        whole = _rates(table.sum(0))
        spread = np.array([_rates(table[draw].sum(0)) for draw in draws])
        low, high = np.percentile(spread, [2.5, 97.5], axis=0)
        parts = [(whole[n], float(low[n]), float(high[n])) for n in range(3)]
        found[name] = Score(*parts, told=int(table[:, 2].sum()))
    return found


def _rates(counts: Any) -> tuple[float, float, float]:
    right, found, told = (float(one) for one in counts)
    precision, recall = right / max(1.0, found), right / max(1.0, told)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def _counts(conversation: Conversation, read: Read, reader: TextReader, sure: Sure) -> Counts:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(name: str, right: int, found: int, told: int) -> None:
        for place, number in enumerate((right, found, told)):
            counts[name][place] += number

    events = [event_of(conversation, number) for number in range(len(conversation.turns))]
    for number, (event, turn) in enumerate(zip(events, conversation.turns, strict=True)):
        reading = read(event, events[number - 1] if number else None)
        names = [tuple(one.span) for one in reading.names], [(one.start, one.end) for one in turn.entities]
        pairs = match(*names)
        add("names", len(pairs), len(names[0]), len(names[1]))
        typed = sum(reading.names[i].type == turn.entities[j].type for i, j in pairs.items())
        add("names of the right type", typed, len(pairs), len(pairs))
        _count_statements(add, reading.statements, turn.statements, sure)
        _count_years(add, event, turn.statements)
    _count_pairs(add, conversation, events, reader, sure)
    return {name: (one[0], one[1], one[2]) for name, one in counts.items()}


def _count_statements(
    add: Callable[[str, int, int, int], None], found: Sequence[ReadStatement], told: Sequence[Statement], sure: Sure
) -> None:
    pairs = match([tuple(one.span) for one in found], [(one.start, one.end) for one in told])
    for place, one in enumerate(found):
        kind = told[pairs[place]].kind if place in pairs else None
        sure["statements and their kinds"].append((one.confidence, one.kind == kind))
    add("statements", len(pairs), len(found), len(told))
    add("kind, of those found", sum(found[i].kind == told[j].kind for i, j in pairs.items()), len(pairs), len(pairs))
    for kind in {one.kind for one in (*found, *told)}:
        right = sum(found[i].kind == told[j].kind == kind for i, j in pairs.items())
        add(f"kind {kind}", right, sum(one.kind == kind for one in found), sum(one.kind == kind for one in told))
    goals = sum(_is_open(found[i]) and _is_open(told[j]) for i, j in pairs.items())
    add("open goals", goals, sum(map(_is_open, found)), sum(map(_is_open, told)))
    dated = [(found[i].date, interval) for i, j in pairs.items() if (interval := _interval(told[j].time))]
    right = sum(said is not None and same_date(said, interval) for said, interval in dated)
    add("dates, of those found", right, sum(said is not None for said, _ in dated), len(dated))


def _count_years(add: Callable[[str, int, int, int], None], event: Event, told: Sequence[Statement]) -> None:
    """Count the dates without a year that contexts write out, and those among them of the labelled year."""
    written = [
        one for one in find_dates(event.text, event.at) if write_date(one, event.at) and not _YEAR.search(one.text)
    ]
    for statement in told:
        first = interval[0] if (interval := _interval(statement.time)) else None
        for one in written:
            inside = statement.start <= one.span.start and one.span.end <= statement.end
            if first is not None and inside and (one.start.month, one.start.day) == (first.month, first.day):
                add("years of dates without one", one.start.year == first.year, 1, 1)


def _is_open(one: ReadStatement | Statement) -> bool:
    return one.kind in GOALS and one.state == "open"


def _count_pairs(
    add: Callable[[str, int, int, int], None],
    conversation: Conversation,
    events: Sequence[Event],
    reader: TextReader,
    sure: Sure,
) -> None:
    for pair in conversation.pairs:
        sides = [
            Side(turn_of(events[turn]), Span(*quote), about, turn_of(events[turn - 1]) if turn else None)
            for turn, quote, about in (pair.a, pair.b)
        ]
        chances = reader.compare(*sides)
        best = max(chances, key=lambda one: chances[one])
        sure["pairs"].append((chances[best], best == pair.relation))
        for name in PAIRS:
            add(f"pair {name}", best == pair.relation == name, best == name, pair.relation == name)
        # What the product does with it: it closes the earlier statement, if it is sure enough that this one ends it.
        acted, over = verdict_of(chances), pair.relation in CLOSING
        add("pairs: closed, as acted on", over and acted in CLOSING, acted in CLOSING, over)
        replaced = pair.relation == Verdict.REPLACES
        add("pairs: replaced, as acted on", replaced and acted is Verdict.REPLACES, acted is Verdict.REPLACES, replaced)


def event_of(conversation: Conversation, number: int) -> Event:
    """Make an event of a labelled turn."""
    turn = conversation.turns[number]
    at = datetime.fromisoformat((turn.at or "2026-01-01").replace(" ", "T")).replace(tzinfo=UTC)
    return Event(text=turn.text, speaker=turn.speaker, session=conversation.id, at=at, recorded_at=at)


def same_date(said: SaidDate, told: tuple[datetime, datetime]) -> bool:
    """Tell whether two windows of time cover mostly the same days; one that begins or ends the same day is the same."""
    start, end = (one.astimezone(UTC) for one in (said.start, said.end))
    both = (min(end, told[1]) - max(start, told[0])).total_seconds()
    either = (max(end, told[1]) - min(start, told[0])).total_seconds()
    return both > 0 and (both / either >= _SAME_DATE or start.date() == told[0].date() or end == told[1])


def _interval(time: str | None) -> tuple[datetime, datetime] | None:
    """Read a labelled time: a year, month or day, or two of them with a slash."""
    if not time:
        return None
    try:
        first, *_, last = [_day_window(one) for one in (time.split("/") * 2)[:2]]
    except ValueError:
        return None
    return first[0], last[1]


def _day_window(text: str) -> tuple[datetime, datetime]:
    parts = [int(one) for one in text[:10].split("-")]
    year, month, day = [*parts, 1, 1][:3]
    start = datetime(year, month, day, tzinfo=UTC)
    if len(parts) == 3:
        return start, start + timedelta(days=1)
    if len(parts) == 2:
        return start, datetime(start.year + start.month // 12, start.month % 12 + 1, 1, tzinfo=UTC)
    return start, datetime(start.year + 1, 1, 1, tzinfo=UTC)


def as_json(found: Mapping[str, Score]) -> str:
    """Write scores as JSON."""
    rows = {
        name: {"precision": one.precision, "recall": one.recall, "f1": one.f1, "told": one.told}
        for name, one in found.items()
    }
    return json.dumps(rows, indent=1)


def as_table(found: Mapping[str, Score], sure: Sure) -> str:
    """Write scores as a markdown table, and below it how well the reader knows how sure it can be."""
    lines = ["| | precision | recall | F1 | labelled |", "|---|---|---|---|---|"]
    for name, one in found.items():
        rates = (one.precision, one.recall, one.f1)
        cells = " | ".join(f"{mid:.2f} [{low:.2f}, {high:.2f}]" for mid, low, high in rates)
        lines.append(f"| {name} | {cells} | {one.told:,} |")
    errors = (f"{name} {calibration_error(some):.3f} of {len(some):,}" for name, some in sure.items() if some)
    return "\n".join([*lines, "", f"Expected calibration error: {', '.join(errors)}."])
