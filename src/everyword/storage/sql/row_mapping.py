"""Convert between database rows and events, filters and receipts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from everyword.storage.rows import Draft
from everyword.storage.sql.snapshot import Row
from everyword.storage.sql.tables import read_text
from everyword.types.events import Event, Filter, Json, Receipt, event_id, is_range
from everyword.types.records import BY
from everyword.types.times import as_datetime, from_micros, to_micros
from everyword.types.trust import source_of, source_of_role

_INDEXED_CHARS = 200  # of a name and of a value in meta; longer ones are looked for without an index


def event_values(space: int, draft: Draft, recorded_at: int, text: str | bytes) -> tuple[Any, ...]:
    """Lay an event out for `insert_event`; `text` is its text as the database can hold it."""
    event = draft.event
    return (
        space,
        draft.raw_id,
        draft.content,
        event.key,
        event.wing,
        event.session,
        event.speaker if event.record is None else None,
        event.role,
        *draft.moment,
        recorded_at,
        meta_json(event.meta) if event.meta else None,
        text,
        event.record,
        source_of(event),
    )


def event_of(space: str, row: Row) -> Event:
    """Read an event; columns as every query of events selects them."""
    raw_id, _, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source = row
    held: dict[str, Json] = json.loads(meta) if meta else {}
    return Event(
        id=event_id(raw_id),
        key=key,
        space=space,
        wing=wing,
        session=session,
        speaker=speaker if record is None else held.get(BY),  # the author of a record is its editor
        role=role,
        source=source or source_of_role(role),
        at=from_micros(at, at_offset),
        recorded_at=from_micros(recorded_at),
        meta=held,
        text=read_text(text),
        record=record,
    )


def meta_json(value: Json) -> str:
    """Write JSON so that equal values are equal text: filters compare it as such."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def indexed_meta(meta: Mapping[str, Json]) -> list[tuple[str, str, float | None]]:
    """List what of an event's meta filters find by an index: names, values, and these as numbers if they are."""
    found = [(meta_name(name), _indexed(value), _number(value)) for name, value in meta.items()]
    return [(name, value, number) for name, value, number in found if value is not None and len(name) <= _INDEXED_CHARS]


def meta_name(name: str) -> str:
    """Write a name as JSON does, less the quotes: without characters that a database can't hold."""
    return json.dumps(name)[1:-1]


def _indexed(value: Json) -> str | None:
    written = None if isinstance(value, Mapping | list | tuple) else meta_json(value)
    return written if written is not None and len(written) <= _INDEXED_CHARS else None


def _number(value: Json) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def conditions(which: Filter, query: Callable[[str], str], *, indexed: bool = True) -> tuple[str, dict[str, Any]]:
    """Write a filter as SQL conditions and their values; `indexed` looks values of meta up rather than in each row."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    for name in ("wing", "project", "session", "speaker", "tag"):
        if (value := getattr(which, name)) is not None:
            parts.append(query(f"where_{name}"))
            values[name] = value
    for name in ("since", "until", "as_of"):
        if (moment := getattr(which, name)) is not None:
            parts.append(query(f"where_{name}"))
            values[name] = to_micros(moment)[0]
    for name in ("role", "source"):
        if (chosen := getattr(which, name)) is not None:
            parts += _choice(name, chosen, query, values)
    for number, (name, value) in enumerate((which.meta or {}).items()):
        asked = in_index(name, value) if indexed or is_range(value) else None
        if asked is not None:
            how, given = query("where_in_meta").replace("{is}", query(asked[0])), asked[1]
        else:
            how, given = query("where_meta"), {"path": "$." + json.dumps(name), "value": meta_json(value)}
        parts.append(how.replace("_0", f"_{number}"))
        values |= {f"{one}_{number}": content for one, content in given.items()}
    return " ".join(parts), values


def in_index(name: str, value: Json) -> tuple[str, dict[str, Any]] | None:
    """Return the query name and values that look a member up in the index of meta, or None if the index can't."""
    written = meta_name(name)
    if is_range(value):
        least, most = _limits(cast("Mapping[str, float]", value))
        return "where_number", {"name": written, "least": least, "most": most}
    if len(written) <= _INDEXED_CHARS and (indexed := _indexed(value)) is not None:
        return "where_value", {"name": written, "value": indexed}
    return None


def _limits(wanted: Mapping[str, float]) -> tuple[float, float]:
    """Give the least and the greatest number within a range."""
    least = [math.nextafter(limit, math.inf) if how == "$gt" else limit for how, limit in wanted.items() if "$g" in how]
    most = [math.nextafter(limit, -math.inf) if how == "$lt" else limit for how, limit in wanted.items() if "$l" in how]
    return max(map(float, least), default=-math.inf), min(map(float, most), default=math.inf)


def _choice(name: str, chosen: Sequence[str], query: Callable[[str], str], values: dict[str, Any]) -> list[str]:
    """Write which values of a column count: those named, less those named with a "!"."""
    excluded = [one.removeprefix("!") for one in chosen if one.startswith("!")]
    included = [one for one in chosen if not one.startswith("!")]
    parts: list[str] = []
    for how, several in (("in", included), ("not_in", excluded)):
        if several:
            values[f"{name}_{how}"] = json.dumps(several)
            parts.append(query(f"where_{name}_{how}"))
    return parts


def names(gathered: str | Sequence[str]) -> tuple[str, ...]:
    """Put the names in order that a query gathered: as an array where the database has them, else as JSON."""
    found: Sequence[str | None] = json.loads(gathered) if isinstance(gathered, str) else gathered
    return tuple(sorted(name for name in found if name is not None))


def receipt_to_json(receipt: Receipt, seqs: Iterable[int]) -> str:
    """Write a receipt and the numbers of the events that went."""
    return json.dumps(
        {
            "at": receipt.at.isoformat(),
            "space": receipt.space,
            "seqs": _ranges(seqs),
            "removed": dict(receipt.removed),
        }
    )


def receipt_from_json(text: str, *, scrubbed: bool = False) -> Receipt:
    kept = json.loads(text)
    return Receipt(
        at=as_datetime(kept["at"]),
        space=kept["space"],
        dry_run=False,
        removed=kept["removed"],
        scrubbed=scrubbed,
    )


def seqs_from_json(text: str) -> list[int]:
    return [seq for first, last in json.loads(text)["seqs"] for seq in range(first, last + 1)]


def _ranges(seqs: Iterable[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for seq in sorted(seqs):
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return ranges
