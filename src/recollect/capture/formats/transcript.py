"""Plain transcripts: `Speaker: what they said`, with a time or without; further lines go on with the same speaker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from recollect.capture.formats.items import Item, Position, Read, as_moment, as_name, day_of, digest, item, skipped
from recollect.capture.formats.sources import Source
from recollect.capture.formats.streaming import Line, lines

NAME = "transcript"
GROWS = False  # what is added may go on with the last turn

_SUFFIXES = (".txt", ".md", ".log", ".transcript")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
_TURN = re.compile(
    rf"\s{{0,8}}(?:[\[(]?(?P<before>\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK}Z?)?|{_CLOCK})[\])]?[ \t-]{{1,3}})?"
    r"(?:\*\*|__)?(?P<speaker>[^\W\d_][\w.'’ -]{0,39}?)(?:[ \t]?[\[(](?P<behind>[\d:T -]{4,20}Z?)[\])])?"
    r"(?:\*\*|__)?:(?:\*\*|__)?[ \t]+(?P<text>\S.*)",
    re.DOTALL,
)
_MOST_WORDS = 4  # of a speaker's name; a longer beginning is a sentence with a colon
_ENOUGH_TURNS = 2  # times that a name must speak to be one, in a file that has room for that
_SHORT = 8  # turns: in so short a file, everyone may speak once


def recognise(source: Source) -> float:
    """Tell how surely this is a transcript: most lines are turns, and the same few people take them."""
    best = 0.0
    for name in parts(source)[:3]:
        rows = [row for row in source.head(name).decode("utf-8", "replace").splitlines() if row.strip()]
        turns = [turn for row in rows if (turn := _turn(row))]
        speakers = Counter(turn["speaker"] for turn in turns)
        if len(turns) < _ENOUGH_TURNS or len(speakers) > max(2, len(turns) // 2):
            continue
        best = max(best, 0.7 * len(turns) / len(rows))
    return best * source.share(parts(source))


def parts(source: Source) -> tuple[str, ...]:
    """List the transcripts."""
    return source.ending(*_SUFFIXES)


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read turn by turn."""
    speakers = _speakers(source, part)
    path = PurePosixPath(part).with_suffix("").as_posix()
    modified = source.modified(part)
    done = int((after or {}).get("byte", 0))
    seen: Counter[str] = Counter()
    number = 0
    current: tuple[re.Match[str], Line, list[str]] | None = None

    def finished() -> Item:
        assert current is not None
        turn, line, more = current
        text = "\n".join([turn["text"], *more]).rstrip()
        stamp = turn["before"] or turn["behind"] or ""
        moment = as_moment(stamp)
        # By what was said and not by its place, so that what is put before it does not make it another.
        name = digest(turn["speaker"], stamp, text)
        seen[name] += 1
        one = item(
            text,
            key=f"{NAME}:{path}:{name}" + (f":{seen[name]}" if seen[name] > 1 else ""),
            where=f"{part}, line {line.number}",
            source={"format": NAME, "file": path, "line": line.number},
            at=moment,
            otherwise_at=modified,
            session=f"{path}/{day_of(moment)}" if moment else path,
            speaker=turn["speaker"].strip(),
            role="user",
            meta={"clock": stamp if stamp and not moment else None},
        )
        former = f"{NAME}:{PurePosixPath(part).stem}:{number}:{digest(turn['speaker'], text)}"
        return replace(one, former_key=as_name(former)) if isinstance(one, Read) else one

    # All of it is read also where reading goes on in the middle: what came before counts how often a thing was said.
    with source.open(part) as file:
        end: Position = {}
        for line in lines(file):
            turn = None if line.too_long else _turn(line.text)
            if turn and turn["speaker"].strip() in speakers:
                if current:
                    one = replace(finished(), position={**line.before, "turn": number})
                    if current[1].start >= done:
                        yield one
                number += 1
                current = (turn, line, [])
            elif current:
                current[2].append(line.text)
            elif line.text.strip() and line.start >= done:
                before = skipped("before the first speaker", f"{part}, line {line.number}", line.text)
                yield replace(before, position={**line.position, "turn": number})
            end = line.position
        if current and current[1].start >= done:
            yield replace(finished(), position={**end, "turn": number})


def _turn(row: str) -> re.Match[str] | None:
    turn = _TURN.match(row)
    return turn if turn and len(turn["speaker"].split()) <= _MOST_WORDS else None


def _speakers(source: Source, part: str) -> set[str]:
    """Find who speaks: names that come again. `Note:` and `Warning:` come once."""
    counts: Counter[str] = Counter()
    with source.open(part) as file:
        for line in lines(file):
            turn = None if line.too_long else _turn(line.text)
            if turn:
                counts[turn["speaker"].strip()] += 1
    if counts.total() <= _SHORT:
        return set(counts)
    return {name for name, times in counts.items() if times >= _ENOUGH_TURNS}
