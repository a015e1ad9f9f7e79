"""What the service needs besides memories: API keys, and the feed with its webhooks.

A key is `ew_`, eight characters that name it, and 256 random bits. Only the SHA-256 of those bits is stored. A slow
password hash is not needed: nobody can guess 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, TypeVar

from msgspec import Struct

from everyword.errors import InvalidInput
from everyword.lazy_patterns import lazy_pattern
from everyword.types.concepts import Concept
from everyword.types.events import Event, Receipt
from everyword.types.intents import Intent
from everyword.types.statements import Statement

EVERY_SPACE = "*"
_BELOW = "/*"
_SHAPE = lazy_pattern(r"ew_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)
_LONGEST_NAME = 200  # characters


class Permission(StrEnum):
    """What a key may do; each permission includes the ones before it."""

    READ = "read"
    WRITE = "write"  # add and correct
    ADMIN = "admin"  # also forget; with access to every space, also maintain the file

    def includes(self, other: Permission) -> bool:
        order = list(Permission)
        return order.index(self) >= order.index(other)


class ApiKey(Struct, frozen=True, kw_only=True):
    """A stored key, without its secret."""

    id: str
    name: str
    permission: Permission
    spaces: tuple[str, ...]  # names, "NAME/*" for all below one, or "*"
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def everywhere(self) -> bool:
        return EVERY_SPACE in self.spaces

    def opens(self, space: str) -> bool:
        return any(_covers(pattern, space) for pattern in self.spaces)

    def usable(self, now: datetime) -> bool:
        """Tell whether it is neither revoked nor expired at a time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class NewKey(Struct, frozen=True, kw_only=True):
    """A new key with its secret, which is shown only once."""

    key: ApiKey
    secret: str


class Presented(NamedTuple):
    """A key from a request, split into its parts."""

    id: str
    digest: bytes

    def matches(self, stored: bytes) -> bool:
        """Compare digests in constant time."""
        return hmac.compare_digest(self.digest, stored)


def new_secret() -> tuple[str, Presented]:
    """Make a secret, and the parts of it to store."""
    id, random = secrets.token_hex(4), secrets.token_urlsafe(32)
    return f"ew_{id}_{random}", Presented(id, _digest(random))


def presented(text: str) -> Presented | None:
    """Split a key from a request; None where the text is no key."""
    found = _SHAPE.fullmatch(text)
    return Presented(found[1], _digest(found[2])) if found else None


def checked_spaces(spaces: Iterable[str]) -> tuple[str, ...]:
    """Check the spaces that a new key opens."""
    given = tuple(dict.fromkeys([spaces] if isinstance(spaces, str) else spaces))
    if not given:
        raise InvalidInput("No spaces are given for the key.", fix="Name them, or give * for all.")
    for pattern in given:
        if not isinstance(pattern, str) or not pattern.strip() or "\x00" in pattern:
            raise InvalidInput(f"{pattern!r} is not a valid name of a space.")
        star = pattern.find("*")
        if star >= 0 and pattern != EVERY_SPACE and not (pattern.endswith(_BELOW) and star == len(pattern) - 1 > 1):
            raise InvalidInput(
                f"{pattern!r} is not a valid pattern.", fix='Use a star alone, or at the end as in "acme/*".'
            )
    return given


def checked_label(name: str) -> str:
    """Check the name of a key or webhook."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A name must have 1 to {_LONGEST_NAME} printable characters.")
    return name


def _covers(pattern: str, space: str) -> bool:
    if pattern == EVERY_SPACE:
        return True
    if pattern.endswith(_BELOW):
        # Including the slash: "acme/*" covers acme/ana, but neither acme itself nor acme-corp/ana.
        return space.startswith(pattern[:-1]) and len(space) > len(pattern) - 1
    return space == pattern


def _digest(random: str) -> bytes:
    return hashlib.sha256(random.encode("ascii")).digest()


NOW = "now"
_PLACE = lazy_pattern(r"([a-z_]{1,30})\.(\d{1,18})", re.ASCII)
_LONGEST_POSITION = 1_000  # characters

T = TypeVar("T")


class News(Struct, frozen=True, kw_only=True):
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


class Waiting(Struct, frozen=True, kw_only=True):
    """A waiting job."""

    id: int
    kind: str
    event_id: str | None
    attempts: int
    due_at: datetime
    error: str | None = None


class Webhook(Struct, frozen=True, kw_only=True):
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


class NewWebhook(Struct, frozen=True, kw_only=True):
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
