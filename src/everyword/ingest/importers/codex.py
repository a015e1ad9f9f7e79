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

_SAID_AGAIN = {"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"}
_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "web_search_call": "action",
    "tool_search_call": "arguments",
}
_ANSWERS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
_NOT_SAID = {"reasoning", "ghost_snapshot", "compaction", "compaction_summary", "image_generation_call", "other"}
# Text that the program adds to the user's messages.
_INSERTED = (
    "<turn_aborted>",
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def recognise(source: Source) -> float:
    """Return the confidence, from 0 to 1, that the source has this format."""
    names = parts(source)
    heads = [source.head(name)[:8192] for name in names[:5]]
    seen = sum(b'"session_meta"' in head or b'"response_item"' in head or b'"record_type"' in head for head in heads)
    return min(0.95, 0.5 + source.share(names)) * seen / len(heads) if seen else 0.0


def parts(source: Source) -> tuple[str, ...]:
    """List the sessions."""
    return source.ending(".jsonl")


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages, tool calls and tool results."""
    opening = _opening(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        yield _item(line, place.number, f"{part}, line {place.number}", opening)

    return each_json_line(source, part, after, items_of)


def _opening(source: Source, part: str) -> dict[str, Json]:
    """Read the first line: the session's id, folder and time."""
    first = source.head(part).split(b"\n", 1)[0]
    try:
        line = as_dict(json.loads(first))
    except (ValueError, RecursionError):
        line = {}
    about = as_dict(line.get("payload")) or line
    named = _ID.search(PurePosixPath(part).stem)
    return {
        "session": as_text(about.get("id")) or (named[0] if named else PurePosixPath(part).stem),
        "at": about.get("timestamp") or line.get("timestamp"),
        "wing": last_folder(about.get("cwd")),
    }


def _item(line: dict[str, Json], number: int, where: str, opening: dict[str, Json]) -> Item:
    kind = as_text(line.get("type"))
    payload = as_dict(line.get("payload"))
    if kind == "response_item":
        return _said(payload, as_text(payload.get("type")), number, where, opening, line.get("timestamp"))
    if kind == "compacted":
        return _event(
            as_text(payload.get("message")), "summary", "assistant", number, where, opening, line.get("timestamp")
        )
    if kind in ("session_meta", "turn_context") or "record_type" in line or (not kind and "instructions" in line):
        return skipped(f"{kind or 'state'}: about the session, not of it", where, expected=True)
    if kind == "event_msg":
        what = as_text(payload.get("type"))
        reason = "said again by another line" if what in _SAID_AGAIN else "about the session, not of it"
        return skipped(f"{what}: {reason}", where, expected=True)
    if kind in ("message", "reasoning", *_CALLS, *_ANSWERS):  # early versions wrote these bare
        return _said(line, kind, number, where, opening, line.get("timestamp"))
    return skipped(f"unknown kind of line: {kind or 'none'}", where, as_json(line)[:2000])


def _said(record: dict[str, Json], kind: str, number: int, where: str, opening: dict[str, Json], at: Json) -> Item:
    if kind == "message":
        role = as_text(record.get("role"))
        text = "\n".join(as_text(as_dict(one).get("text")) for one in as_list(record.get("content")))
        if role in ("developer", "system") or text.lstrip().startswith(_INSERTED):
            return skipped("instructions and surroundings, put in by the program", where, expected=True)
        return _event(text, role or None, role or None, number, where, opening, at)
    if kind in _CALLS:
        given = record.get(_CALLS[kind])
        name = as_text(record.get("name")) or kind.removesuffix("_call")
        text = f"{name} {given if isinstance(given, str) else as_json(given)}"
        return _event(text, "tool", "assistant", number, where, opening, at, call=record.get("call_id"), tool=name)
    if kind in _ANSWERS:
        return _event(
            _output(record.get("output") or record.get("tools")),
            "tool",
            "tool",
            number,
            where,
            opening,
            at,
            call=record.get("call_id"),
        )
    if kind in _NOT_SAID:
        return skipped(f"{kind}: not said to anyone", where, expected=True)
    return skipped(f"unknown kind of item: {kind or 'none'}", where, as_json(record)[:2000])


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


def _event(
    text: str,
    role: str | None,
    speaker: str | None,
    number: int,
    where: str,
    opening: dict[str, Json],
    at: Json,
    *,
    call: Json = None,
    tool: str | None = None,
) -> Item:
    session = as_text(opening["session"])
    return item(
        text,
        key=f"{NAME}:{session}:{number}",  # rollouts only grow, so a line's number is its id
        where=where,
        source={"format": NAME, "session": session, "line": number, "tool_call": call},
        at=at or opening["at"],
        session=session,
        speaker=speaker,
        role=role,
        wing=opening["wing"],
        meta={"tool": tool},
    )
