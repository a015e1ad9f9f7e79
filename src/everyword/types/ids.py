"""Ids that are derived from content.

The same event gets the same id in every file and on every machine. Writing it again changes nothing, importing an
export changes nothing, and a rebuilt memory cites the same ids.
"""

from __future__ import annotations

import hashlib
import json

from everyword.lazy_patterns import lazy_pattern
from everyword.types.events import Event
from everyword.types.times import to_micros

EVENT_PREFIX = "ev_"
_EVENT_ID = lazy_pattern(rf"{EVENT_PREFIX}([0-9a-f]{{32}})")


def fingerprint(*parts: str | int | None) -> bytes:
    """Hash fields in order; None and the empty string differ, and the lengths keep fields apart."""
    framed = "".join("-" if part is None else f"{len(text := str(part))}:{text}" for part in parts)
    return hashlib.blake2b(framed.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def event_id(raw: bytes) -> str:
    """Encode 16 bytes as an event id."""
    return EVENT_PREFIX + raw.hex()


def raw_event_id(text: str) -> bytes | None:
    """Decode what `event_id` wrote; None for any other text."""
    match = _EVENT_ID.fullmatch(text)
    return bytes.fromhex(match[1]) if match else None


def content_hash(text: str, session: str | None, speaker: str | None, at: int) -> bytes:
    """Hash what makes two events equal: text, session, speaker and time in microseconds."""
    return fingerprint(text, session, speaker, at)


def content_of(event: Event) -> bytes:
    """Hash an event's content; for a record, also its kind and payload."""
    at = to_micros(event.at)[0]
    if event.record is None:
        return content_hash(event.text, event.session, event.speaker, at)
    payload = json.dumps(dict(event.meta), sort_keys=True, separators=(",", ":"))
    return fingerprint("record", event.record, event.text, event.wing, payload, at)


def identity_of(key: str | None, content: bytes) -> bytes:
    """Derive the raw id from the caller's key, or without one from the content."""
    if key is None:
        return hashlib.blake2b(content, digest_size=16, person=b"content").digest()
    return fingerprint("key", key)
