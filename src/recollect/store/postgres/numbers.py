"""Numbers that follow from names: a space's, and those of locks."""

from __future__ import annotations

import hashlib


def space_number(name: str) -> int:
    """Number a space by its name: the same on every server, so that a tenant can be moved as it is."""
    return _number(name.encode("utf-8", "surrogatepass"))


def lock_number(schema: str, what: str) -> int:
    """Number a lock; stores in one database differ by their schemas."""
    return _number(f"{schema}\x00{what}".encode("utf-8", "surrogatepass"))


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
