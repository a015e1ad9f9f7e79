"""A MemPalace store: the drawers of its Chroma database (`chroma.sqlite3`), with wing, room and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from everyword.errors import InvalidInput
from everyword.ingest.importers.records import Item, Position, as_text, item, last_folder, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.sqlite_files import reading, rows, tables

NAME = "mempalace"
GROWS = True
SUFFIXES = (".sqlite3",)

_TEXT = "chroma:document"
_OURS = "mempalace"
_SUMMARIES = ("closet", "compressed")  # collections of summaries that MemPalace wrote


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    if source.kind == "zip" or "embedding_metadata" not in tables(source.local(part)):
        return 0.0
    try:
        with reading(source.local(part)) as connection:
            names = [as_text(row["name"]) for row in rows(connection, "chroma_collections")]
    except InvalidInput:
        return 0.0
    return 0.95 if any(_OURS in one for one in names) else 0.4


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read drawers."""
    place = (after or {}).get("place", 0)
    with reading(source.local(part)) as connection:
        found = rows(connection, "chroma_items", place if isinstance(place, int) else 0)
        for number, members in groupby(found, key=lambda row: row["place"]):
            yield replace(_item(list(members), part), position={"place": number})


def _item(members: list[dict[str, Any]], part: str) -> Item:
    drawer, collection = as_text(members[0]["id"]), as_text(members[0]["collection"])
    about: dict[str, Any] = {row["key"]: row["value"] for row in members}
    where = f"{part}, {collection} {drawer}"
    if any(sign in collection for sign in _SUMMARIES):
        return skipped("a summary of drawers, not a drawer", where, expected=True)
    file = last_folder(about.get("source_file"))
    dates = ("date", "event_date", "timestamp", "filed_at")
    stored = f"{members[0]['created_at']}Z"  # Chroma writes it in UTC
    return item(
        as_text(about.get(_TEXT)),
        key=f"{NAME}:{drawer}",
        where=where,
        source={"format": NAME, "drawer": drawer, "file": file, "chunk": about.get("chunk_index")},
        at=next((about[name] for name in dates if about.get(name)), stored),
        session=file,
        speaker=as_text(about.get("speaker")) or as_text(about.get("added_by")) or None,
        role="note",
        wing=as_text(about.get("wing")) or None,
        meta={"room": about.get("room"), "hall": about.get("hall"), "topic": about.get("topic")},
    )
