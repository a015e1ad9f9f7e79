"""WhatsApp's chat export: a text file (or the zip it comes in), in the locale of the phone.

Date order, clock, brackets and spaces differ by phone and language, and the file does not say which it uses: the order
of day and month is the one in which all dates exist and time runs forward.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath

from everyword.ingest.importers.records import Item, Position, day_of, digest, item, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, lines

NAME = "whatsapp"
GROWS = False
SUFFIXES = (".txt",)

_SPACE = "[ \u00a0\u202f]"
_MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"
_HEADER = re.compile(
    rf"[{_MARKS}]{{0,4}}\[?(\d{{1,4}})([./-])(\d{{1,2}})\2(\d{{1,4}}),?{_SPACE}(?:(?:klo|kl\.|um|at|às|alle){_SPACE})?"
    rf"(\d{{1,2}})[:.](\d{{2}})(?:[:.](\d{{2}}))?(?:{_SPACE}?([AaPp])\.?{_SPACE}?[Mm]\.?)?(?:\]|{_SPACE}[-–]){_SPACE}(.*)",
    re.DOTALL,
)
# System messages quote the changed text, which may hold a colon; a name quotes a nickname at most.
_SPEAKER = re.compile(
    rf"[{_MARKS}~\u00a0\u202f ]{{0,6}}((?:[^:\n\"“”„]|[\"“„][^\"“”„:\n]{{1,40}}[\"“”]){{1,120}}): (.*)", re.DOTALL
)
_PLACEHOLDER = re.compile(rf"[{_MARKS}]?(?:<[^<>\n]{{1,60}}>|[\w .-]{{1,80}}\.\w{{2,5}} \([^()\n]{{1,40}}\)|null)\s*")
_CENTURY = 2000  # WhatsApp started in 2009
_LATEST_HOUR = {"a": 0, "p": 12}


@dataclass(slots=True)
class _Message:
    """A message whose lines are being collected."""

    header: re.Match[str]
    first: Line
    more: list[str] = field(default_factory=list[str])


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    rows = [row for row in source.head(part).decode("utf-8", "replace").splitlines() if row.strip()]
    if not rows or not _HEADER.match(rows[0]):
        return 0.0
    return 0.9 if len(rows) == 1 or any(_HEADER.match(row) for row in rows[1:]) else 0.6


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages; lines without a date continue the previous one."""
    order = _date_order(source, part)
    chat = _chat_name(source, part)
    minute, start, number = "", None, 0
    repeated: Counter[str] = Counter()  # per minute: the same text twice is two messages
    skip = int((after or {}).get("skip", 0))
    with source.open(part) as file:
        for message in _messages(lines(file, after), part):
            if not isinstance(message, _Message):
                yield message
                continue
            at = _moment(message.header, order)
            if start is None or (at or "") != minute:
                minute, start, number = at or "", message.first.before, 0
                repeated.clear()
            number += 1
            content = digest(message.header[9], *message.more)
            repeated[content] += 1
            if skip:
                skip -= 1
                continue
            one = _item(message, at, chat, part, f"{content}:{repeated[content]}")
            yield replace(one, position={**start, "skip": number})


def _messages(rows: Iterator[Line], part: str) -> Iterator[_Message | Item]:
    current: _Message | None = None
    for line in rows:
        header = None if line.too_long else _HEADER.match(line.text)
        if header:
            if current:
                yield current
            current = _Message(header=header, first=line)
        elif current:
            current.more.append(line.text)
        elif line.text.strip():
            before = skipped("before the first message", f"{part}, line {line.number}", line.text)
            yield replace(before, position=line.position)
    if current:
        yield current


def _date_order(source: Source, part: str) -> str:
    """Find which of day, month and year comes first: "ymd", "dmy" or "mdy"."""
    dates: list[tuple[int, int, int]] = []
    separators: set[str] = set()
    twelve_hours = False
    with source.open(part) as file:
        for line in lines(file):
            header = _HEADER.match(line.text)
            if header:
                date = (int(header[1]), int(header[3]), int(header[4]))
                if not dates or dates[-1] != date:
                    dates.append(date)
                separators.add(header[2])
                # "3:05 PM" is American, with the month first; "pm" and "p. m." are not.
                twelve_hours = twelve_hours or (header[8] or "").isupper()
    if any(first > 31 for first, _, _ in dates):
        return "ymd"
    if separators == {"."} or any(first > 12 for first, _, _ in dates):
        return "dmy"
    if any(second > 12 for _, second, _ in dates):
        return "mdy"
    back = {"dmy": 0, "mdy": 0}
    for earlier, later in pairwise(dates):
        back["dmy"] += (later[2], later[1], later[0]) < (earlier[2], earlier[1], earlier[0])
        back["mdy"] += (later[2], later[0], later[1]) < (earlier[2], earlier[0], earlier[1])
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    return "mdy" if twelve_hours and separators == {"/"} else "dmy"


def _moment(header: re.Match[str], order: str) -> str | None:
    numbers = dict(zip(order, (int(header[1]), int(header[3]), int(header[4])), strict=True))
    year = numbers["y"] + (_CENTURY if numbers["y"] < 100 else 0)
    hour = int(header[5])
    if header[8]:
        hour = hour % 12 + _LATEST_HOUR[header[8].lower()]
    try:
        return datetime(year, numbers["m"], numbers["d"], hour, int(header[6]), int(header[7] or 0)).isoformat()
    except ValueError:
        return None


def _chat_name(source: Source, part: str) -> str:
    """The name of the chat: its file's, or the zip's if the file is `_chat.txt`."""
    stem = PurePosixPath(part).stem
    if stem == "_chat":
        stem = source.title if source.kind == "zip" else PurePosixPath(part).parent.name or source.title
    return re.sub(r"^WhatsApp[ -]{1,3}Chat(?:[ -]{1,3}|_)(?:with |mit |con |avec |com )?", "", stem) or stem


def _item(message: _Message, at: str | None, chat: str, part: str, name: str) -> Item:
    where = f"{part}, line {message.first.number}"
    match = _SPEAKER.fullmatch(message.header[9])
    if not match:
        return skipped("a notice of the program", where, message.header[9], expected=True)
    speaker, first = match[1].strip(), match[2]
    text = "\n".join([first, *message.more]).rstrip()
    if _PLACEHOLDER.fullmatch(text) or (first.startswith("\u200e") and "<" not in first and not message.more):
        return skipped("a picture, sound or notice without text", where, text, expected=True)
    text = text.lstrip(_MARKS)
    if at is None:
        return skipped("a date that does not exist", where, message.header[0])
    return item(
        text,
        key=f"{NAME}:{chat}:{at}:{name}",
        where=where,
        source={"format": NAME, "chat": chat, "line": message.first.number},
        at=at,
        session=f"{chat}/{day_of(at)}",
        speaker=speaker,
        role="user",
        meta={"chat": chat},
    )
