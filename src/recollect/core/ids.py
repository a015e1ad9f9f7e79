"""Ids that follow from what they name.

The same event gets the same id in every file and on every machine, so that writing it again is a no-op, an import of an
export changes nothing, and a rebuilt memory cites the same ids.
"""

from __future__ import annotations

import hashlib

from recollect.core.clock import to_micros
from recollect.core.values import Event

EVENT_PREFIX = "ev_"
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u to misread
_DIGITS = 26  # enough for 128 bits


def fingerprint(*parts: str | int | None) -> bytes:
    """Hash fields in order; None and the empty string differ, and no two lists of fields run together."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if part is None:
            digest.update(b"-")
            continue
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


def event_id(raw: bytes) -> str:
    """Write 16 bytes as the id of an event."""
    number = int.from_bytes(raw)
    digits: list[str] = []
    for _ in range(_DIGITS):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return EVENT_PREFIX + "".join(reversed(digits))


def raw_event_id(text: str) -> bytes | None:
    """Read back what `event_id` wrote; None for anything else."""
    body = text.removeprefix(EVENT_PREFIX)
    if len(body) != _DIGITS or body == text:
        return None
    number = 0
    for char in body.lower():
        digit = _ALPHABET.find(char)
        if digit < 0:
            return None
        number = number * 32 + digit
    return number.to_bytes(17)[1:] if number < 1 << 128 else None


def content_of(event: Event) -> bytes:
    """Hash what makes two events the same: text, session, speaker and time."""
    return fingerprint(event.text, event.session, event.speaker, to_micros(event.at)[0])


def identity_of(event: Event, content: bytes) -> bytes:
    """Derive the raw id: from the caller's key where there is one, else from the content."""
    if event.key is not None:
        return fingerprint("key", event.key)
    return fingerprint("content", content.hex())
