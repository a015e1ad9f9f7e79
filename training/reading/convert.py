"""Convert conversations from the form that they are written in to JSONL: python -m training.reading.convert FILE ...

    @conv phone-chat-01 | phone-chat | en
    [2026-03-02 19:42] Bexley: sat works. bringing Pickle
    E Pickle | pet | Pickle
    S sat works | plan | Bexley | attends |  | 2026-03-07 | asserted | open
    U quote | does | number of the earlier turn | earlier quote
    Q question | turn | answer            or    Q question | - | wrong_person
    P turn quote | turn quote | relation

Fields are separated by ` | `; a line break inside a turn is written `\\n`. A register's file replaces the one of that
name in `own/`. Check the result with `python -m training.reading.check`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from training.reading.corpus import OWN

TURN = re.compile(r"\[(\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)\] ([^:]{1,60}): (.+)$")
SIDE = re.compile(r"(\d+) (.+)$", re.DOTALL)
STATEMENT = ("quote", "kind", "about", "relation", "value", "time", "mode", "state")

Json = dict[str, Any]


def parse(text: str) -> list[Json]:
    """Read the conversations of one file; a line that has no such form is an error."""
    found: list[Json] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            _take(line, found)
        except (ValueError, IndexError, TypeError) as error:
            raise ValueError(f"line {number}: {error}: {line[:100]}") from error
    return found


def _take(line: str, found: list[Json]) -> None:
    if line.startswith("@conv "):
        name, register, lang = (part.strip() for part in line[6:].split(" | "))
        found.append({"id": name, "register": register, "lang": lang, "turns": [], "questions": [], "pairs": []})
        return
    conversation = found[-1]
    if turn := TURN.match(line):
        at, speaker, said = turn.groups()
        row: Json = {"at": at, "speaker": speaker, "text": _unescaped(said)}
        conversation["turns"].append({**row, "entities": [], "statements": [], "updates": []})
        return
    mark, fields = line[:2], [part.strip() for part in re.split(r" \|(?: |$)", line[2:])]
    _LABELS[mark](conversation, fields)


def _entity(conversation: Json, fields: list[str]) -> None:
    conversation["turns"][-1]["entities"].append(dict(zip(("text", "type", "who"), fields, strict=True)))


def _statement(conversation: Json, fields: list[str]) -> None:
    fields = [_unescaped(one) for one in fields + [""] * (len(STATEMENT) - len(fields))]
    row: Json = dict(zip(STATEMENT, fields, strict=True))
    conversation["turns"][-1]["statements"].append({name: value or None for name, value in row.items()})


def _update(conversation: Json, fields: list[str]) -> None:
    quote, does, earlier, earlier_quote = (_unescaped(one) for one in fields)
    row: Json = {"quote": quote, "does": does, "earlier": int(earlier), "earlier_quote": earlier_quote}
    conversation["turns"][-1]["updates"].append(row)


def _question(conversation: Json, fields: list[str]) -> None:
    question, turn, answer = (_unescaped(one) for one in fields)
    row: Json = {"question": question, "turn": None, "reason": answer}
    if turn != "-":
        row = {"question": question, "turn": int(turn), "answer": answer}
    conversation["questions"].append(row)


def _pair(conversation: Json, fields: list[str]) -> None:
    sides, relation = [SIDE.match(_unescaped(one)) for one in fields[:2]], fields[2]
    a, b = ({"turn": int(side[1]), "quote": side[2]} for side in sides if side)
    conversation["pairs"].append({"a": a, "b": b, "relation": relation})


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n")


_LABELS = {"E ": _entity, "S ": _statement, "U ": _update, "Q ": _question, "P ": _pair}


def main() -> None:
    """Convert the files that are named."""
    for path in map(Path, sys.argv[1:]):
        rows = parse(path.read_text(encoding="utf-8"))
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (OWN / f"{path.stem}.jsonl").write_text(lines, encoding="utf-8")
        print(f"{path.stem}: {len(rows)} conversations")  # noqa: T201


if __name__ == "__main__":
    main()
