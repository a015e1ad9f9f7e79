"""Pages of lists.

A cursor is how many entries were given and a checksum of the last one, so that entries that were added or removed
meanwhile shift the page instead of repeating or skipping entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast
from zlib import crc32

from msgspec import Struct

from everyword.errors import InvalidInput

T = TypeVar("T")
Json = dict[str, Any]
_CURSOR = re.compile(r"(\d{1,12})\.([0-9a-f]{8})", re.ASCII)


class Entries(Struct, Generic[T], frozen=True):
    """The entries after a cursor, as many as were asked for, and one more if the list goes on."""

    start: int
    found: Sequence[T]

    def next(self, count: int) -> str | None:
        """Return the cursor of the page after the first `count` of these; None at the end of the list."""
        if count >= len(self.found):
            return None
        return f"{self.start + count}.{_checksum(self.found[count - 1])}"


def entries_after(cursor: str | None, count: int, fetch: Callable[[int | None], Sequence[T]]) -> Entries[T]:
    """Read the entries after a cursor. fetch: reads the first entries of the list, or all."""
    if cursor is None:
        return Entries(0, fetch(count + 1)[: count + 1])
    read = _CURSOR.fullmatch(cursor)
    if read is None:
        raise InvalidInput("The cursor is not one of this list.", fix="Use the cursor of the page before, unchanged.")
    start, last = int(read[1]), read[2]
    found = fetch(start + count + 1)
    if not (0 < start <= len(found) and _checksum(found[start - 1]) == last):
        found = fetch(None)
        start = next((place for place, one in enumerate(found, 1) if _checksum(one) == last), start)
    return Entries(start, found[start : start + count + 1])


def _checksum(entry: object) -> str:
    """Return a checksum of what identifies an entry, whether it is an object or its JSON."""

    def member(name: str) -> Any:
        return cast("Json", entry).get(name) if isinstance(entry, dict) else getattr(entry, name, None)

    identity = member("id") or member("uri") or member("name")
    return f"{crc32(str(identity).encode('utf-8', 'surrogatepass')):08x}"
