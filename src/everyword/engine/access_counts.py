"""Count how often events are recalled, without a write during recall."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from everyword.errors import EverywordError
from everyword.storage.protocol import Access, Store, Writer
from everyword.types.times import to_micros

MANY = 64  # events counted, from which on a write carries the counts: each is a row more in its transaction
_LOCK_TIMEOUT_S = 0.1  # closing a memory must not wait long for counts, which only affect ranking


@dataclass(slots=True)
class AccessCounts:
    """Recalls since the last write, kept in this process so that recall never waits for the write lock."""

    _found: dict[str, dict[int, Access]] = field(default_factory=dict[str, dict[int, Access]])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def note(self, space: str, seqs: Iterable[int], now: datetime) -> None:
        """Count one recall of each event."""
        at = to_micros(now)[0]
        with self._guard:
            held = self._found.setdefault(space, {})
            for seq in seqs:
                held[seq] = Access(held[seq].times + 1 if seq in held else 1, at)

    def flush(self, writer: Writer, *, least: int = 1) -> None:
        """Write the counts of a space within a running transaction, if it has at least some; a rollback loses them.

        Other spaces keep theirs: each space has its own write lock, and taking two could deadlock.
        """
        with self._guard:
            found = self._found.pop(writer.space, {}) if len(self._found.get(writer.space, ())) >= least else {}
        if found:
            writer.put_accesses(found)

    def flush_all(self, store: Store) -> None:
        """Write all counts in transactions of their own; drop them if the store can't be written now."""
        if store.read_only or not self._found:
            return
        try:
            for space in list(self._found):
                with store.writer(space, patience_s=_LOCK_TIMEOUT_S) as writer:
                    self.flush(writer)
        except EverywordError:
            return
