"""The formats that can be imported, a module each.

A format says how surely a source is its own (`recognise`), which files it reads (`parts`), and what is in one of them
(`read`): events as `Memory.add_many` takes them, and all that it left out, each with the position after it. A position
is JSON and belongs to one part. While a part's content is the same, reading goes on from any of its positions; where
`GROWS` is true, that holds also when the part has become longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from recollect.capture.formats import (
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
    own_file,
    own_jsonl,
    slack,
    telegram,
    transcript,
    whatsapp,
)
from recollect.capture.formats.items import Item, Position, Read, Skipped
from recollect.capture.formats.sources import Source, open_source

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

# Raised when a format comes to read more of its files than before: then files that were read are read again.
READERS_VERSION = 3


class Format(Protocol):
    """What every module of a format has."""

    @property
    def NAME(self) -> str:
        """Give the name that `--format` takes."""
        ...

    @property
    def GROWS(self) -> bool:
        """Tell whether files of this format are only ever added to."""
        ...

    def recognise(self, source: Source) -> float:
        """Tell how surely the source is of this format, from 0 to 1."""
        ...

    def parts(self, source: Source) -> tuple[str, ...]:
        """Name the files to read, in order."""
        ...

    def read(self, source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
        """Read one of the files, from a position on."""
        ...


FORMATS: tuple[Format, ...] = (
    *(claude_code, claude_ai, chatgpt, codex, gemini, slack, telegram, whatsapp, mbox),
    *(own_jsonl, own_file, mem0, mempalace, gitlog, transcript, markdown),
)


def read(chosen: Format, source: Source, *, after: Position | None = None) -> Iterator[tuple[str, Item]]:
    """Read all parts in order, each item with its part; after: {"part": ..., "position": ...} of the last one kept."""
    names = chosen.parts(source)
    last = str((after or {}).get("part", ""))
    for name in names[names.index(last) :] if last in names else names:
        position = (after or {}).get("position") if name == last else None
        for item in chosen.read(source, name, after=position):
            yield name, item
