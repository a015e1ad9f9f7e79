"""What happens in a memory, as followers see it: news of a space, in order, from any position on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from recollect.core.artifacts import Artifact
from recollect.core.attention import Intent
from recollect.core.errors import InvalidInput
from recollect.core.folding import Concept
from recollect.core.values import Event, Receipt

NOW = "now"
_PLACE = re.compile(r"([a-z_]{1,30})\.(\d{1,18})", re.ASCII)
_LONGEST_POSITION = 1_000  # characters

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One thing that happened: what was stored, derived, formed or forgotten, what began or ended, what waits."""

    kind: str
    at: datetime
    item: Event | Artifact | Concept | Intent | Waiting | Receipt


class Feed(list[News]):
    """Some news, and where to go on."""

    def __init__(self, news: Iterable[News] = (), *, position: str = "", more: bool = False) -> None:
        super().__init__(news)
        self.position = position
        self.more = more  # there are others behind these already


class Page(list[T]):
    """Some entries of a list, and where to go on; no `next` on the last page."""

    def __init__(self, items: Iterable[T] = (), *, next: str | None = None) -> None:
        super().__init__(items)
        self.next = next


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Work that waits: what, for which event, since when it failed and why."""

    id: int
    kind: str
    event_id: str | None
    attempts: int
    due_at: datetime
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that is told of what happens in a space, and how far it got."""

    id: str
    space: str
    url: str
    kinds: tuple[str, ...]  # of news; none: all
    created_at: datetime
    position: str
    delivered: int = 0
    attempts: int = 0  # that failed since the last success
    due_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A webhook that was just made, with what its deliveries are signed with; the only time that this is shown."""

    webhook: Webhook
    secret: str


def position_of(places: Mapping[str, int]) -> str:
    """Write how far each kind of news was read."""
    return ",".join(f"{kind}.{number}" for kind, number in sorted(places.items()))


def places_of(position: str) -> dict[str, int]:
    """Read what `position_of` wrote."""
    if not isinstance(position, str) or len(position) > _LONGEST_POSITION:
        raise InvalidInput("This is no position in the feed.", fix="Give one that the feed gave, or leave it out.")
    parts = [_PLACE.fullmatch(part) for part in position.split(",")]
    if not all(parts):
        raise InvalidInput(f"{position[:80]!r} is no position in the feed.", fix="Give one that the feed gave.")
    return {found[1]: int(found[2]) for found in parts if found}
