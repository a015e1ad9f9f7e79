"""Codex CLI: one rollout file per session (`sessions/YYYY/MM/DD/rollout-....jsonl`), in its current and first form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_json,
    as_list,
    as_text,
    item,
    last_folder,
    skipped,
)
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, each_json_line
from everyword.types.events import Json

NAME = "codex"
GROWS = True
SUFFIXES = (".jsonl",)

_REPEATED = {"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"}
_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
    "tool_search_call": "arguments",
}
_RESULTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
_NOT_MESSAGES = {"reasoning", "ghost_snapshot", "compaction", "compaction_summary", "image_generation_call", "other"}
# Text that the program adds to the user's messages.
_INSERTED = (
    "<turn_aborted>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_SIGNS = (b'"session_meta"', b'"response_item"', b'"record_type"')
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    head = source.head(part)[:8192]
    return 0.95 if any(sign in head for sign in _SIGNS) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages, tool calls and tool results."""
    session, started, wing = _session_of(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        shared: dict[str, Json] = {
            "key": f"{NAME}:{session}:{place.number}",  # rollouts only grow, so a line's number is its id
            "where": f"{part}, line {place.number}",
            "source": {"format": NAME, "session": session, "line": place.number},
            "at": line.get("timestamp") or started,
            "session": session,
            "wing": wing,
        }
        yield _item(line, shared)

    return each_json_line(source, part, after, items_of)


def _session_of(source: Source, part: str) -> tuple[str, Json, str | None]:
    """Read the session's id, time and folder from the first line."""
    first = source.head(part).split(b"\n", 1)[0]
    try:
        line = as_dict(json.loads(first))
    except (ValueError, RecursionError):
        line = {}
    about = as_dict(line.get("payload")) or line
    named = _ID.search(PurePosixPath(part).stem)
    session = as_text(about.get("id")) or (named[0] if named else PurePosixPath(part).stem)
    return session, about.get("timestamp") or line.get("timestamp"), last_folder(about.get("cwd"))


def _item(line: dict[str, Json], shared: dict[str, Json]) -> Item:
    where = shared["where"]
    kind = as_text(line.get("type"))
    payload = as_dict(line.get("payload"))
    if kind == "response_item":
        return _response_item(payload, as_text(payload.get("type")), shared)
    if kind == "compacted":
        return item(as_text(payload.get("message")), role="summary", speaker="assistant", **shared)
    if kind in ("session_meta", "turn_context") or "record_type" in line or (not kind and "instructions" in line):
        return skipped(f"{kind or 'state'}: session metadata", where, expected=True)
    if kind == "event_msg":
        what = as_text(payload.get("type"))
        reason = "repeated by another line" if what in _REPEATED else "session metadata"
        return skipped(f"{what}: {reason}", where, expected=True)
    if kind in ("message", "reasoning", *_CALLS, *_RESULTS):  # early versions wrote them without an envelope
        return _response_item(line, kind, shared)
    return skipped(f"unknown kind of line: {kind or 'none'}", where, line)


def _response_item(record: dict[str, Json], kind: str, shared: dict[str, Json]) -> Item:
    where = shared["where"]
    if kind == "message":
        role = as_text(record.get("role"))
        text = "\n".join(as_text(as_dict(one).get("text")) for one in as_list(record.get("content")))
        if role in ("developer", "system") or text.lstrip().startswith(_INSERTED):
            return skipped("instructions and environment, added by the program", where, expected=True)
        return item(text, role=role or None, speaker=role or None, **shared)
    if kind in _CALLS:
        arguments = record.get(_CALLS[kind])
        name = as_text(record.get("name")) or kind.removesuffix("_call")
        text = f"{name} {arguments if isinstance(arguments, str) else as_json(arguments)}"
        return _tool_item(text, "assistant", record, shared, {"tool": name})
    if kind in _RESULTS:
        return _tool_item(_output(record.get("output") or record.get("tools")), "tool", record, shared, {})
    if kind in _NOT_MESSAGES:
        return skipped(f"{kind}: not a message", where, expected=True)
    return skipped(f"unknown kind of item: {kind or 'none'}", where, record)


def _output(output: Json) -> str:
    """The text of a tool result: plain, in an object, or in an object encoded as a string."""
    if isinstance(output, str):
        if not output.startswith('{"output"'):
            return output
        try:
            return as_text(as_dict(json.loads(output)).get("output")) or output
        except (ValueError, RecursionError):
            return output
    if isinstance(output, list):
        return "\n".join(as_text(as_dict(one).get("text")) for one in as_list(output))
    return as_text(as_dict(output).get("content") or as_dict(output).get("output")) or (
        as_json(output) if output else ""
    )


def _tool_item(
    text: str, speaker: str, record: dict[str, Json], shared: dict[str, Json], meta: dict[str, Json]
) -> Item:
    call: dict[str, Json] = {**shared, "source": {**shared["source"], "tool_call": record.get("call_id")}}
    return item(text, role="tool", speaker=speaker, meta=meta, **call)
