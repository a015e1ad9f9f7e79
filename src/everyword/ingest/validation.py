"""Validate events from callers and prepare them for the store. Invalid input is rejected here, with a reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from everyword.errors import InvalidEvent, KeyConflict
from everyword.settings import Settings
from everyword.storage.postings import terms_of
from everyword.storage.rows import Draft
from everyword.text.terms import searchable_terms
from everyword.types.events import Event, Json, content_hash, event_id, identity_of
from everyword.types.times import Clock, as_datetime, to_micros
from everyword.types.trust import Source, source_of_role

if TYPE_CHECKING:
    from everyword.ingest.redaction.redact import Rules

_NAMES = ("key", "wing", "session", "speaker", "role")
_MAX_NESTING = 64  # levels of meta; JSON parsers fail at a thousand
# Fields that exports write and the memory assigns itself: accepted and ignored.
_GIVEN_BY_US = {"id", "space", "recorded_at"}
RECORD = "record"  # only records of edits have this field; callers can't set it
_FIELDS = {"text", "at", "meta", "source", *_NAMES, *_GIVEN_BY_US}


def drafts_of(
    given: Iterable[Event | Mapping[str, Json]],
    *,
    wing: str | None,
    clock: Clock,
    settings: Settings,
    rules: Rules,
    keep_recorded_at: bool = False,
) -> list[Draft]:
    """Validate and redact events and prepare them for the store; one invalid event rejects all."""
    drafts: list[Draft] = []
    for number, one in enumerate(given):
        try:
            draft = _draft(
                one, wing=wing, clock=clock, settings=settings, rules=rules, keep_recorded_at=keep_recorded_at
            )
            drafts.append(draft)
        except InvalidEvent as error:
            if number == 0 and isinstance(given, list | tuple) and len(given) == 1:
                raise
            raise InvalidEvent(f"Event {number}: {error.detail}", fix=error.fix) from error
    return drafts


def check_same(known: Event, draft: Draft, *, at_given: bool) -> None:
    """Reject the same key with different content; fields that the caller left out do not count."""
    given = draft.event
    differs = [
        name
        for name in ("text", "session", "speaker", "role")
        if (value := getattr(given, name)) is not None and value != getattr(known, name)
    ]
    if at_given and to_micros(given.at)[0] != to_micros(known.at)[0]:
        differs.append("at")
    if differs:
        raise KeyConflict(
            f"The key {given.key!r} is taken by {known.id}, whose {' and '.join(differs)} "
            f"{'is' if len(differs) == 1 else 'are'} other than given. Events never change; use another key."
        )


def check_wing(known: Event, draft: Draft) -> None:
    """Reject a known event for another wing: reporting it as known would lose it for that wing."""
    wing = draft.event.wing
    if wing is not None and wing != known.wing:
        there = "in no wing" if known.wing is None else f"in the wing {known.wing!r}"
        raise KeyConflict(
            f"The same event, {known.id}, is {there} already, and an event is in one wing.",
            fix=f"Give it a key of its own to have it in {wing!r} too.",
        )


def _draft(
    given: Event | Mapping[str, Json],
    *,
    wing: str | None,
    clock: Clock,
    settings: Settings,
    rules: Rules,
    keep_recorded_at: bool,
) -> Draft:
    fields = _fields(given)
    at = as_datetime(clock() if (said := fields.get("at")) is None else said)
    checked: dict[str, Json] = dict.fromkeys(_NAMES)
    checked |= {name: checked_name(name, value, settings) for name in _NAMES if (value := fields.get(name)) is not None}
    checked |= {"text": _text(fields.get("text"), settings), "meta": checked_meta(fields.get("meta"), settings)}
    from everyword.ingest.redaction.redact import redact_event  # imported here: reading needs no redaction

    clean, found = redact_event(checked, rules)
    clean["wing"] = _wing(clean["wing"], wing)
    moment = to_micros(at)
    content = content_hash(clean["text"], clean["session"], clean["speaker"], moment[0])
    raw_id = identity_of(clean["key"], content)
    source = _source(fields.get("source"), clean["role"]).value
    event = Event(**clean, id=event_id(raw_id), source=source, at=at, recorded_at=at)
    recorded_at = fields.get("recorded_at") if keep_recorded_at else None
    return Draft(
        event=event,
        raw_id=raw_id,
        content=content,
        moment=moment,
        terms=terms_of(searchable_terms(event)),
        recorded_at=None if recorded_at is None else to_micros(as_datetime(recorded_at, "recorded_at"))[0],
        redacted=Counter(one.kind for one in found) if found else {},
    )


def _fields(given: Event | Mapping[str, Json]) -> Mapping[str, Json]:
    if isinstance(given, Event):
        if given.record is not None:
            raise _edit_given()
        return {name: getattr(given, name) for name in ("text", "at", "meta", "recorded_at", "source", *_NAMES)}
    if not isinstance(given, Mapping):
        raise InvalidEvent(f"an event is a mapping or an Event, not {type(given).__name__}.")
    if RECORD in given:
        raise _edit_given()
    unknown = [str(name) for name in given if name not in _FIELDS]
    if unknown:
        raise InvalidEvent(
            f"unknown field {', '.join(map(repr, unknown))}.",
            fix=f"Known are {', '.join(sorted(_FIELDS))}; put anything else into meta.",
        )
    return given


def _edit_given() -> InvalidEvent:
    return InvalidEvent(
        "this is a record of an edit, and only its own operation writes one.",
        fix="Use identity(), correct(), retract(), intents.answer() or concepts.undo().",
    )


def _text(value: object, settings: Settings) -> str:
    if not isinstance(value, str):
        raise InvalidEvent(f"text must be a string, not {type(value).__name__}.")
    if not value or value.isspace():
        raise InvalidEvent("text is empty: there is nothing to remember.")
    size = len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if size > settings.max_text_bytes:
        raise InvalidEvent(
            f"text has {size:,} bytes, more than {settings.max_text_bytes:,}.",
            fix="Split it into several events. Whoever opens the memory can raise max_text_bytes.",
        )
    return value


def _source(value: object, role: str | None) -> Source:
    if value is None or value == "":
        return source_of_role(role)
    if not isinstance(value, str):
        raise InvalidEvent(f"source must be a string, not {type(value).__name__}.")
    try:
        return Source(value)
    except ValueError as error:
        raise InvalidEvent(f"source={value!r} is not known.", fix=f"Choose one of {', '.join(Source)}.") from error


def _wing(given: str | None, handle: str | None) -> str | None:
    if given is not None and handle is not None and given != handle:
        raise InvalidEvent(f"this handle writes to the wing {handle!r} alone, not to {given!r}; ask the memory itself.")
    return handle if given is None else given


def checked_name(field: str, value: object, settings: Settings) -> str:
    """Check the name of a space, wing, session or speaker, a role or a key."""
    if not isinstance(value, str):
        raise InvalidEvent(f"{field} must be a string, not {type(value).__name__}.")
    if not value or value.isspace():
        raise InvalidEvent(f"{field} is empty; leave it out instead.")
    if len(value) > settings.max_name_chars:
        raise InvalidEvent(f"{field} has {len(value):,} characters, more than {settings.max_name_chars:,}.")
    if "\x00" in value or (not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)):
        raise InvalidEvent(f"{field} has a NUL or a lone surrogate; names must be plain Unicode.")
    return value


def checked_meta(value: object, settings: Settings) -> Mapping[str, Json]:
    """Validate meta; return a copy that equals what will be read back."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidEvent("meta must be a mapping, such as {'source': 'mail'}.")
    if _deeper_than(cast(object, value), _MAX_NESTING):
        raise InvalidEvent(f"meta is nested deeper than {_MAX_NESTING} levels.")
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEvent(f"meta can't be written as JSON ({error}).") from error
    if len(text) > settings.max_meta_bytes:
        raise InvalidEvent(f"meta has {len(text):,} bytes as JSON, more than {settings.max_meta_bytes:,}.")
    kept: dict[str, Json] = json.loads(text)
    return kept


def _deeper_than(value: object, most: int) -> bool:
    given = cast("Mapping[object, object]", value).values() if isinstance(value, dict) else value
    inside = cast("Iterable[object]", given) if isinstance(value, dict | list | tuple) else ()
    return any(most == 1 or _deeper_than(one, most - 1) for one in inside)


def at_was_given(given: Event | Mapping[str, Json]) -> bool:
    """Check whether the caller gave a time; a guess, such as a file's modification time, does not count."""
    meta = given.meta if isinstance(given, Event) else given.get("meta")
    if isinstance(meta, Mapping) and cast("Mapping[str, Json]", meta).get("at_is_a_guess") is True:
        return False
    return isinstance(given, Event) or given.get("at") is not None
