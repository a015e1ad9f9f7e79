"""Our own JSONL: a line an event, all of it; what `export` writes and `import` reads (formats/own_jsonl.py)."""

from __future__ import annotations

import contextlib
import json
import os
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

from recollect.core.errors import BadLocation
from recollect.core.paths import beside
from recollect.core.private import private_opener
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
        "source": event.source or None,
        "at": event.at.isoformat(),
        "recorded_at": event.recorded_at.isoformat(),
        "text": event.text,
        "meta": dict(event.meta) or None,
        "record": event.record,
    }
    if not event.text.isascii() and any("\ud800" <= char <= "\udfff" for char in event.text):
        # JSON joins two surrogates that stand side by side; these bytes keep them apart.
        fields["text_bytes"] = b64encode(event.text.encode("utf-8", "surrogatepass")).decode("ascii")
    return {name: value for name, value in fields.items() if value is not None}


def write_events(path: Path, events: Iterable[Event]) -> int:
    """Write events to a new file, whole or not at all; count them."""
    if path.exists():
        raise BadLocation(f"{path} exists already; an export never overwrites. Choose another name.")
    partial = beside(path)
    count = 0
    try:
        # Line by line, and with lone surrogates escaped by JSON: what is read back is what was stored.
        with open(partial, "w", encoding="ascii", newline="\n", opener=private_opener) as file:
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
