"""Times: read from anything a caller writes, kept with their zone, stored as whole microseconds.

A moment is stored as two integers: microseconds since 1970 in UTC, and the offset of its zone in seconds. Integers,
because `datetime.astimezone` overflows for the first and last hours of the years 1 to 9999 and floats lose digits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone

from recollect.core.errors import InvalidTime

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Spelled out: strftime follows the machine's language, and the same log must read the same everywhere.
_MONTHS = "January February March April May June July August September October November December".split()


def utc_now() -> datetime:
    """Tell the time of this machine, in UTC."""
    return datetime.now(UTC)


def as_datetime(value: datetime | date | str | int | float, field: str = "at") -> datetime:
    """Read a time in any accepted form; a naive one means UTC."""
    moment = _parsed(value, field)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    offset = moment.utcoffset()
    if offset is None or offset.microseconds:
        raise InvalidTime(f"{field}: the zone of {value!r} has no offset in whole seconds.")
    # A fixed offset instead of a zone's rules: what was said at 10:00+01:00 stays that when the rules change.
    return moment.replace(tzinfo=timezone(offset) if offset else UTC)


def later(moment: datetime, by: timedelta) -> datetime:
    """Add to a moment; the calendar's last one where it would lie beyond."""
    try:
        return moment + by
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def day_in_words(moment: date) -> str:
    """Write a day as people do: 8 May 2023."""
    return f"{moment.day} {month_in_words(moment)}"


def month_in_words(moment: date) -> str:
    """Write a month as people do: May 2023."""
    return f"{_MONTHS[moment.month - 1]} {moment.year}"


def to_micros(moment: datetime) -> tuple[int, int]:
    """Split a time into microseconds since 1970 in UTC and the offset of its zone in seconds."""
    offset = moment.utcoffset() or timedelta(0)
    local = moment.replace(tzinfo=None) - _EPOCH
    return (local - offset) // _MICROSECOND, int(offset.total_seconds())


def from_micros(micros: int, offset_s: int = 0) -> datetime:
    """Join what `to_micros` split."""
    try:
        if not offset_s:  # nearly always: lists of thousands are read this way
            return _EPOCH_UTC + timedelta(microseconds=micros)
        local = _EPOCH + timedelta(microseconds=micros, seconds=offset_s)
    except OverflowError:  # the first and last hours of the calendar, seen from another zone than their own
        local = datetime.min if micros < 0 else datetime.max
    return local.replace(tzinfo=timezone(timedelta(seconds=offset_s)) if offset_s else UTC)


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
        raise InvalidTime(f"{field}: {value!r} is not a time ({error}).", fix=InvalidTime.__doc__) from error
    raise InvalidTime(f"{field}: a time can't be made from {type(value).__name__}.", fix=InvalidTime.__doc__)
