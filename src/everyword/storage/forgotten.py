"""Recognise forgotten events when a file is imported again, without keeping anything that tells what was said.

An event's id is a hash of its content, or of its key, which may itself hold a hash of the text. Whoever holds the store
can try all 10,000 PINs against such a hash, and a salt beside it does not stop them. So a forgotten event leaves:

- a *tag*: 58 bits of a salted hash of its session, speaker and time, and 6 bits of a salted hash of its id. The first
  part tells nothing about the text. The second fits one text in 64: of 10,000 PINs about 156 remain, all alike.
- for events with a key, a second tag without the time: files without dates (transcripts, notes) give the time of the
  file, which changes when the file does.

The price: of *new* events that have the session, speaker and time of a forgotten one (where the file has no dates: its
session and speaker), an import takes one in 64 for the forgotten one and reports it as skipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from everyword.types.events import Event, fingerprint, raw_event_id
from everyword.types.times import to_micros

SALT = "salt"  # the name of the fact: 16 random bytes of this store, in hex
ID_BITS = 6
_ID_MASK = (1 << ID_BITS) - 1


class Identity(NamedTuple):
    """The columns that tell whether an event was imported (and forgotten) before."""

    session: str | None
    speaker: str | None
    at: int | None  # microseconds; None where the file does not say when it was
    raw_id: bytes


def tag_of(salt: bytes, space: str, identity: Identity) -> int:
    """Hash an identity into 64 bits, of which only the last few depend on the text."""
    place = _hash(salt, b"place", fingerprint(space, identity.session, identity.speaker, identity.at))
    return place & ~_ID_MASK | _hash(salt, b"id", fingerprint(space) + identity.raw_id) & _ID_MASK


def tags_of(salt: bytes, space: str, events: Iterable[Event]) -> set[int]:
    """Give the tags that forgotten events leave."""
    tags: set[int] = set()
    for event in events:
        raw_id = raw_event_id(event.id) or b""
        times = [to_micros(event.at)[0], *([] if event.key is None else [None])]
        tags.update(tag_of(salt, space, Identity(event.session, event.speaker, at, raw_id)) for at in times)
    return tags


def hashed_path(salt: bytes, space: str, path: str) -> str:
    """Hash the path of an imported file: it can be looked up by the path, and not read back."""
    return hashlib.blake2b(fingerprint(space, path), key=salt, digest_size=16, person=b"path").hexdigest()


def _hash(salt: bytes, purpose: bytes, content: bytes) -> int:
    digest = hashlib.blake2b(content, key=salt, digest_size=8, person=purpose).digest()
    return int.from_bytes(digest, "big", signed=True)
