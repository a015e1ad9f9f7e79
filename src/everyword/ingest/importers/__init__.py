"""The formats that can be imported, one module each.

A format module says how likely a source has its format (`recognise`), which files it reads (`parts`), and yields the
events of a file, and the entries that it skipped, each with the position after it (`read`). A position is JSON and
belongs to one file. Reading can resume from any position while the file's content is the same; if `GROWS` is true,
also when the file has grown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from everyword.ingest.importers import (
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    gemini,
    gitlog,
    markdown,
    mbox,
    mem0,
    mempalace,
    slack,
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
    "read",
]

# Increase it when a format learns to read more of its files: files that were imported are then read again.
READERS_VERSION = 3


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

    def recognise(self, source: Source) -> float:
        """Return the confidence, from 0 to 1, that the source has this format."""
        ...

    def parts(self, source: Source) -> tuple[str, ...]:
        """List the files to read, in order."""
        ...

    def read(self, source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
        """Read a file, starting after a position."""
        ...


FORMATS: tuple[Format, ...] = (
    *(claude_code, claude_ai, chatgpt, codex, gemini, slack, telegram, whatsapp, mbox),
    *(own_jsonl, own_file, mem0, mempalace, gitlog, transcript, markdown),
)


def read(chosen: Format, source: Source, *, after: Position | None = None) -> Iterator[tuple[str, Item]]:
    """Read all files in order, each item with its file; after: {"part": ..., "position": ...} of the last item."""
    names = chosen.parts(source)
    last = str((after or {}).get("part", ""))
    for name in names[names.index(last) :] if last in names else names:
        position = (after or {}).get("position") if name == last else None
        for item in chosen.read(source, name, after=position):
            yield name, item
