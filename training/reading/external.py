"""Labels of lines whose text is not ours: python -m training.reading.external LABELS --data FOLDER

    #35                                     a line of the pool that the file is named after (friends-11444.txt)
    E Joey | person | Joey                  fields as in training.reading.convert
    S I'm a waitress | attribute | Rachel | job | waitress |  | asserted |
    U quote | does | earlier line | earlier quote
    @read 20-159                            lines that were read; those without labels have none

Writes `external/SOURCE.jsonl`: keys and character offsets, no text. A row is one pool's range or one line:

    {"pool": 11444, "read": [20, 159]}
    {"pool": 11444, "line": 66, "entities": [[start, end, type, who]], "statements": [[start, end, kind, about,
     relation, value, time, mode, state]], "updates": [[statement, does, earlier line, earlier statement]]}

`who` is "text" or "speaker", or null where the full name stands nowhere in the line. `about` is "speaker", "listener",
"other", or [start, end] of the name in the line; a fourth place of it, `true`, says that it stands in the line before.
`load` joins them with pools.jsonl.xz of FOLDER. Run with --check to compare the offsets with the text.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everyword.models.reader.decoding import KINDS, MODES, STATES, TYPES
from training.reading.convert import STATEMENT
from training.reading.corpus import (
    UPDATE_AS_PAIR,
    Conversation,
    Entity,
    Pair,
    Span,
    Statement,
    Turn,
    mentions,
    statement_of,
)

FOLDER = Path(__file__).parent / "external"
POOLS = "pools.jsonl.xz"
NOTE = "#NOTE#"  # the speaker of stage directions
CONFIRMS = 4  # one in so many is kept: RealMem repeats itself line after line
WHOLE_DAY = re.compile(r"\d{4}-\d\d-\d\d")
FIELDS = re.compile(r" \|(?: |$)")

Json = dict[str, Any]
Lines = list[Json]


def load(data: Path, folder: Path = FOLDER) -> list[Conversation]:
    """Join the labels with the text. All are for training: one show and ten notebooks are no fair test."""
    rows = read_labels(folder)
    pools = read_pools(data, {row["pool"] for row in rows})
    sources = {row["pool"]: row["source"] for row in rows if "read" in row}
    found: list[Conversation] = []
    for row in (row for row in rows if "read" in row):
        pool: int = row["pool"]
        labels = {one["line"]: one for one in rows if one["pool"] == pool and "line" in one}
        found.append(_conversation(f"{sources[pool]}/{pool}", sources[pool], pools[pool], row["read"], labels))
    return found


def read_labels(folder: Path) -> list[Json]:
    """Read the rows of all sources."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def read_pools(data: Path, wanted: set[int]) -> dict[int, Lines]:
    """Read the lines of some pools."""
    with lzma.open(data / POOLS, "rt", encoding="utf-8") as file:
        return {row["pool"]: row["lines"] for row in map(json.loads, file) if row["pool"] in wanted}


def _conversation(name: str, source: str, lines: Lines, read: Span, labels: dict[int, Json]) -> Conversation:
    spoken = _spoken(lines, read)
    turns: list[Turn] = []
    for place, number in enumerate(spoken):
        before = lines[spoken[place - 1]] if place else None
        turns.append(_turn(f"{name}/{number}", lines[number], before, labels.get(number, {})))
    places = {number: place for place, number in enumerate(spoken)}
    pairs = [
        Pair(_side(turns, places[earlier], said), _side(turns, places[number], quote), UPDATE_AS_PAIR.get(does, does))
        for number, label in labels.items()
        for quote, does, earlier, said in label["updates"]
    ]
    return Conversation(name, source, "en", tuple(turns), (), tuple(pairs), "train")


def _spoken(lines: Lines, read: Span) -> list[int]:
    return [n for n in range(read[0], read[1] + 1) if lines[n].get("speaker") != NOTE]


def _turn(key: str, line: Json, before: Json | None, label: Json) -> Turn:
    text, speaker = line["text"], line.get("speaker") or ""
    entities = tuple(
        Entity(a, b, kind, {"text": text[a:b], "speaker": speaker}.get(who, ""))
        for a, b, kind, who in label.get("entities", ())
    )
    statements = tuple(_statement(one, text, speaker, before) for one in label.get("statements", ()))
    day = line.get("date") or ""
    return Turn(key, day if WHOLE_DAY.match(day) else None, speaker, text, entities, statements)


def _statement(row: list[Any], text: str, speaker: str, before: Json | None) -> Statement:
    start, end, kind, about, relation, value, time, mode, state = row
    span, in_before = None, False
    name = {"speaker": speaker, "listener": (before or {}).get("speaker") or ""}.get(str(about), "")
    if isinstance(about, list):
        span, in_before = (about[0], about[1]), len(about) > 2
        name, about = ((before or {})["text"] if in_before else text)[slice(*span)], "name"
    return Statement(
        start, end, kind, about, name, span, in_before, relation, tuple(value) if value else None, time, mode, state
    )


def _side(turns: list[Turn], place: int, statement: int) -> tuple[int, Span, str]:
    one = turns[place].statements[statement]
    return place, (one.start, one.end), one.about_name


def convert(path: Path, data: Path) -> Iterator[Json]:
    """Turn one file of labels into rows without text."""
    source, number = path.stem.rsplit("-", 1)
    pool = int(number)
    lines = read_pools(data, {pool})[pool]
    labels, read = parse(path.read_text(encoding="utf-8"))
    yield {"pool": pool, "source": source, "read": read}
    spoken = _spoken(lines, read)
    before = {number: lines[spoken[place - 1]] if place else None for place, number in enumerate(spoken)}
    confirmed = 0
    kept: dict[int, list[str]] = {}
    for number, label in sorted(labels.items()):
        quotes, statements = _statements(label, lines[number], before[number])
        kept[number] = quotes
        updates: list[Any] = []
        for quote, does, earlier, said in label["updates"]:
            confirmed += does == "confirms"
            there = quote in quotes and said in kept.get(int(earlier), [])
            if there and (does != "confirms" or confirmed % CONFIRMS == 1):
                updates.append([quotes.index(quote), does, int(earlier), kept[int(earlier)].index(said)])
        entities = [_entity(one, lines[number]) for one in mentions(lines[number]["text"], label["entities"])]
        yield {"pool": pool, "line": number, "entities": entities, "statements": statements, "updates": updates}


def parse(text: str) -> tuple[dict[int, Json], list[int]]:
    """Read a file of labels: those of each line, and the range that was read."""
    labels: dict[int, Json] = {}
    read: list[int] = []
    label: Json = {}
    for line in filter(str.strip, text.splitlines()):
        fields = [part.strip() for part in FIELDS.split(line[2:])]
        if line.startswith("#"):
            label = labels.setdefault(int(line[1:]), {"entities": [], "statements": [], "updates": []})
        elif line.startswith("@read "):
            read = [int(one) for one in line[6:].split("-")]
        elif line.startswith("E "):
            label["entities"].append(dict(zip(("text", "type", "who"), fields, strict=True)))
        elif line.startswith("S "):
            label["statements"].append({name: one or None for name, one in zip(STATEMENT, fields, strict=True)})
        elif line.startswith("U "):
            label["updates"].append(fields)
        else:
            raise ValueError(f"Unknown line: {line[:80]}")
    return labels, read


def _entity(one: Entity, line: Json) -> list[Any]:
    text = line["text"][one.start : one.end]
    who = "text" if one.who == text else "speaker" if one.who == line.get("speaker") else None
    return [one.start, one.end, one.type, who]


def _statements(label: Json, line: Json, before: Json | None) -> tuple[list[str], list[Any]]:
    """Give the quotes that are in the line, and the row of each."""
    said = [_as_turn(one, label if one is line else None) for one in (line, before) if one is not None]
    turn, earlier = said[0], said[1] if before is not None else None
    row: Json = {"turns": [one for one in (earlier, turn) if one]}
    quotes: list[str] = []
    found: list[Any] = []
    for one in label["statements"]:
        # The notes of RealMem call their owner "user": it is the word of the line where there is one.
        spoken = statement_of(one, turn, earlier, row)
        if spoken is None:
            continue
        about: Any = spoken.about
        if about == "name" and spoken.about_span:
            about = [*spoken.about_span, *([True] if spoken.about_before else [])]
        quotes.append(one["quote"])
        found.append([spoken.start, spoken.end, spoken.kind, about, spoken.relation, spoken.value, spoken.time,
                      spoken.mode, spoken.state])  # fmt: skip
    return quotes, found


def _as_turn(line: Json, label: Json | None) -> Json:
    speaker = line.get("speaker") or ""
    role = "user" if speaker == "User" else None
    return {"text": line["text"], "speaker": speaker, "role": role, "entities": label["entities"] if label else []}


def problems(rows: list[Json], pools: dict[int, Lines]) -> Iterator[str]:
    """List labels that do not fit the text or are of no known class."""
    read = {row["pool"]: row["read"] for row in rows if "read" in row}
    statements = {(row["pool"], row["line"]): row["statements"] for row in rows if "line" in row}
    for row in (row for row in rows if "line" in row):
        text, key = pools[row["pool"]][row["line"]]["text"], f"{row['pool']}:{row['line']}"
        first, last = read[row["pool"]]
        if not first <= row["line"] <= last:
            yield f"{key} was not read"
        spans = [*row["entities"], *row["statements"], *(one[5] for one in row["statements"] if one[5])]
        if any(not 0 <= a < b <= len(text) or text[a:b] != text[a:b].strip() for a, b, *_ in spans):
            yield f"{key}: a span is outside the text or has white space at an end"
        if any(one[2] not in TYPES for one in row["entities"]):
            yield f"{key}: unknown type"
        for _, _, kind, _, _, _, _, mode, state in row["statements"]:
            goal = kind in ("plan", "task")
            if kind not in KINDS or mode not in MODES or (state in STATES) != goal:
                yield f"{key}: unknown kind, mode or state"
        for quote, does, earlier, said in row["updates"]:
            before = statements.get((row["pool"], earlier), [])
            known = does in ("replaces", "ends", "fulfils", "refines", "confirms")
            if earlier >= row["line"] or said >= len(before) or quote >= len(row["statements"]) or not known:
                yield f"{key}: the update fits no statement"


def main() -> None:
    """Convert the label files of a folder, or check what is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, required=True, help=f"the folder with {POOLS}")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.labels:
        sources: dict[str, list[Json]] = {}
        for path in sorted(arguments.labels.glob("*-*.txt")):
            sources.setdefault(path.stem.rsplit("-", 1)[0], []).extend(convert(path, arguments.data))
        FOLDER.mkdir(exist_ok=True)
        for source, rows in sources.items():
            lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
            (FOLDER / f"{source}.jsonl").write_text(lines, encoding="utf-8")
    rows = read_labels(FOLDER)
    wrong = list(problems(rows, read_pools(arguments.data, {row["pool"] for row in rows})))
    counts = Counter[str]()
    for row in rows:
        counts.update({name: len(row.get(name, ())) for name in ("entities", "statements", "updates")})
        counts["lines read"] += row["read"][1] - row["read"][0] + 1 if "read" in row else 0
        counts.update(one[1] for one in row.get("updates", ()))
    print(*wrong, ", ".join(f"{count:,} {name}" for name, count in counts.items()), sep="\n")  # noqa: T201
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
