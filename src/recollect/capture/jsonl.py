"""Our own JSONL: a line an event, all of it; what `export` writes and `import` reads."""

from __future__ import annotations

import contextlib
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from recollect.core.errors import BadLocation, InvalidEvent
from recollect.core.values import Event, Json


def event_to_json(event: Event) -> dict[str, Json]:
    """Lay an event out as JSON; absent fields are left out."""
    fields: dict[str, Json] = {
        "id": event.id,
        "key": event.key,
        "space": event.space,
        "wing": event.wing,
        "session": event.session,
        "speaker": event.speaker,
        "role": event.role,
        "at": event.at.isoformat(),
        "recorded_at": event.recorded_at.isoformat(),
        "text": event.text,
        "meta": dict(event.meta) or None,
    }
    if not event.text.isascii() and any("\ud800" <= char <= "\udfff" for char in event.text):
        # JSON joins two surrogates that stand side by side; these bytes keep them apart.
        fields["text_bytes"] = b64encode(event.text.encode("utf-8", "surrogatepass")).decode("ascii")
    return {name: value for name, value in fields.items() if value is not None}


def write_events(path: Path, events: Iterable[Event]) -> int:
    """Write events to a new file, whole or not at all; count them."""
    if path.exists():
        raise BadLocation(f"{path} exists already; an export never overwrites. Choose another name.")
    partial = path.with_name(path.name + ".partial")
    count = 0
    try:
        # Line by line, and with lone surrogates escaped by JSON: what is read back is what was stored.
        with partial.open("w", encoding="ascii", newline="\n") as file:
            for event in events:
                file.write(json.dumps(event_to_json(event)) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error.strerror}).") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return count


def read_events(path: Path) -> Iterator[dict[str, Json]]:
    """Read a file line by line; a line that is not an event is refused with its number."""
    try:
        file = path.open(encoding="utf-8-sig", errors="strict")
    except (OSError, ValueError) as error:
        raise BadLocation(f"{path} can't be read ({error}).") from error
    with file:
        yield from _events(path, file)


def line_count(path: Path) -> int:
    """Count lines, for a progress bar; 0 where that can't be told."""
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except (OSError, ValueError):
        return 0


def _events(path: Path, file: IO[str]) -> Iterator[dict[str, Json]]:
    number = 0
    try:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            event = json.loads(line)
            if not isinstance(event, dict):
                raise InvalidEvent(f"{path}, line {number}: an event is a JSON object.")
            yield _with_exact_text(cast("dict[str, Json]", event))
    except UnicodeDecodeError as error:
        raise InvalidEvent(f"{path}, after line {number}: this is not UTF-8 ({error.reason}).") from error
    except (ValueError, RecursionError) as error:  # json refuses some numbers with a plain ValueError
        raise InvalidEvent(f"{path}, line {number}: this is not JSON ({error}).") from error


def _with_exact_text(event: dict[str, Json]) -> dict[str, Json]:
    exact = event.pop("text_bytes", None)
    if exact is not None:
        event["text"] = b64decode(exact).decode("utf-8", "surrogatepass")
    return event
