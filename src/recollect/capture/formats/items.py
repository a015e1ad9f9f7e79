"""What a format gives: events as `Memory.add_many` takes them, and all that it could not or would not read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

from recollect.capture.redaction import redact
from recollect.core.clock import as_datetime
from recollect.core.errors import InvalidTime
from recollect.core.settings import Settings
from recollect.core.values import Json

# Where reading can go on after an item: JSON, made and understood by the format alone. An empty one says nothing new:
# the last one that did stays good.
Position = Mapping[str, Json]

_SAMPLE_CHARS = 160  # of what was skipped, for the report: enough to recognise it, little enough for a line
_NAME_CHARS = 200  # of a session, speaker or wing: what is longer is no name, and is cut with a digest
_LABEL_CHARS = 1000  # of a title or file name beside the text
_MOST_LABELS = 100  # files, tags or headings of one event
_DIGEST_CHARS = 16  # 64 bits, to tell apart what one file holds
_EARLIEST_EPOCH, _LATEST_EPOCH = 1e8, 1e14  # 1973, so that "20240501" is no epoch, to the year 5138 in milliseconds
_MILLISECONDS = 1e11  # an epoch above this counts milliseconds: as seconds it would be the year 5138
_MOST_TEXT_BYTES = Settings().max_text_bytes
_UNFIT_FOR_NAMES = re.compile("[\x00-\x1f\ud800-\udfff]+")
_BLOB_CHARS = 2048  # characters without a space that no writing has: base64 of a picture or a file
_BLOB = re.compile(rf"(?:data:[\w.+/-]{{1,80}};base64,)?[A-Za-z0-9+/=_\r\n-]{{{_BLOB_CHARS},}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One event, and where to go on after it."""

    event: dict[str, Json]
    position: Position = field(default_factory=dict[str, Json])
    former_key: str | None = None  # what its key would have been once: an event of that key is this one


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that became no event: why, where it stands, and how it begins (secrets taken out)."""

    reason: str
    where: str
    sample: str = ""
    expected: bool = False  # the format says that no words are here; False: we did not understand it
    refused: bool = False  # understood, and never taken from outside: also a strict import goes on without it
    position: Position = field(default_factory=dict[str, Json])


Item = Read | Skipped

# Why an import leaves edits out: a file comes from anywhere, and who may edit is asked by the operation that edits.
AN_EDIT = "a record of an edit (identity, correction and the like), which only its own operation writes"


def an_edit(where: str, position: Position | None = None) -> Skipped:
    """Say that a record of an edit was left out."""
    return Skipped(reason=AN_EDIT, where=where, refused=True, position=position or {})


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
    """Make an event of what was said; what can't be one is skipped with the reason.

    source: which format and which ids it comes from, never a path of this machine. trusted_as: the event's source in
    the sense of core/trust.py, where its role does not tell. at: whatever the format wrote; where that is no time,
    `otherwise_at` counts, and the event says that its time is a guess.
    """
    if not text or text.isspace():
        return Skipped(reason="no text", where=where, expected=True)
    if len(text) * 4 > _MOST_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) > _MOST_TEXT_BYTES:
        return skipped(f"a text of more than {_MOST_TEXT_BYTES >> 20} MiB", where, text)
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
    """Keep meta to what labels are: a title of a megabyte would make the log refuse the event."""
    if isinstance(value, str):
        return value[:_LABEL_CHARS]
    return [_trimmed(one) for one in as_list(value)[:_MOST_LABELS]] if isinstance(value, list) else value


def skipped(reason: str, where: str, sample: object = "", *, expected: bool = False) -> Skipped:
    """Say that something was left out; the sample is cut, and holds no secret."""
    beginning = str(sample)[: _SAMPLE_CHARS * 4]
    return Skipped(reason=reason, where=where, sample=redact(beginning).text[:_SAMPLE_CHARS], expected=expected)


def placed(items: Iterable[Item], *, before: Position, after: Position) -> Iterator[Item]:
    """Give all of one record's items their positions; only after the last of them is the record done."""
    held: Item | None = None
    for one in items:
        if held is not None:
            yield replace(held, position=before)
        held = one
    if held is not None:
        yield replace(held, position=after)


def as_moment(value: Json) -> str | None:
    """Read a time as exports write it: ISO 8601, seconds or milliseconds since 1970; None where it is none."""
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
        return as_datetime(value).isoformat()
    except InvalidTime:
        return None


def as_name(value: Json) -> str | None:
    """Make a name that the log accepts; one that is too long keeps its beginning and a digest."""
    if value is None:
        return None
    name = _UNFIT_FOR_NAMES.sub(" ", str(value)).strip()
    if len(name) > _NAME_CHARS:
        name = f"{name[:_NAME_CHARS]}~{digest(name)}"
    return name or None


def digest(*parts: str | int | None) -> str:
    """Name what has no id of its own by what it says."""
    framed = "".join(f"{len(str(part))}:{part}" for part in parts)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def is_binary(text: str) -> bool:
    """Tell a picture or a file from writing."""
    head = text[: _BLOB_CHARS * 4]
    if head.count("\x00") + head.count("\ufffd") > len(head) // 10:
        return True
    return len(text) >= _BLOB_CHARS and not any(map(str.isspace, head[:_BLOB_CHARS])) and bool(_BLOB.fullmatch(text))


def day_of(moment: str | None) -> str:
    """Name the day of a time, as it was where it was written."""
    return moment[:10] if moment else "undated"


def from_epoch(seconds: float) -> datetime:
    """Read a file's time."""
    return datetime.fromtimestamp(int(seconds), UTC)


def as_dict(value: Json) -> dict[str, Json]:
    """Take an object of an export for what it should be; anything else counts as empty."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Take a list of an export for what it should be; anything else counts as empty."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Take a string of an export for what it should be; anything else counts as empty."""
    return value if isinstance(value, str) else ""


def as_json(value: Json) -> str:
    """Write what a tool was given or gave as one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def last_folder(path: Json) -> str | None:
    """Name the folder that work was done in, as either kind of system writes paths."""
    return re.split(r"[/\\]", as_text(path).rstrip("/\\"))[-1] or None
