"""A memory to which the steps of a random history are done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from everyword import Memory

START = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = (UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-8)))


class History:
    """Each step is the name of a method and what it is given; a second passes before it."""

    def __init__(self) -> None:
        self.now = START + timedelta(days=30)
        self.memory = Memory.open(":memory:", embedder="none", clock=lambda: self.now)

    def do(self, step: tuple[str, Any]) -> None:
        what, given = step
        self.now += timedelta(seconds=1)
        getattr(self, what)(given)

    def add(self, batch: list[dict[str, Any]]) -> None:
        self.memory.add_many(batch)

    def again(self, number: int) -> None:
        events = list(self.memory.events())
        if events:
            assert self.memory.add_many([events[number % len(events)]]).added == 0

    def forget(self, numbers: list[int]) -> None:
        ids = [event.id for event in self.memory.events()]
        if ids:
            self.memory.forget(ids=sorted({ids[number % len(ids)] for number in numbers}))

    def rebuild(self, _: None) -> None:
        self.memory.admin.rebuild()
