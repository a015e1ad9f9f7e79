"""Standing instructions: told once among a thousand other turns, are they found weeks later where a request needs them?

Conversations are our own labelled ones (training/reading/own). Our file names a turn with an instruction, requests on
which it bears, and requests of the same user on which it does not.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from everyword import Memory

INSTRUCTIONS = Path(__file__).parent / "data" / "instructions.jsonl"
OWN = Path("training/reading/own")
BUDGET = 1200  # tokens of the contexts
K = 10
BESIDE = 45  # conversations without any instruction, which are in the memory too
_USER = "user"


class Instruction(NamedTuple):
    """An instruction, and what is asked weeks later."""

    conversation: str
    turn: int  # from 1
    quote: str
    general: bool  # it bears on nearly everything
    bears: Sequence[str]
    others: Sequence[str]  # requests on which it does not bear


class Found(NamedTuple):
    """Whether hits and context of a request have the instruction."""

    bears: bool
    hit: bool
    shown: bool


def read_instructions(path: Path = INSTRUCTIONS, *, held_back: bool = False) -> list[Instruction]:
    """Read the instructions of one half of the conversations."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    half = sorted({row["conversation"] for row in rows})[held_back::2]
    return [
        Instruction(*(row[name] for name in ("conversation", "turn", "quote", "general", "bears", "not")))
        for row in rows
        if row["conversation"] in half
    ]


def measure(
    instructions: Sequence[Instruction], own: Path = OWN, *, show: Callable[[str], object] | None = None
) -> list[Found]:
    """Tell each conversation to a memory that holds others already, and make the requests."""
    told = {one["id"]: one for path in sorted(own.glob("*.jsonl")) for one in _rows(path)}
    others = [one for one in told.values() if _is_beside(one)][:BESIDE]
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as folder:
        beside, path = Path(folder, "beside.db"), Path(folder, "memory.db")
        with Memory.open(beside, background=False) as memory:
            for one in others:
                _tell(memory, one)
        for name in dict.fromkeys(one.conversation for one in instructions):
            shutil.copy(beside, path)
            with Memory.open(path, background=False) as memory:
                _tell(memory, told[name])
                for one in instructions:
                    if one.conversation == name:
                        found += _requested(memory, told[name], one, show)
            path.unlink()
    return found


def as_table(found: Sequence[Found]) -> str:
    """Write the shares as a markdown table."""
    rows = [f"| | requests | among {K} hits | in a context of {BUDGET:,} tokens |", "|---|---|---|---|"]
    for name, bears in (("the instruction bears on it", True), ("it does not", False)):
        some = [one for one in found if one.bears is bears]
        hits, shown = sum(one.hit for one in some), sum(one.shown for one in some)
        of = max(1, len(some))
        rows.append(f"| {name} | {len(some)} | {hits / of:.2f} | {shown / of:.2f} |")
    return "\n".join(rows)


def _requested(
    memory: Memory, told: dict[str, Any], one: Instruction, show: Callable[[str], object] | None
) -> Iterator[Found]:
    key = f"{one.conversation}:{one.turn}"
    start = told["turns"][one.turn - 1]["text"].index(one.quote)
    for bears, requests in ((True, one.bears), (False, one.others)):
        for request in requests:
            hit = key in {hit.event.key for hit in memory.recall(request, k=K)}
            cited = memory.context(request, BUDGET).citations
            shown = any(
                at.key == key and at.span.start < start + len(one.quote) and start < at.span.end for at in cited
            )
            if show is not None:
                show(f"{'bears' if bears else 'other'} hit={hit:d} shown={shown:d} {one.quote!r}: {request}")
            yield Found(bears, hit, shown)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _is_beside(one: dict[str, Any]) -> bool:
    """Tell whether a conversation is with an assistant, in English, and holds no instruction."""
    kinds = {stated["kind"] for turn in one["turns"] for stated in turn["statements"]}
    speakers = {turn["speaker"].casefold() for turn in one["turns"]}
    return one.get("lang", "en") == "en" and "instruction" not in kinds and _USER in speakers


def _tell(memory: Memory, one: dict[str, Any]) -> None:
    """Add a conversation; a turn without a time was said a minute after the one before."""
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    events: list[dict[str, Any]] = []
    for number, turn in enumerate(one["turns"], 1):
        try:
            at = datetime.fromisoformat(turn.get("at") or "").replace(tzinfo=UTC)
        except ValueError:
            at += timedelta(minutes=1)
        role = turn["speaker"].casefold()
        events.append(
            {
                "text": turn["text"],
                "speaker": turn["speaker"],
                "role": role if role in ("user", "assistant") else None,
                "session": one["id"],
                "at": at,
                "key": f"{one['id']}:{number}",
            }
        )
    memory.add_many(events)
    memory.admin.settle()
