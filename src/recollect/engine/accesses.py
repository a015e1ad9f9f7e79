"""Counting what is recalled, without a write on the way of a question."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from recollect.core.clock import to_micros
from recollect.core.errors import RecollectError
from recollect.store.attention import Access
from recollect.store.protocol import Store, Writer

_PATIENCE_S = 0.1  # for a turn to write hints: a turn takes milliseconds, and nobody waits at the end for these


@dataclass(slots=True)
class Accesses:
    """How often events were found since the last write, kept in the process: asking never waits for a lock."""

    _found: dict[str, dict[int, Access]] = field(default_factory=dict[str, dict[int, Access]])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def note(self, space: str, seqs: Iterable[int], now: datetime) -> None:
        """Count that events were found."""
        at = to_micros(now)[0]
        with self._guard:
            held = self._found.setdefault(space, {})
            for seq in seqs:
                held[seq] = Access(held[seq].times + 1 if seq in held else 1, at)

    def flush(self, writer: Writer, space: str) -> None:
        """Write a space's counts with a transaction that is under way. Counts are hints: should it fail, they are lost.

        Not those of other spaces: each has a turn of its own, and two writers must not wait for each other's.
        """
        with self._guard:
            found = self._found.pop(space, {})
        if found:
            writer.put_accesses(space, found)

    def flush_alone(self, store: Store) -> None:
        """Write the counts where nothing else is written any more; a store that can't be written now goes without."""
        if store.read_only or not self._found:
            return
        try:
            for space in list(self._found):
                with store.writer(patience_s=_PATIENCE_S) as writer:
                    self.flush(writer, space)
        except RecollectError:
            return
