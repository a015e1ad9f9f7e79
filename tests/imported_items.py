"""Read what an import would store, without a memory."""

from __future__ import annotations

from collections.abc import Iterator

from everyword.ingest.importers import Recognised
from everyword.ingest.importers.records import Item, Position


def each_item(found: Recognised, after: Position | None = None) -> Iterator[tuple[str, Item]]:
    """Read all files in order, each item with its file; after: {"part": ..., "position": ...} of the last item."""
    last = str((after or {}).get("part", ""))
    names = found.parts
    for name in names[names.index(last) :] if last in names else names:
        format = found.format_of(name)
        if format is not None:
            for item in format.read(found.source, name, after=(after or {}).get("position") if name == last else None):
                yield name, item


def format_names(found: Recognised) -> set[str]:
    """Name the formats of all files that are read."""
    return {format.NAME for name in found.parts if (format := found.format_of(name)) is not None}
