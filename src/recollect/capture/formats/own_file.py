"""Another Recollect memory: all events of one space, each as it was stored; nothing is taken of what was derived.

Its edits are left out: a file may come from anybody, and an identity or a retraction in it is not this memory's. Who
wants a whole copy, edits and all, makes one with `backup` or `migrate`.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.capture.formats.items import Item, Position, Read, Skipped, an_edit
from recollect.capture.formats.sources import Source
from recollect.capture.jsonl import event_to_json
from recollect.core.errors import InvalidInput, StoreError
from recollect.core.values import Event, Json
from recollect.store.opening import is_memory, open_log

NAME = "memory"
GROWS = True

SPACE = "space"  # the note of a source that names the space to read, where the file has one of that name


def recognise(source: Source) -> float:
    """Tell a memory by the mark in its head."""
    return 0.98 if any(is_memory(source.head(name)) for name in parts(source)) else 0.0


def parts(source: Source) -> tuple[str, ...]:
    """Name the file; in a folder or zip, one of several memories would have to be chosen."""
    return source.names if source.kind == "file" else ()


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
                    yield Skipped(reason="not what was once stored", where=f"{part}, event {number}", position=position)
                else:
                    yield Read(event=_as_given(event), position=position)
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


def _as_given(event: Event) -> dict[str, Json]:
    given = event_to_json(event)
    given.pop("text_bytes", None)  # which JSON needs, and a file does not
    return given
