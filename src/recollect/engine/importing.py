"""Importing: anything that a format reads becomes events, in batches, each a transaction.

Events carry keys that follow from their source, so that running an import again, after a crash or a year later, stores
only what is new. What can't be stored is counted with its reason, never dropped in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from recollect.capture.formats import Format, Skipped, Source, read
from recollect.capture.secrets import redact_event
from recollect.core.errors import InvalidEvent, KeyConflict
from recollect.core.values import Imported, Json
from recollect.engine.engine import Engine, Progress
from recollect.engine.write import write

BATCH = 256  # events a transaction: what a crash in mid-import repeats at most, and repeating is harmless
_SAMPLES = 5  # things not understood that are shown


@dataclass(slots=True)
class _Tally:
    read: int = 0
    added: int = 0
    differing: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])
    not_understood: list[str] = field(default_factory=list[str])
    redacted: Counter[str] = field(default_factory=Counter[str])


def import_source(
    engine: Engine, space: str, format: Format, source: Source, *, wing: str | None, redact: bool, progress: Progress
) -> Imported:
    """Store what a format reads of a source."""
    tally = _Tally()
    events = _events(format, source, tally, redact=redact)
    while batch := list(islice(events, BATCH)):
        _store(engine, space, batch, wing, tally)
        tally.read += len(batch)
        progress("events", tally.read, 0)
    return Imported(
        format=format.NAME,
        read=tally.read,
        added=tally.added,
        known=tally.read - tally.added - tally.differing - tally.skipped["it can't be stored"],
        differing=tally.differing,
        skipped=dict(tally.skipped),
        not_understood=tuple(tally.not_understood),
        redacted=dict(tally.redacted),
    )


def _events(format: Format, source: Source, tally: _Tally, *, redact: bool) -> Iterator[Mapping[str, Json]]:
    for _, item in read(format, source):
        if isinstance(item, Skipped):
            tally.skipped[item.reason] += 1
            if not item.expected and len(tally.not_understood) < _SAMPLES:
                tally.not_understood.append(f"{item.where}: {item.reason}: {item.sample}".rstrip(": "))
            continue
        if not redact:
            yield item.event
            continue
        clean, found = redact_event(item.event)
        tally.redacted.update(secret.kind for secret in found)
        yield clean


def _store(
    engine: Engine, space: str, batch: Sequence[Mapping[str, Json]], wing: str | None, tally: _Tally
) -> None:
    """Write a batch; where one of it is refused, each by itself, so that the others are not lost for it."""
    try:
        tally.added += write(engine, space, batch, wing=wing).added
    except (KeyConflict, InvalidEvent) as error:
        if len(batch) > 1:
            for event in batch:
                _store(engine, space, [event], wing, tally)
        elif isinstance(error, KeyConflict):
            tally.differing += 1  # it was edited, or redacted otherwise, since it was stored
        else:
            tally.skipped["it can't be stored"] += 1
            if len(tally.not_understood) < _SAMPLES:
                tally.not_understood.append(error.detail)
