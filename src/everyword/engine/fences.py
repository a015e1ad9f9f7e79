"""The secret key of the fences around recorded text: random, stored with the first write, never shown."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from everyword.storage.protocol import FENCE_KEY, FileReader, FileWriter


@dataclass(slots=True)
class FenceKey:
    """The key from which `text/rendering.py` derives fences.

    The store keeps it, so that the same lines get the same fence in every process. Until the first write, and in a
    read-only store without a key, each process uses a random key of its own.
    """

    chosen: str | None = None  # `Settings.fence_key`
    _own: str = field(default_factory=secrets.token_hex)
    _kept: str | None = None

    def of(self, reader: FileReader) -> bytes:
        """Return the key."""
        if self.chosen is not None:
            return self.chosen.encode("utf-8", "surrogatepass")
        if self._kept is None:
            self._kept = reader.fact(FENCE_KEY)
        return (self._kept or self._own).encode()

    def keep(self, writer: FileWriter) -> None:
        """Store the key if the store has none."""
        if self._kept is None and writer.fact(FENCE_KEY) is None:
            writer.set_fact(FENCE_KEY, self._own)
