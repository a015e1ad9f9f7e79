"""The items that importers yield, events and skipped entries, and helpers to build them from exported JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from msgspec import Struct, field

from everyword.errors import InvalidTime
from everyword.ingest.redaction.redact import redact
from everyword.settings import Settings
from everyword.types.events import Json
from everyword.types.times import as_datetime

# Where reading can resume after an item: JSON that only the format understands. An empty one means: as before.
Position = Mapping[str, Json]

_SAMPLE_CHARS = 160  # of a skipped entry, for the report: one line
_NAME_CHARS = 200  # of a session, speaker or wing; a longer one is cut and gets a digest
_UNREAD_TIME_CHARS = 40  # for the report
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


class Read(Struct, frozen=True, kw_only=True):
    """One event, and the position after it."""

    event: dict[str, Json]
    folder: str = ""  # where its session worked; its project's wing replaces the event's
    unread_time: str = ""  # the time as it is written, where it can't be read
    where: str = ""  # in its file, for the report
    position: Position = field(default_factory=dict[str, Json])


class Skipped(Struct, frozen=True, kw_only=True):
    """An entry that became no event: the reason, the place, and its beginning with secrets redacted."""

    reason: str
    sample: str = ""
    expected: bool = False  # known to hold no text; False: the entry was not understood
    where: str = ""  # in its file
    position: Position = field(default_factory=dict[str, Json])


Item = Read | Skipped

# Imports skip edits: a file may come from anybody, and only the editing operation checks who may edit.
AN_EDIT = Skipped(reason="a record of an edit (identity, correction and the like), which is never imported")


def item(
    text: str,
    *,
    key: str,
    at: Json = None,
    session: str | None = None,
    speaker: str | None = None,
    role: str | None = None,
    trusted_as: str | None = None,
    wing: str | None = None,
    folder: Json = None,
    source: Mapping[str, Json] | None = None,
    meta: Mapping[str, Json] | None = None,
) -> Item:
    """Build an event, or a Skipped with the reason; `Format.read` completes key, source and time.

    source: the ids that it comes from, never a path of this machine. trusted_as: the event's source in the sense of
    types/trust.py, if its role does not decide that. folder: a path, where the wing is the project of a folder. at: the
    time as the format writes it; if it is invalid, the file's time is used and the event marks its time as a guess.
    """
    if not text or text.isspace():
        return left_out("no text")
    if len(text) * 4 > _MAX_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) > _MAX_TEXT_BYTES:
        return skipped(f"a text of more than {_MAX_TEXT_BYTES >> 20} MiB", text)
    if is_binary(text):
        return skipped("binary, not text", text, expected=True)
    moment = as_moment(at)
    unread_time = "" if moment or at is None else redact(str(at)[:_SAMPLE_CHARS]).text[:_UNREAD_TIME_CHARS].strip()
    more = {name: _trimmed(value) for name, value in (meta or {}).items() if value not in (None, "", [], {})}
    if moment is None:
        more["at_is_a_guess"] = True
    fields: dict[str, Json] = {
        "text": text,
        "key": key,
        "at": moment,
        "session": as_name(session),
        "speaker": as_name(speaker),
        "role": as_name(role),
        "source": trusted_as,
        "wing": as_name(wing or last_folder(folder)),
        "meta": {"source": {name: _trimmed(one) for name, one in (source or {}).items() if one is not None}, **more},
    }
    event = {name: value for name, value in fields.items() if value is not None}
    return Read(event=event, folder=folder if isinstance(folder, str) else "", unread_time=unread_time)


def _trimmed(value: Json) -> Json:
    """Shorten a meta value: a title of a megabyte would make the event invalid."""
    if isinstance(value, str):
        return value[:_LABEL_CHARS]
    return [_trimmed(one) for one in as_list(value)[:_MAX_LABELS]] if isinstance(value, list) else value


def skipped(reason: str, sample: object = "", *, where: str = "", expected: bool = False) -> Skipped:
    """Report a skipped entry, with a short redacted sample."""
    beginning = (as_json(sample) if isinstance(sample, dict | list) else str(sample))[: _SAMPLE_CHARS * 4]
    return Skipped(reason=reason, sample=redact(beginning).text[:_SAMPLE_CHARS], where=where, expected=expected)


def left_out(reason: str) -> Skipped:
    """Report an entry that is known to be none of what people or programs said."""
    return Skipped(reason=reason, expected=True)


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
    words = " ".join(title.split()) if isinstance(title, str) else ""
    return f"{words[:_TITLE_CHARS]} ({id[-_ID_CHARS:]})" if words and id else words or id


def digest(*parts: str | int | None) -> str:
    """Derive an id from content that has none."""
    framed = "".join(f"{len(str(part))}:{part}" for part in parts)
    return hashlib.sha256(framed.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


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
    return datetime.fromtimestamp(int(seconds), UTC)


class Record(dict[str, Json]):
    """An object of JSON whose members may be of any kind."""

    def text(self, *names: str) -> str:
        """The first of these members that is a string and not empty."""
        return next((text for name in names if isinstance(text := self.get(name), str) and text), "")

    def inner(self, name: str) -> Record:
        """A member that is an object; anything else becomes an empty one."""
        return as_record(self.get(name))

    def each(self, name: str) -> list[Record]:
        """The elements of a member that is a list, as objects."""
        return [as_record(one) for one in as_list(self.get(name))]


def as_record(value: Json) -> Record:
    """Return an object; anything else becomes an empty one."""
    return Record(cast("dict[str, Json]", value)) if isinstance(value, dict) else Record()


def as_list(value: Json) -> list[Json]:
    """Return a list; anything else becomes an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def joined_text(content: Json, separator: str = "\n") -> str:
    """The text of a message: a string, or a list of strings and of parts with a `text`; pictures have none."""
    if isinstance(content, str):
        return content
    pieces = [one if isinstance(one, str) else as_record(one).text("text") for one in as_list(content)]
    return separator.join(piece for piece in pieces if piece)


def called(name: Json, arguments: Json) -> str:
    return f"{name or ''} {arguments if isinstance(arguments, str) else as_json(arguments)}"


def tool_item(block: Record, *, key: str, meta: Mapping[str, Json], **shared: Json) -> Item:
    """Build the event of a tool's call or result, as a part of a message of Anthropic's."""
    calls, name = block.get("type") == "tool_use", block.get("name")
    text = called(name, as_json(block.get("input"))) if calls else joined_text(block.get("content"))
    speaker = "assistant" if calls else "tool"
    return item(text, key=key, role="tool", speaker=speaker, meta={**meta, "tool": name}, **shared)


def mail_moment(date: str) -> str | None:
    """Write a time in ISO 8601, from that or from a date as mails have it; None if it is invalid."""
    try:
        return as_moment(date) or parsedate_to_datetime(date).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def last_folder(path: Json) -> str | None:
    """The last component of a POSIX or Windows path."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or None if isinstance(path, str) else None
