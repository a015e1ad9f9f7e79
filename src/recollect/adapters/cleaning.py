"""Secrets on the way into an adapter: taken out by the patterns of the memory that it writes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.memory import Memory


class Cleaning:
    """Takes secrets out, at the memory's level or another."""

    def __init__(self, memory: Memory, *, redact: str | None) -> None:
        self._memory = memory
        self._redact = redact

    def text(self, text: str) -> str:
        """Clean a text."""
        return self._memory.redacted({"text": text}, redact=self._redact)["text"]

    def json(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Clean the strings of JSON."""
        return self._memory.redacted({"meta": dict(value)}, redact=self._redact)["meta"]
