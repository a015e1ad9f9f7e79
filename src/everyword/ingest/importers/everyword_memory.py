"""Another Everyword memory: the events of one space as they were stored, without anything derived.

Edits are skipped: a file may come from anybody, and its identities and retractions are not this memory's. `backup` and
`migrate` make a complete copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from everyword.errors import InvalidInput, StoreError
from everyword.ingest.importers.records import Item, Position, Read, Skipped, an_edit
from everyword.ingest.importers.sources import Source
from everyword.storage.opening import is_memory, open_log
from everyword.types.events import Event, Json
from everyword.types.serialization import event_to_json

NAME = "memory"
GROWS = True
SUFFIXES = ()  # any

SPACE = "space"  # key in Source.notes: the space to read, if the file has it


def recognise(source: Source, part: str) -> float:
    """Recognise a memory by the magic bytes of its header; it has to be imported by itself."""
    return 0.98 if source.kind == "file" and is_memory(source.head(part)) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read event by event, in the order of arrival."""
    seq = (after or {}).get("seq", 0)
    try:
        with open_log(source.local(part)) as log:
            counts = log.spaces()
            space = _chosen(part, counts, source.notes.get(SPACE))
            for other in counts.keys() - {space}:
                yield Skipped(reason=f"space {other} of that memory", where=part, expected=True)
            for number, event in log.events(space, after=seq if isinstance(seq, int) else 0):
                position = {"seq": number}
                if event is not None and event.record is not None:
                    yield an_edit(f"{part}, event {number}", position)
                elif event is None:
                    yield Skipped(reason="altered content", where=f"{part}, event {number}", position=position)
                else:
                    yield Read(event=_event_fields(event), position=position)
    except StoreError as error:
        raise InvalidInput(f"{part} can't be read as a memory: {error.detail}", fix=error.fix) from error


def _chosen(part: str, counts: dict[str, int], wanted: Json) -> str:
    if wanted in counts or not counts:
        return str(wanted)
    if len(counts) > 1:
        raise InvalidInput(
            f"{part} holds {len(counts)} spaces, and none is called {wanted}.",
            fix=f"Name one of them with --space: {', '.join(sorted(counts)[:10])}.",
        )
    return next(iter(counts))


def _event_fields(event: Event) -> dict[str, Json]:
    fields = event_to_json(event)
    fields.pop("text_bytes", None)  # only JSON needs it
    return fields
