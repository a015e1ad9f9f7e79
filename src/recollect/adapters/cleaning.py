"""Secrets on the way into an adapter: taken out by the patterns of the memory that it writes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.memory import Memory


class Cleaning:
    """Takes secrets out; where they are to be kept, it changes nothing."""

    def __init__(self, memory: Memory, *, redact_secrets: bool) -> None:
        self._memory = memory
        self._redacts = redact_secrets

    def text(self, text: str) -> str:
        """Clean a text."""
        return self._memory.redacted({"text": text})["text"] if self._redacts else text

    def json(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Clean the strings of JSON."""
        return self._memory.redacted({"meta": dict(value)})["meta"] if self._redacts else dict(value)
