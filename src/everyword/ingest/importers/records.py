"""The items that importers yield, events and skipped entries, and helpers to build them from exported JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

from everyword.errors import InvalidTime
from everyword.ingest.redaction.redact import redact
from everyword.settings import Settings
from everyword.types.events import Json
from everyword.types.times import as_datetime

# Where reading can resume after an item: JSON that only the format understands. An empty one means: as before.
Position = Mapping[str, Json]

_SAMPLE_CHARS = 160  # of a skipped entry, for the report: one line
_NAME_CHARS = 200  # of a session, speaker or wing; a longer one is cut and gets a digest
_LABEL_CHARS = 1000  # of a title or file name beside the text
_TITLE_CHARS, _ID_CHARS = 80, 6  # of the title and the id in a session's name
_MAX_LABELS = 100  # files, tags or headings of one event
_DIGEST_CHARS = 16  # 64 bits, enough within one file
_EARLIEST_EPOCH, _LATEST_EPOCH = 1e8, 1e14  # 1973, so that "20240501" is not one, to 5138 in milliseconds
_MILLISECONDS = 1e11  # a larger epoch counts milliseconds: in seconds it would be the year 5138
_MAX_TEXT_BYTES = Settings().max_text_bytes
_INVALID_IN_NAMES = re.compile("[\x00-\x1f\ud800-\udfff]+")
_BLOB_CHARS = 2048  # so many characters without a space are base64, not text
_BLOB = re.compile(rf"(?:data:[\w.+/-]{{1,80}};base64,)?[A-Za-z0-9+/=_\r\n-]{{{_BLOB_CHARS},}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One event, and the position after it."""

    event: dict[str, Json]
    position: Position = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An entry that became no event: the reason, the place, and its beginning with secrets redacted."""

    reason: str
    where: str
    sample: str = ""
    expected: bool = False  # known to hold no text; False: the entry was not understood
    position: Position = field(default_factory=dict[str, Json])


Item = Read | Skipped

# Imports skip edits: a file may come from anybody, and only the editing operation checks who may edit.
AN_EDIT = "a record of an edit (identity, correction and the like), which is never imported"


def an_edit(where: str, position: Position | None = None) -> Skipped:
    """Report a skipped record of an edit."""
    return Skipped(reason=AN_EDIT, where=where, position=position or {})


def item(
    text: str,
    *,
    key: str,
    where: str,
    source: Mapping[str, Json],
    at: Json = None,
    otherwise_at: datetime | None = None,
    session: str | None = None,
    speaker: str | None = None,
    role: str | None = None,
    trusted_as: str | None = None,
    wing: str | None = None,
    meta: Mapping[str, Json] | None = None,
) -> Item:
    """Build an event, or a Skipped with the reason.

    source: the format and ids that it comes from, never a path of this machine. trusted_as: the event's source in the
    sense of types/trust.py, if its role does not decide that. at: the time as the format writes it; if it is invalid,
    `otherwise_at` is used and the event marks its time as a guess.
    """
    if not text or text.isspace():
        return Skipped(reason="no text", where=where, expected=True)
    if len(text) * 4 > _MAX_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) > _MAX_TEXT_BYTES:
        return skipped(f"a text of more than {_MAX_TEXT_BYTES >> 20} MiB", where, text)
    if is_binary(text):
        return skipped("binary, not text", where, text, expected=True)
    moment = as_moment(at)
    more = {name: _trimmed(value) for name, value in (meta or {}).items() if value not in (None, "", [], {})}
    if moment is None:
        more["at_is_a_guess"] = True
        moment = otherwise_at.isoformat() if otherwise_at else None
    fields: dict[str, Json] = {
        "text": text,
        "key": as_name(key),
        "at": moment,
        "session": as_name(session),
        "speaker": as_name(speaker),
        "role": as_name(role),
        "source": trusted_as,
        "wing": as_name(wing),
        "meta": {"source": {name: _trimmed(value) for name, value in source.items() if value is not None}, **more},
    }
    return Read(event={name: value for name, value in fields.items() if value is not None})


def _trimmed(value: Json) -> Json:
    """Shorten a meta value: a title of a megabyte would make the event invalid."""
    if isinstance(value, str):
        return value[:_LABEL_CHARS]
    return [_trimmed(one) for one in as_list(value)[:_MAX_LABELS]] if isinstance(value, list) else value


def skipped(reason: str, where: str, sample: object = "", *, expected: bool = False) -> Skipped:
    """Report a skipped entry, with a short redacted sample."""
    beginning = (as_json(sample) if isinstance(sample, dict | list) else str(sample))[: _SAMPLE_CHARS * 4]
    return Skipped(reason=reason, where=where, sample=redact(beginning).text[:_SAMPLE_CHARS], expected=expected)


def placed(items: Iterable[Item], *, before: Position, after: Position) -> Iterator[Item]:
    """Give the items of one record their positions: `after` for the last one, `before` for all others."""
    held: Item | None = None
    for one in items:
        if held is not None:
            yield replace(held, position=before)
        held = one
    if held is not None:
        yield replace(held, position=after)


def unread(items: Iterable[Item], after: Position | None) -> Iterator[Item]:
    """Number the items of a file that is always read whole, and leave out those that an earlier import read."""
    done = int((after or {}).get("item", 0))
    for number, one in enumerate(items, 1):
        if number > done:
            yield replace(one, position={"item": number})


def as_moment(value: Json) -> str | None:
    """Write a time in ISO 8601, from that or from seconds or milliseconds since 1970; None if it is invalid.

    A time without a zone stays without one: the import knows the zone.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    except ValueError:
        return _as_iso(value)
    if not _EARLIEST_EPOCH < seconds < _LATEST_EPOCH:
        return None
    return _as_iso(seconds / 1000 if seconds > _MILLISECONDS else seconds)


def _as_iso(value: str | float) -> str | None:
    try:
        moment = as_datetime(value)
        named = not isinstance(value, str) or datetime.fromisoformat(value.strip()).tzinfo
        return (moment if named else moment.replace(tzinfo=None)).isoformat()
    except InvalidTime:
        return None


def as_name(value: Json) -> str | None:
    """Make a valid name; a long one is cut and gets a digest."""
    if value is None:
        return None
    name = _INVALID_IN_NAMES.sub(" ", str(value)).strip()
    if len(name) > _NAME_CHARS:
        name = f"{name[:_NAME_CHARS]}~{digest(name)}"
    return name or None


def titled(title: Json, id: str) -> str:
    """Name a session by its title; the end of its id tells it from others of the same title."""
    words = " ".join(as_text(title).split())
    return f"{words[:_TITLE_CHARS]} ({id[-_ID_CHARS:]})" if words and id else words or id


def digest(*parts: str | int | None) -> str:
    """Derive an id from content that has none."""
    framed = "".join(f"{len(str(part))}:{part}" for part in parts)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def repeated(name: str, seen: Counter[str]) -> str:
    """Tell the same content apart where it comes again, by how often it came before."""
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}:{seen[name]}"


def is_binary(text: str) -> bool:
    """Check whether a text is binary data or base64."""
    head = text[: _BLOB_CHARS * 4]
    if head.count("\x00") + head.count("\ufffd") > len(head) // 10:
        return True
    return len(text) >= _BLOB_CHARS and not any(map(str.isspace, head[:_BLOB_CHARS])) and bool(_BLOB.fullmatch(text))


def day_of(moment: str | None) -> str:
    """The day of an ISO time, in its own time zone."""
    return moment[:10] if moment else "undated"


def from_epoch(seconds: float) -> datetime:
    """Convert seconds since 1970."""
    return datetime.fromtimestamp(int(seconds), UTC)


def as_dict(value: Json) -> dict[str, Json]:
    """Return an object; anything else becomes an empty one."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return a list; anything else becomes an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Return a string; anything else becomes an empty one."""
    return value if isinstance(value, str) else ""


def as_json(value: Json) -> str:
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def last_folder(path: Json) -> str | None:
    """The last component of a POSIX or Windows path."""
    return re.split(r"[/\\]", as_text(path).rstrip("/\\"))[-1] or None
