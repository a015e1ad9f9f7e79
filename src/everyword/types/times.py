"""Parse times in any accepted form, and convert them to and from stored integers.

A time is stored as microseconds since 1970 in UTC and the offset of its zone in seconds. Integers are used because
`datetime.astimezone` overflows in the first and last hours of the years 1 to 9999, and floats lose digits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from everyword.errors import InvalidTime

Clock = Callable[[], datetime]
Zone = tzinfo | None  # None: this machine's
LOCAL = "local"

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIX = "Write it in ISO 8601, for example 2026-04-02T10:00:00+01:00."
# strftime would follow the machine's language, and the same log must read the same everywhere.
_MONTHS = "January February March April May June July August September October November December".split()


def utc_now() -> datetime:
    return datetime.now(UTC)


def as_datetime(value: datetime | date | str | int | float, field: str = "at") -> datetime:
    """Parse a time in any accepted form; without a zone it is UTC."""
    moment = _parsed(value, field)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    offset = moment.utcoffset()
    if offset is None or offset.microseconds:
        raise InvalidTime(f"{field}: the zone offset of {value!r} is not in whole seconds.")
    # Keep a fixed offset instead of the zone: its rules may change, a past 10:00+01:00 may not.
    return moment.replace(tzinfo=timezone(offset) if offset else UTC)


def zone_of(name: str) -> Zone:
    """Find a time zone: "local" for this machine's, an offset such as +02:00, or a name such as Europe/Lisbon."""
    if name == LOCAL:
        return None
    try:
        if name[:1] in ("+", "-"):
            return datetime.fromisoformat(f"2000-01-01T00:00{name}").tzinfo
        return UTC if name.upper() in ("UTC", "Z") else ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise InvalidTime(
            f"Unknown time zone {name[:80]!r}.",
            fix="Name one such as Europe/Lisbon, +02:00, UTC or local. On Windows: pip install tzdata.",
        ) from error


def in_zone(moment: datetime, zone: Zone) -> datetime:
    """Read a time that names no zone in this one; others stay as they are."""
    if moment.tzinfo is not None:
        return moment
    try:
        return as_datetime(moment.astimezone() if zone is None else moment.replace(tzinfo=zone))
    except (OverflowError, OSError):  # the first and last day of the calendar
        return moment.replace(tzinfo=UTC)


def shown_in(moment: datetime, zone: Zone) -> datetime:
    """Convert a time to a zone."""
    try:
        return moment.astimezone(zone)
    except (OverflowError, OSError):
        return moment


def later(moment: datetime, by: timedelta) -> datetime:
    """Add a duration; return the last possible time where the sum is beyond it."""
    try:
        return moment + by
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def day_in_words(moment: date) -> str:
    return f"{moment.day} {month_in_words(moment)}"


def month_in_words(moment: date) -> str:
    return f"{_MONTHS[moment.month - 1]} {moment.year}"


def to_micros(moment: datetime) -> tuple[int, int]:
    """Split a time into microseconds since 1970 in UTC and the offset of its zone in seconds."""
    offset = moment.utcoffset() or timedelta(0)
    local = moment.replace(tzinfo=None) - _EPOCH
    return (local - offset) // _MICROSECOND, int(offset.total_seconds())


def from_micros(micros: int, offset_s: int = 0) -> datetime:
    try:
        if not offset_s:  # the usual case, kept fast
            return _EPOCH_UTC + timedelta(microseconds=micros)
        local = _EPOCH + timedelta(microseconds=micros, seconds=offset_s)
    except OverflowError:  # the first or last hours of the calendar in another zone
        local = datetime.min if micros < 0 else datetime.max
    return local.replace(tzinfo=timezone(timedelta(seconds=offset_s)) if offset_s else UTC)


def optional_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)[0]


def optional_moment(micros: int | None, offset_s: int = 0) -> datetime | None:
    return None if micros is None else from_micros(micros, offset_s)


def _parsed(value: object, field: str) -> datetime:
    try:
        if isinstance(value, datetime):
            return value
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day)
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidTime(f"{field}: {value!r} is not a time ({error}).", fix=_FIX) from error
    raise InvalidTime(f"{field}: a {type(value).__name__} is not a time.", fix=_FIX)
