"""GitHub Copilot CLI: one log of events per session (`~/.copilot/session-state/ID/events.jsonl`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from everyword.ingest.importers.records import Item, Position, as_dict, as_text, item, last_folder, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, each_json_line
from everyword.types.events import Json

NAME = "copilot-cli"
GROWS = True
SUFFIXES = (".jsonl",)

_ROLES = {"user.message": "user", "assistant.message": "assistant"}
_SIGNS = (b'"session.start"', b'"copilot-agent"')


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    first = source.head(part).split(b"\n", 1)[0]
    return 0.95 if all(sign in first for sign in _SIGNS) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read the messages of the user and the agent."""
    session, wing = _session_of(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        kind, data = as_text(line.get("type")), as_dict(line.get("data"))
        where = f"{part}, line {place.number}"
        text = as_text(data.get("content"))
        role = _ROLES.get(kind)
        if role is None or not text.strip():
            yield skipped(f"{kind or 'no type'}: not a message", where, expected=True)
            return
        yield item(
            text,
            key=f"{NAME}:{session}:{as_text(line.get('id')) or place.number}",
            where=where,
            source={"format": NAME, "session": session, "line": place.number},
            at=line.get("timestamp"),
            session=session,
            wing=wing,
            role=role,
            speaker=role,
        )

    return each_json_line(source, part, after, items_of)


def _session_of(source: Source, part: str) -> tuple[str, str | None]:
    """Read the session's id and folder from the first line."""
    try:
        data = as_dict(as_dict(json.loads(source.head(part).split(b"\n", 1)[0])).get("data"))
    except (ValueError, RecursionError):
        data = {}
    path = PurePosixPath(part)
    named = path.parent.name if path.stem == "events" else path.stem
    return as_text(data.get("sessionId")) or named, last_folder(as_dict(data.get("context")).get("cwd"))
