"""Plain transcripts: `Speaker: what they said`, with or without a time; other lines continue the turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from everyword.ingest.importers.records import Item, Position, Read, as_moment, as_name, day_of, digest, item, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, lines

NAME = "transcript"
GROWS = False  # new lines may continue the last turn
SUFFIXES = (".txt", ".md", ".log", ".transcript")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
_TURN = re.compile(
    rf"\s{{0,8}}(?:[\[(]?(?P<before>\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK}Z?)?|{_CLOCK})[\])]?[ \t-]{{1,3}})?"
    r"(?:\*\*|__)?(?P<speaker>[^\W\d_][\w.'’ -]{0,39}?)(?:[ \t]?[\[(](?P<behind>[\d:T -]{4,20}Z?)[\])])?"
    r"(?:\*\*|__)?:(?:\*\*|__)?[ \t]+(?P<text>\S.*)",
    re.DOTALL,
)
_MAX_NAME_WORDS = 4  # of a speaker's name; more words are a sentence with a colon
_MIN_TURNS = 2  # of a speaker, unless the file is short
_SHORT = 8  # turns: in such a short file, one turn is enough


def recognise(source: Source, part: str) -> float:
    """Return the confidence: most lines are turns, of the same few people."""
    rows = [row for row in source.head(part).decode("utf-8", "replace").splitlines() if row.strip()]
    turns = [turn for row in rows if (turn := _turn(row))]
    speakers = {turn["speaker"] for turn in turns}
    if len(turns) < _MIN_TURNS or len(speakers) > max(2, len(turns) // 2):
        return 0.0
    return 0.7 * len(turns) / len(rows)


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
        # From the content, not the line number, so that inserting lines before it does not change it.
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

    # The whole file is read even when resuming: the key counts how often the same turn came before.
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
    return turn if turn and len(turn["speaker"].split()) <= _MAX_NAME_WORDS else None


def _speakers(source: Source, part: str) -> set[str]:
    """Find the speakers: names that recur. `Note:` and `Warning:` occur once."""
    counts: Counter[str] = Counter()
    with source.open(part) as file:
        for line in lines(file):
            turn = None if line.too_long else _turn(line.text)
            if turn:
                counts[turn["speaker"].strip()] += 1
    if counts.total() <= _SHORT:
        return set(counts)
    return {name for name, times in counts.items() if times >= _MIN_TURNS}
