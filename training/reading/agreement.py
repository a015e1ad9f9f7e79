"""Compare two readers of the same conversations: python -m training.reading.agreement

`second.jsonl` holds labels of 328 conversations of `own/` by second readers who did not see the first ones. They are
scored as a model would be, against the first reader's: no model can be expected to agree with either much better.
`--convert FOLDER` makes second.jsonl of files as training.reading.external describes them, with turns for lines.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from everyword.models.reader.decoding import FoundEntity, FoundStatement
from training.reading.corpus import OWN, Conversation, Pair, Turn, read_conversation
from training.reading.external import parse
from training.reading.metrics import ENOUGH, Count, ReadingScores, share

SECOND = Path(__file__).parent / "second.jsonl"

Json = dict[str, Any]


def compare(both: Sequence[tuple[Conversation, Conversation]]) -> dict[str, Any]:
    """Score the second reader of each conversation against the first."""
    relations = frozenset(s.relation for a, _ in both for t in a.turns for s in t.statements if s.relation)
    scores = ReadingScores(relations)
    same, alike = Count(), 0
    for first, second in both:
        for told, found in zip(first.turns, second.turns, strict=True):
            scores.turn(told, *as_found(found))
        matched = [(a, b) for b in second.pairs if (a := _same_pair(first.pairs, b))]
        same.add(len(matched), len(second.pairs), len(first.pairs))
        alike += sum(a.relation == b.relation for a, b in matched)
    result = {**scores.result(), "updates": same.scores()}
    result["accuracy"]["update relation"] = round(alike / max(1, same.right), 4)
    return result


def as_found(turn: Turn) -> tuple[list[FoundEntity], list[FoundStatement]]:
    """Give a turn's labels the form of what a model finds."""
    names = [FoundEntity(one.start, one.end, one.type, 1.0) for one in turn.entities]
    return names, [
        FoundStatement(
            s.start,
            s.end,
            1.0,
            s.kind,
            1.0,
            s.mode,
            s.state,
            s.about,
            s.about_name,
            s.relation,
            s.value,
            float(bool(s.lasting)),
        )
        for s in turn.statements
    ]


def _same_pair(pairs: Sequence[Pair], other: Pair) -> Pair | None:
    def meets(a: Any, b: Any) -> bool:
        return a[0] == b[0] and share(a[1], b[1]) >= ENOUGH

    return next((one for one in pairs if meets(one.a, other.a) and meets(one.b, other.b)), None)


def load(second: Path = SECOND, own: Path = OWN) -> list[tuple[Conversation, Conversation]]:
    """Read every conversation that was labelled twice, with either reader's labels; of pairs, the updates alone."""
    rows = {row["id"]: row for path in own.glob("*.jsonl") for row in _rows(path)}
    found: list[tuple[Conversation, Conversation]] = []
    for label in _rows(second):
        first = {**rows[label["id"]], "questions": [], "pairs": []}
        none: Json = {"entities": [], "statements": [], "updates": []}
        turns = [{**turn, **none, **label["turns"].get(str(n), {})} for n, turn in enumerate(first["turns"], 1)]
        found.append((read_conversation(first), read_conversation({**first, "turns": turns})))
    return found


def _rows(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def convert(folder: Path) -> Iterator[Json]:
    """Read label files as rows of second.jsonl."""
    for path in sorted(folder.glob("*.txt")):
        labels, _ = parse(path.read_text(encoding="utf-8").replace("\\n", "\n"))
        for label in labels.values():
            label["updates"] = [
                {"quote": quote, "does": does, "earlier": int(earlier), "earlier_quote": said}
                for quote, does, earlier, said in label["updates"]
            ]
        yield {"id": path.stem, "turns": {str(number): label for number, label in labels.items()}}


def table(results: dict[str, dict[str, Any]]) -> str:
    """Write the results as a table, one column a group."""
    lines = ["| | " + " | ".join(results) + " |", "|---" * (1 + len(results)) + "|"]
    for name in ("statements", "statements strict", "sentences", "entities", "entities exact", "open goals", "updates"):
        cells = [f"{c['p']:.2f} / {c['r']:.2f} / {c['f1']:.2f}" for c in (one[name] for one in results.values())]
        lines.append(f"| {name}: precision / recall / F1 | " + " | ".join(cells) + " |")
    for name in ("kind", "mode", "state", "about", "relation", "value", "entity type", "update relation"):
        cells = [f"{one['accuracy'].get(name, 0):.2f}" for one in results.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the agreement of English conversations and of others."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--convert", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.convert:
        rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in convert(arguments.convert)]
        SECOND.write_text("".join(rows), encoding="utf-8")
    both = load()
    english = [one for one in both if one[0].lang == "en"]
    others = [one for one in both if one[0].lang != "en"]
    groups = {f"English ({len(english)})": english, f"other languages ({len(others)})": others}
    print(table({name: compare(some) for name, some in groups.items() if some}))


if __name__ == "__main__":
    main()
