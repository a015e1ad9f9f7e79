"""Keys of the service: what one opens, how it is made, and how it is known again without being kept.

A key is `rk_`, eight characters that name it, and 256 random bits. Only the SHA-256 of those bits is stored: a slow
hash protects what people choose and others guess, and nobody guesses 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from recollect.core.errors import InvalidInput

EVERY_SPACE = "*"
_BELOW = "/*"
_SHAPE = re.compile(r"rk_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)
_LONGEST_NAME = 200  # characters; it is a label in a list


class Permission(StrEnum):
    """What a key may do; each includes those before it."""

    READ = "read"
    WRITE = "write"  # add and put right
    ADMIN = "admin"  # also forget; over every space: also look after the file

    def includes(self, other: Permission) -> bool:
        """Tell whether what needs `other` is allowed."""
        order = list(Permission)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is stored: never the key itself."""

    id: str
    name: str
    permission: Permission
    spaces: tuple[str, ...]  # names, "NAME/*" for all below one, or "*"
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def everywhere(self) -> bool:
        """Tell whether it opens every space."""
        return EVERY_SPACE in self.spaces

    def opens(self, space: str) -> bool:
        """Tell whether it opens a space."""
        return any(_covers(pattern, space) for pattern in self.spaces)

    def usable(self, now: datetime) -> bool:
        """Tell whether it counts at a time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made; the only time that it is shown."""

    key: ApiKey
    secret: str


class Presented(NamedTuple):
    """A key that somebody sent, taken apart."""

    id: str
    digest: bytes

    def matches(self, stored: bytes) -> bool:
        """Compare, in a time that tells nothing."""
        return hmac.compare_digest(self.digest, stored)


def new_secret() -> tuple[str, Presented]:
    """Make a key, and what is to be stored of it."""
    id, random = secrets.token_hex(4), secrets.token_urlsafe(32)
    return f"rk_{id}_{random}", Presented(id, _digest(random))


def presented(text: str) -> Presented | None:
    """Take apart what somebody sent; None where it is no key at all."""
    found = _SHAPE.fullmatch(text)
    return Presented(found[1], _digest(found[2])) if found else None


def checked_spaces(spaces: Iterable[str]) -> tuple[str, ...]:
    """Check which spaces a key is to open."""
    given = tuple(dict.fromkeys([spaces] if isinstance(spaces, str) else spaces))
    if not given:
        raise InvalidInput("Say which spaces the key opens.", fix="Name them, or give * for all.")
    for pattern in given:
        if not isinstance(pattern, str) or not pattern.strip() or "\x00" in pattern:
            raise InvalidInput(f"{pattern!r} is not the name of a space.")
        star = pattern.find("*")
        if star >= 0 and pattern != EVERY_SPACE and not (pattern.endswith(_BELOW) and star == len(pattern) - 1 > 1):
            raise InvalidInput(
                f"{pattern!r} can't be told from a name.", fix='A star stands alone, or at the end as in "acme/*".'
            )
    return given


def checked_label(name: str) -> str:
    """Check what a key or a webhook is called."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"A name has 1 to {_LONGEST_NAME} printable characters.")
    return name


def checked_permission(permission: str) -> Permission:
    """Check what a key may do."""
    try:
        return Permission(permission)
    except ValueError as error:
        raise InvalidInput(
            f"{permission!r} is not known.", fix=f"Choose one of {', '.join(one.value for one in Permission)}."
        ) from error


def _covers(pattern: str, space: str) -> bool:
    if pattern == EVERY_SPACE:
        return True
    if pattern.endswith(_BELOW):
        # With its slash: "acme/*" is for acme/ana, neither for acme itself nor for acme-corp/ana.
        return space.startswith(pattern[:-1]) and len(space) > len(pattern) - 1
    return space == pattern


def _digest(random: str) -> bytes:
    return hashlib.sha256(random.encode("ascii")).digest()
