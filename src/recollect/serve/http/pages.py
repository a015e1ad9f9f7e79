"""Lists in pages: by the store's own cursor where it has one, else by where the last entry stood."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from recollect.core.errors import InvalidInput
from recollect.core.feed import Page
from recollect.memory import Memory
from recollect.serve.http.exposed import LISTED_BY_DEFAULT, MOST_LISTED, Exposed

_CURSOR = re.compile(r"(\d{1,12})(?:\.([A-Za-z0-9_-]{0,2000}))?", re.ASCII)


def page(exposed: Exposed, handle: Memory, arguments: Mapping[str, Any]) -> Page[Any]:
    """Run an operation that gives a list; give a part of it."""
    asked = dict(arguments)
    limit = asked.pop("limit", LISTED_BY_DEFAULT)
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit must be from 1 to {MOST_LISTED:,}, not {limit}.")
    if exposed.page_method is not None:
        return getattr(handle, exposed.page_method)(limit=limit, **asked)
    begin, last = _place(asked.pop("cursor", None))
    cut = exposed.operation.parameter("limit") is not None  # the operation itself can leave the rest out
    items = _first(exposed, handle, asked, begin + limit + 1, cut=cut, all_of_it=last is not None)
    moved = _behind(items, begin, last)
    if cut and moved > begin:  # others came before: as many are missing at the end
        items = _first(exposed, handle, asked, moved + limit + 1, cut=True, all_of_it=False)
    begin = moved
    shown = items[begin : begin + limit]
    more = len(items) > begin + limit
    return Page(shown, next=_cursor(begin + limit, shown[-1]) if more else None)


def _first(
    exposed: Exposed, handle: Memory, asked: Mapping[str, Any], count: int, *, cut: bool, all_of_it: bool
) -> list[Any]:
    given = {**asked, "limit": count} if cut else asked
    return list(islice(exposed.operation.run(handle, given), None if all_of_it else count))


def _behind(items: Sequence[Any], begin: int, last: str | None) -> int:
    """Find where the page before ended: entries may have come or gone meanwhile."""
    if last is None or (0 < begin <= len(items) and _identity(items[begin - 1]) == last):
        return begin
    return next((number for number, item in enumerate(items, 1) if _identity(item) == last), begin)


def _identity(item: Any) -> str:
    """Name an entry in letters that an address can hold."""
    name = str(getattr(item, "id", None) or getattr(item, "name", None) or "")
    return urlsafe_b64encode(name.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _cursor(begin: int, last: Any) -> str:
    return f"{begin}.{_identity(last)}"


def _place(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("This is no cursor of this list.", fix="Give the `next` of the page before, as it was.")
    return int(found[1]), found[2]
