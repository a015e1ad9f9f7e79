"""Intents as they were last computed, for as long as nothing happens: whoever follows or wakes up asks often."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.core.attention import Intent
    from recollect.store.protocol import Reader

_KEPT = 64  # of a space, a wing and a time: a service with many tenants keeps the busy ones

_Version = tuple[object, ...]


class KeptIntents:
    """A small memory of what `intents_in` gave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str | None, datetime], tuple[_Version, list[Intent]]] = {}

    def of(self, reader: Reader, space: str, *, wing: str | None, now: datetime) -> list[Intent]:
        """Give the intents of a snapshot. `now` must be round, a day or a minute, or nothing is ever found again."""
        # All that they rest on: what arrived, how far it is marked, how far it is folded.
        version: _Version = (reader.pulse(), reader.marked_upto(space), reader.fold_mark(space))
        key = (space, wing, now)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] == version:
            return kept[1]
        from recollect.engine.attention import intents_in  # brings along what reads goals

        found = intents_in(reader, space, now=now, wing=wing)
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (version, found)
            while len(self._kept) > _KEPT:
                self._kept.pop(next(iter(self._kept)))
        return found
