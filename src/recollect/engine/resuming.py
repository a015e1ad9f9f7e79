"""Which files of an import have to be read, and from where: by what was noted of them the last time.

A file whose size and time are as noted is not opened. One whose content is as noted is read from where reading stopped,
also when it has grown since, where its format is only ever added to. Every other file is read from its beginning, which
is harmless: what is known already stays as it is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from recollect.capture.formats import READERS_VERSION, Format, Position, Source
from recollect.store.imports import FileRead

# File systems count time in steps of up to two seconds: within one, a file may change without a trace.
_STEP_NS = 2_000_000_000
_NO_HASH = b""
_LOOKED_UP = 500  # files at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file that is to be read, and where to begin."""

    part: str
    noted: FileRead  # what will be noted of it, as it stands before anything is read
    after: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """A file of which all was read before."""

    part: str
    noted: FileRead
    touched: bool = False  # its time differs, its content does not


def way_of_reading(format: Format, *, wing: str | None, redacted: str) -> str:
    """Name how a file is read; what was read in another way counts as not read."""
    return json.dumps([format.NAME, READERS_VERSION, wing, redacted])


def path_of(source: Source, part: str) -> str:
    """Name a file for good: where it is, whatever it was called by."""
    whole = source.path.resolve()
    path = whole if source.kind == "file" else f"{whole}!/{part}" if source.kind == "zip" else whole / part
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def look(format: Format, source: Source, part: str, known: FileRead | None, reading: str) -> Place | Unchanged:
    """Decide about one file."""
    path = path_of(source, part)
    known = known if known is not None and known.reading == reading else None
    state = source.state(part)
    if state is None:  # no file of bytes: the format finds by itself what is new, from its last place on
        fresh = _fresh(path, reading, 0, 0, _NO_HASH)
        return _from(part, known, fresh) if known is not None and format.GROWS else Place(part=part, noted=fresh)
    size, modified = state
    if known is not None and known.whole and (known.bytes, known.modified) == (size, modified):
        return Unchanged(part=part, noted=known)
    # A time that is too fresh proves nothing the next time.
    modified = modified if time.time_ns() - modified > _STEP_NS else 0
    hashes = source.digests(part, [size] if known is None else sorted({known.bytes, size}))
    fresh = _fresh(path, reading, size, modified, hashes.get(size, _NO_HASH))
    if known is None or hashes.get(known.bytes) != known.hash:
        return Place(part=part, noted=fresh)
    if known.bytes == size and known.whole:
        return Unchanged(part=part, noted=replace(known, modified=modified), touched=True)
    if known.bytes == size or format.GROWS:
        return _from(part, known, fresh)
    return Place(part=part, noted=fresh)


def is_fresh(source: Source, part: str) -> bool:
    """Tell a file that was changed a moment ago: it may still be being written."""
    state = source.state(part)
    return state is not None and time.time_ns() - state[1] < _STEP_NS


def lookups(names: Iterable[str]) -> Iterable[list[str]]:
    """Split names into what is looked up at a time."""
    several = list(names)
    return (several[start : start + _LOOKED_UP] for start in range(0, len(several), _LOOKED_UP))


def _fresh(path: str, reading: str, size: int, modified: int, hash: bytes) -> FileRead:
    return FileRead(
        path=path,
        reading=reading,
        bytes=size,
        modified=modified,
        hash=hash,
        position={},
        events=0,
        whole=False,
    )


def _from(part: str, known: FileRead, fresh: FileRead) -> Place:
    if not known.position:
        return Place(part=part, noted=fresh)
    return Place(part=part, noted=replace(fresh, position=known.position, events=known.events), after=known.position)
