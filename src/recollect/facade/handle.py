"""What every handle on a memory has: the parts of the memory, and the scope that it sees."""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

from recollect.core.clock import as_datetime
from recollect.core.values import Filter
from recollect.engine.arguments import Conditions, Time, filter_of
from recollect.engine.engine import Engine


class Handle:
    """A view of one space, or of one wing in it."""

    def __init__(self, engine: Engine, *, space: str, wing: str | None, owner: bool, walled: bool = False) -> None:
        self._engine = engine
        self._space = space
        self._wing = wing
        self._owner = owner
        self._walled = walled  # it tells nothing of the file around its space

    def _moment(self, now: Time | None) -> datetime:
        return self._engine.clock() if now is None else as_datetime(now, "now")

    def _filter(self, **conditions: Unpack[Conditions]) -> Filter:
        return filter_of(self._engine.settings, self._wing, conditions)
