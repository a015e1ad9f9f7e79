"""The formats that can be imported, one module each.

A format says which files it may be in (`SUFFIXES`), how likely a file has it (`recognise`), and yields the events of a
file, and the entries that it skipped, each with the position after it (`read`). A position is JSON and belongs to one
file. Reading can resume from any position while the file's content is the same; if `GROWS` is true, also when the file
has grown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from everyword.ingest.importers import (
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    copilot,
    gemini,
    gitlog,
    mbox,
    mcp_memory,
    mem0,
    mempalace,
    messages,
    slack,
    table,
    telegram,
    transcript,
    whatsapp,
)
from everyword.ingest.importers import (
    everyword_jsonl as own_jsonl,
)
from everyword.ingest.importers import (
    everyword_memory as own_file,
)
from everyword.ingest.importers.notes import MARKDOWN, PDF, TEXT, WORD
from everyword.ingest.importers.records import Item, Position, Read, Skipped
from everyword.ingest.importers.sources import Source, open_source

__all__ = [
    "FORMATS",
    "READERS_VERSION",
    "Format",
    "Item",
    "Position",
    "Read",
    "Skipped",
    "Source",
    "open_source",
]

# Increase it when a format learns to read more of its files: files that were imported are then read again.
READERS_VERSION = 4


class Format(Protocol):
    """The interface of a format module."""

    @property
    def NAME(self) -> str:
        """The name that `--format` takes."""
        ...

    @property
    def GROWS(self) -> bool:
        """Whether programs only append to files of this format."""
        ...

    @property
    def SUFFIXES(self) -> tuple[str, ...]:
        """The suffixes of its files, "" for none; empty: any."""
        ...

    def recognise(self, source: Source, part: str) -> float:
        """Return the confidence, from 0 to 1, that the file has this format."""
        ...

    def read(self, source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
        """Read a file, starting after a position."""
        ...


FORMATS: tuple[Format, ...] = (
    *(claude_code, claude_ai, chatgpt, codex, copilot, gemini, slack, telegram, whatsapp, mbox),
    *(own_jsonl, own_file, mem0, mempalace, mcp_memory, messages, table, gitlog, transcript),
    *(MARKDOWN, TEXT, WORD, PDF),
)
