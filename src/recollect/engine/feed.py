"""The feed of a space: what happened behind a position, read from the numbers that rows get as they arrive.

Nothing is written for it. A new kind of thing joins with a row in `SOURCES`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from recollect.core.feed import NOW, Feed, News, places_of, position_of
from recollect.core.values import Event
from recollect.store.artifacts import ArtifactFilter
from recollect.store.protocol import Reader


class Item(NamedTuple):
    """One numbered thing; `news` is None for one that a wing does not see."""

    number: int
    news: News | None


# space, wing, behind which number, how many at most
Read = Callable[[Reader, str, str | None, int, int], list[Item]]


class Source(NamedTuple):
    """A kind of news: which rows are read for it, and how."""

    kind: str
    table: str  # whose numbers count
    read: Read


def feed(reader: Reader, space: str, wing: str | None, after: str | None, *, limit: int) -> Feed:
    """Read what happened behind a position: None is the beginning, "now" the end."""
    if after == NOW:
        return Feed(position=position_of({one.kind: reader.last_number(space, one.table) for one in SOURCES}))
    places = {} if after is None else places_of(after)
    known = {
        # A kind of news that is younger than the position begins where it stands.
        one.kind: places.get(one.kind, 0 if after is None else reader.last_number(space, one.table))
        for one in SOURCES
    }
    news: list[News] = []
    more = False
    for source in SOURCES:
        items = source.read(reader, space, wing, known[source.kind], limit)
        news += [item.news for item in items if item.news is not None]
        more = more or len(items) == limit
        if items:
            known[source.kind] = items[-1].number
    return Feed(news, position=position_of(known), more=more)


def _events(reader: Reader, space: str, wing: str | None, after: int, limit: int) -> list[Item]:
    def seen(event: Event) -> bool:
        return wing is None or event.wing == wing

    rows = reader.log(space, after=after, limit=limit)
    return [Item(seq, _news("event", event.recorded_at, event) if seen(event) else None) for seq, event in rows]


def _artifacts(reader: Reader, space: str, wing: str | None, after: int, limit: int) -> list[Item]:
    rows = reader.artifacts(space, ArtifactFilter(wing=wing), after=after, limit=limit)
    return [Item(number, _news("artifact", artifact.recorded_at, artifact)) for number, artifact in rows]


def _forgotten(reader: Reader, space: str, wing: str | None, after: int, limit: int) -> list[Item]:
    rows = reader.receipts_after(space, after, limit=limit)
    # A receipt does not tell of which wings its events were.
    return [Item(number, None if wing else _news("forgotten", receipt.at, receipt)) for number, receipt in rows]


def _news(kind: str, at: datetime, item: object) -> News:
    return News(kind=kind, at=at, item=item)  # pyright: ignore[reportArgumentType]  each source gives its own kind


SOURCES = (
    Source("event", "events", _events),
    Source("artifact", "artifacts", _artifacts),
    Source("forgotten", "receipts", _forgotten),
)
KINDS = tuple(source.kind for source in SOURCES)
