"""Changes in one order: what an adapter folds its state from.

A tool that edits (files, a graph) needs more than a log: two agents that edit at once must not build on the same state
without knowing of each other. Each change is an event whose key is its number; the store lets a key be taken once. Who
loses the race reads the winner's change, decides again, and takes the next number. Nothing is ever overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from recollect.core.errors import KeyConflict, StoreBusy
from recollect.core.trust import Source
from recollect.core.values import Event, Json
from recollect.memory import Memory

R = TypeVar("R")

# Lost races in a row. Each loss is another's success, so that this many mean hundreds of writers at once.
_MOST_RACES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be appended: words for people and for recall, and what they mean to the adapter."""

    text: str
    session: str
    meaning: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change that happened."""

    number: int
    event: Event
    meaning: Mapping[str, Json]


class Ledger:
    """The changes that were made under one name, and the right to add to them."""

    def __init__(self, memory: Memory, name: str, *, wing: str | None = None) -> None:
        self.memory = memory if wing is None else memory.wing(wing)
        self.name = name
        # Keys are unique in a space; two wings number their changes apart.
        self._prefix = f"{name}/" if wing is None else f"{name}/{wing}/"

    def entries(self) -> list[Entry]:
        """Read all changes, in their order. Forgotten ones are not there, and leave gaps."""
        found: list[Entry] = []
        for event in self.memory.events(speaker=self.name):
            number = self._number(event)
            meaning = event.meta.get(self.name)
            if number is not None and isinstance(meaning, dict):
                found.append(Entry(number=number, event=event, meaning=meaning))  # pyright: ignore[reportUnknownArgumentType]
        return sorted(found, key=lambda entry: entry.number)

    def append(self, decide: Callable[[Sequence[Entry]], tuple[Sequence[Change], R]]) -> R:
        """Add what `decide` makes of all changes so far; it is asked again when another was faster."""
        taken = 0
        for _ in range(_MOST_RACES):
            entries = self.entries()
            changes, result = decide(entries)
            # A key may be taken by what this handle can't see: then the number goes up by itself.
            taken = max(taken, entries[-1].number if entries else 0)
            if not changes or self._written(changes, taken + 1):
                return result
            taken += 1
        raise StoreBusy(f"Others change {self.name} all the time.", fix="Try again.")

    def _written(self, changes: Sequence[Change], first: int) -> bool:
        events: list[dict[str, Json]] = [
            {
                "text": change.text,
                "key": f"{self._prefix}{number}",
                "session": change.session,
                "speaker": self.name,
                "role": "tool",
                "source": Source.ASSISTANT,
                "meta": {self.name: dict(change.meaning)},
            }
            for number, change in enumerate(changes, first)
        ]
        try:
            # The adapter cleaned the values; names and numbers that it finds its changes by must stay.
            batch = self.memory.add_many(events, redact="none")
        except KeyConflict:
            return False
        # The same words may stand for another change; only the same change made twice is no conflict.
        return all(
            written.new or written.event.meta == event["meta"] for written, event in zip(batch, events, strict=True)
        )

    def _number(self, event: Event) -> int | None:
        if event.key is None or not event.key.startswith(self._prefix):
            return None
        written = event.key[len(self._prefix) :]
        return int(written) if written.isascii() and written.isdigit() else None
