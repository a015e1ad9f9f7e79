"""Gemini CLI: one chat per session, as JSON (`chats/session-....json`) or, in newer versions, as JSONL.

In JSONL a message is written again whenever it changes, as when a tool returns: its last version counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from everyword.ingest.importers.records import Item, Position, as_dict, as_json, as_list, as_text, item, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import JsonStream, Line, each_json_line, each_json_value, lines
from everyword.types.events import Json

NAME = "gemini-cli"
GROWS = True
SUFFIXES = (".json", ".jsonl")

_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}
_NOTICES = {"info", "error", "warning"}
_HASH = re.compile(r"[0-9a-f]{64}")
_MESSAGE_ID = re.compile(rb'^\s*\{\s*"id"\s*:\s*"([^"]{1,100})"')


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    head = source.head(part)[:4096]
    return 0.95 if b'"sessionId"' in head and b'"projectHash"' in head else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages, tool calls and tool results."""
    if not part.lower().endswith(".jsonl"):
        return _read_whole(source, part, after)
    session = _session(source, part)
    wing = _wing(part)
    last = _last_versions(source, part)

    def items_of(record: dict[str, Json], line: Line) -> Iterator[Item]:
        where = f"{part}, line {line.number}"
        if "id" in record and "type" in record:
            if last.get(as_text(record["id"]), line.number) > line.number:
                yield skipped("rewritten by a later line", where, expected=True)
            else:
                yield from _message(record, session, wing, where)
        elif "$set" in record or "$rewindTo" in record or "projectHash" in record:
            yield skipped("session metadata", where, expected=True)
        else:
            yield skipped("unknown kind of line", where, record)

    return each_json_line(source, part, after, items_of)


def _read_whole(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    session, wing = _session(source, part), _wing(part)

    def items_of(value: Json, number: int) -> Iterator[Item]:
        return _message(as_dict(value), session, wing, f"{part}, message {number + 1}")

    return each_json_value(source, part, after, items_of, _messages)


def _messages(stream: JsonStream) -> Iterator[Json]:
    for name in stream.members():
        if name == "messages" and stream.kind() == "[":
            for _ in stream.elements():
                yield stream.value()
        else:
            stream.value()


def _session(source: Source, part: str) -> str:
    found = re.search(rb'"sessionId"\s*:\s*"([^"]{1,100})"', source.head(part))
    return found[1].decode("utf-8", "replace") if found else PurePosixPath(part).stem


def _wing(part: str) -> str | None:
    """The project: the folder that holds `chats`, unless its name is a hash."""
    folders = PurePosixPath(part).parts
    before = folders[folders.index("chats") - 1] if "chats" in folders[1:] else ""
    return before if before and not _HASH.fullmatch(before) else None


def _last_versions(source: Source, part: str) -> dict[str, int]:
    """Map each message to the last line that writes it."""
    last: dict[str, int] = {}
    with source.open(part) as file:
        for line in lines(file):
            named = _MESSAGE_ID.match(line.content)
            if named and line.finished:
                last[named[1].decode("utf-8", "replace")] = line.number
    return last


def _message(message: dict[str, Json], session: str, wing: str | None, where: str) -> Iterator[Item]:
    kind, message_id = as_text(message.get("type")), as_text(message.get("id"))
    if kind in _NOTICES:
        yield skipped(f"{kind}: a notice of the program", where, expected=True)
        return
    role = _ROLES.get(kind)
    if role is None:
        yield skipped(f"unknown kind of message: {kind or 'none'}", where, message)
        return
    shared: dict[str, Json] = {"where": where, "session": session, "wing": wing}
    source = {"format": NAME, "session": session, "message": message_id}
    text = _text(message.get("content"))
    if text or not message.get("toolCalls"):
        yield item(
            text,
            key=f"{NAME}:{session}:{message_id}",
            source=source,
            at=message.get("timestamp"),
            role=role,
            speaker=role,
            meta={"model": message.get("model")},
            **shared,
        )
    for call in map(as_dict, as_list(message.get("toolCalls"))):
        call_id, name = as_text(call.get("id")), as_text(call.get("name"))
        texts = {"": f"{name} {as_json(call.get('args'))}", ":result": _tool_result(call)}
        for suffix, text in texts.items():
            yield item(
                text,
                key=f"{NAME}:{session}:{message_id}:{call_id}{suffix}",
                source={**source, "tool_call": call_id},
                at=call.get("timestamp") or message.get("timestamp"),
                role="tool",
                speaker="tool" if suffix else "assistant",
                meta={"tool": name, "status": call.get("status")},
                **shared,
            )


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    pieces = [as_text(as_dict(one).get("text")) if not isinstance(one, str) else one for one in as_list(content)]
    return "".join(pieces)


def _tool_result(call: dict[str, Json]) -> str:
    pieces: list[str] = []
    for one in map(as_dict, as_list(call.get("result"))):
        response = as_dict(as_dict(one.get("functionResponse")).get("response"))
        pieces.append(
            as_text(response.get("output")) or as_text(one.get("text")) or (as_json(response) if response else "")
        )
    shown = call.get("resultDisplay")
    return "\n".join(piece for piece in pieces if piece) or as_text(shown) or (json.dumps(shown) if shown else "")
