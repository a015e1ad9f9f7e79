"""The feed of a space's changes, which can be read from any position, and webhooks on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from everyword.errors import InvalidInput
from everyword.lazy_patterns import lazy_pattern
from everyword.types.concepts import Concept
from everyword.types.events import Event, Receipt
from everyword.types.intents import Intent
from everyword.types.statements import Statement

NOW = "now"
_PLACE = lazy_pattern(r"([a-z_]{1,30})\.(\d{1,18})", re.ASCII)
_LONGEST_POSITION = 1_000  # characters

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One change: an event, statement, concept or intent, a waiting job, or a forget."""

    kind: str
    at: datetime
    item: Event | Statement | Concept | Intent | Waiting | Receipt


class Feed(list[News]):
    """Changes, and the position after them."""

    def __init__(self, news: Iterable[News] = (), *, position: str = "", more: bool = False) -> None:
        super().__init__(news)
        self.position = position
        self.more = more  # more changes are already there


class Page(list[T]):
    """A page of a list; `next` is the cursor of the next page, None on the last."""

    def __init__(self, items: Iterable[T] = (), *, next: str | None = None) -> None:
        super().__init__(items)
        self.next = next


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A waiting job."""

    id: int
    kind: str
    event_id: str | None
    attempts: int
    due_at: datetime
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that receives the changes of a space, and how far it has got."""

    id: str
    space: str
    url: str
    kinds: tuple[str, ...]  # of changes; empty means all
    created_at: datetime
    position: str
    delivered: int = 0
    attempts: int = 0  # failed since the last success
    due_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A new webhook with its signing secret, which is shown only once."""

    webhook: Webhook
    secret: str


def position_of(places: Mapping[str, int]) -> str:
    """Encode how far each kind of change was read."""
    return ",".join(f"{kind}.{number}" for kind, number in sorted(places.items()))


def places_of(position: str) -> dict[str, int]:
    """Decode what `position_of` wrote."""
    if not isinstance(position, str) or len(position) > _LONGEST_POSITION:
        raise InvalidInput("The position is invalid.", fix="Use a position that the feed returned, or leave it out.")
    parts = [_PLACE.fullmatch(part) for part in position.split(",")]
    if not all(parts):
        raise InvalidInput(f"The position {position[:80]!r} is invalid.", fix="Use a position that the feed returned.")
    return {found[1]: int(found[2]) for found in parts if found}
