"""The secret key of a store's fences: random, kept in the store with its first write, never shown."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from recollect.store.facts import FENCE_KEY
from recollect.store.protocol import Reader, Writer


@dataclass(slots=True)
class FenceKey:
    """Give the key that `core/rendering.py` derives fences from.

    The store keeps it, so that the same lines get the same fence in every process. Until something is written, and in
    a read-only store without one, this process uses a random one of its own.
    """

    chosen: str | None = None  # `Settings.fence_key`
    _own: str = field(default_factory=secrets.token_hex)
    _kept: str | None = None

    def of(self, reader: Reader) -> bytes:
        """Read the key."""
        if self.chosen is not None:
            return self.chosen.encode("utf-8", "surrogatepass")
        if self._kept is None:
            self._kept = reader.fact(FENCE_KEY)
        return (self._kept or self._own).encode()

    def keep(self, writer: Writer) -> None:
        """Write the key where the store has none."""
        if self._kept is None and writer.fact(FENCE_KEY) is None:
            writer.set_fact(FENCE_KEY, self._own)
