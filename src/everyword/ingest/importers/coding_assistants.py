"""Sessions of coding assistants: Claude Code, Codex CLI, GitHub Copilot CLI and Gemini CLI."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath

from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_json,
    as_list,
    as_moment,
    as_text,
    item,
    last_folder,
    skipped,
)
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import JsonStream, Line, each_json_line, each_json_value, first_records, lines
from everyword.types.events import Json
from everyword.types.times import as_datetime

# Claude Code: one JSONL file per session (`projects/FOLDER/SESSION.jsonl`) and per subagent.

# Lines about the session that are not part of the conversation.
_METADATA = {
    *("file-history-snapshot", "queue-operation", "progress", "last-prompt", "permission-mode", "mode", "agent-name"),
    *("agent-color", "pr-link", "attribution-snapshot", "content-replacement", "worktree-state", "tag", "task-summary"),
    *("file-history-delta", "agent-setting", "started", "result"),
}
# Elements that the program puts before and after a user's text.
_FRAMES = {
    *("system-reminder", "local-command-caveat", "user-prompt-submit-hook"),
    *("ide_opened_file", "ide_selection", "ide_diagnostics"),
}
# Output of a command that the user ran, and reports of background agents.
_TOOL_OUTPUT = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
)
_USER_COMMAND = "<bash-input>"  # a command that the user ran
# A message that consists of elements: a slash command, whose arguments are the user's text, or a note to keep.
_ELEMENT = re.compile(r"\s*<([a-z_-]{1,50})>")
_CLOSED = re.compile(r"</([a-z_-]{1,50})>\s*\Z")
_LAST_CHARS = 200  # at the end of a text, where its last element must be closed
_COMMAND_ELEMENTS = {"command-name", "command-message", "command-args", "command-contents"}
_ARGUMENTS, _NOTE = "command-args", "user-memory-input"
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]{0,50}\]")
_SYNTHETIC_MODEL = "<synthetic>"  # the model name of answers that the program generated
_COMPACTION_AGENT = "acompact"  # prefix of the id of the summarising agent
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_CLAUDE_CODE_SIGNS = (
    b'"parentUuid"',
    b'"leafUuid"',
    b'"isSidechain"',
    b'"file-history-snapshot"',
    b'"queue-operation"',
)


def _recognise_claude_code(source: Source, part: str) -> float:
    head = source.head(part)
    return 0.95 if any(sign in head for sign in _CLAUDE_CODE_SIGNS) and b'"projectHash"' not in head else 0.0


def _read_claude_code(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages, tool calls and tool results."""
    session, wing, began = _claude_code_session_of(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        return _items(line, f"{part}, line {place.number}", session, wing, began)

    return each_json_line(source, part, after, items_of)


def _claude_code_session_of(source: Source, part: str) -> tuple[str | None, str | None, datetime | None]:
    """Find session, folder and time in the first lines, for titles, which have none."""
    session = wing = moment = None
    for line in first_records(source, part, most=None):
        session = session or as_text(line.get("sessionId")) or None
        wing = wing or last_folder(line.get("cwd"))
        moment = moment or as_moment(line.get("timestamp"))
        if session and wing and moment:
            break
    return session or PurePosixPath(part).stem, wing, as_datetime(moment) if moment else None


def _items(
    line: dict[str, Json], where: str, session: str | None, wing: str | None, began: datetime | None
) -> Iterator[Item]:
    kind = as_text(line.get("type"))
    if kind in _METADATA:
        yield skipped(f"{kind}: session metadata", where, expected=True)
    elif kind in _TITLES:
        text = as_text(line.get(_TITLES[kind]))
        of = as_text(line.get("leafUuid")) or as_text(line.get("sessionId")) or session
        yield item(
            text,
            key=f"{CLAUDE_CODE.NAME}:{kind}:{of}" if kind == "summary" else f"{CLAUDE_CODE.NAME}:{kind}:{of}:{text}",
            where=where,
            source={"format": CLAUDE_CODE.NAME, "session": session, "of": of},
            otherwise_at=began,
            session=session,
            role="summary",
            wing=wing,
        )
    elif kind in ("user", "assistant", "system", "attachment"):
        yield from _message_items(line, kind, where, session, wing, began)
    else:
        yield skipped(f"unknown kind of line: {kind or 'none'}", where, line)


def _message_items(
    line: dict[str, Json], kind: str, where: str, session: str | None, wing: str | None, began: datetime | None
) -> Iterator[Item]:
    reason = _reason_to_skip(line, kind)
    if reason:
        yield skipped(reason, where, expected=True)
        return
    session = as_text(line.get("sessionId")) or session
    agent, uuid = as_text(line.get("agentId")), as_text(line.get("uuid"))
    sidechain = bool(line.get("isSidechain"))
    if sidechain and agent:
        session = f"{session}/agent-{agent}"
    message = as_dict(line.get("message"))
    shared: dict[str, Json] = {
        "where": where,
        "at": line.get("timestamp"),
        "otherwise_at": began,
        "session": session,
        "wing": last_folder(line.get("cwd")) or wing,
    }
    source = {
        "format": CLAUDE_CODE.NAME,
        "session": line.get("sessionId"),
        "uuid": uuid,
        "parent": line.get("parentUuid"),
    }
    meta = {"branch": line.get("gitBranch"), "model": message.get("model"), "sidechain": sidechain or None}
    blocks = _blocks(line, kind, message)
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    own = texts if kind in ("assistant", "system") else [_user_text(text) for text in texts]
    words = "\n\n".join(text for text in own if text)
    if any(texts) and not words:
        yield skipped("markup written by the program", where, expected=True)
    if words:
        role, speaker = _who(line, kind, words, sidechain=sidechain)
        yield item(
            words, key=f"{CLAUDE_CODE.NAME}:{uuid}", source=source, role=role, speaker=speaker, meta=meta, **shared
        )
    for number, block in enumerate(blocks):
        what = as_text(block.get("type"))
        if what in ("tool_use", "tool_result"):
            call = as_text(block.get("id") or block.get("tool_use_id"))
            yield item(
                _tool_text(block, what),
                key=f"{CLAUDE_CODE.NAME}:{uuid}:{call or number}",
                source={**source, "tool_call": call},
                role="tool",
                speaker="assistant" if what == "tool_use" else "tool",
                meta={**meta, "tool": block.get("name"), "failed": block.get("is_error") or None},
                **shared,
            )
            if any(as_dict(one).get("type") != "text" for one in as_list(block.get("content"))):
                yield skipped("picture or file of a tool: not text", where, expected=True)
        elif what in ("thinking", "redacted_thinking"):
            yield skipped("thinking: not a message", where, expected=True)
        elif what in ("image", "document", "file"):
            yield skipped(f"{what}: not text", where, expected=True)
        elif what != "text" or not any(texts):
            yield skipped(f"unknown part of a message: {what or 'none'}", where, block)


def _reason_to_skip(line: dict[str, Json], kind: str) -> str:
    if line.get("isMeta"):
        return "meta: written by the program"
    if as_text(line.get("agentId")).startswith(_COMPACTION_AGENT):
        return "compaction: the session itself has its content"
    if as_dict(line.get("message")).get("model") == _SYNTHETIC_MODEL:
        return "synthetic: generated by the program"
    if line.get("isApiErrorMessage"):
        return "error of the service, not an answer"
    if kind == "system" and line.get("subtype") != "local_command":
        return "a notice of the program"
    return ""


def _blocks(line: dict[str, Json], kind: str, message: dict[str, Json]) -> list[dict[str, Json]]:
    """Return a line's content as a list of parts."""
    if kind == "attachment":
        attachment = as_dict(line.get("attachment"))
        text = as_text(attachment.get("prompt")) if attachment.get("type") == "queued_command" else ""
        return [{"type": "text", "text": text}] if text else [{"type": "file"}]
    content = line.get("content") if kind == "system" else message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_dict(block) for block in as_list(content)] or [{"type": "none"}]


def _user_text(text: str) -> str:
    """Remove the program's text from a user's message."""
    text = _unframed(text)
    if _INTERRUPTED.fullmatch(text.strip()):
        return ""
    elements = _elements(text.strip())
    if elements and (elements.keys() <= _COMMAND_ELEMENTS or elements.keys() == {_NOTE}):
        return elements.get(_ARGUMENTS) or elements.get(_NOTE, "")
    return text


def _unframed(text: str) -> str:
    """Remove the program's elements from both ends; those inside the text stay."""
    start, end = 0, len(text)
    while frame := _ELEMENT.match(text, start):
        closed = text.find(f"</{frame[1]}>", frame.end()) if frame[1] in _FRAMES else -1
        if closed < 0:
            break
        start = closed + len(f"</{frame[1]}>")
    while frame := _CLOSED.search(text[max(start, end - _LAST_CHARS) : end]):
        opened = text.rfind(f"<{frame[1]}>", start, end) if frame[1] in _FRAMES else -1
        if opened < 0 or (opened > start and text[opened - 1] != "\n"):
            break
        end = opened
    return text if end - start == len(text) else text[start:end].strip()


def _elements(text: str) -> dict[str, str]:
    """Parse a message that consists of elements, by name; empty for any other."""
    found, at = dict[str, str](), 0
    while at < len(text):
        opening = _ELEMENT.match(text, at)
        closed = text.find(f"</{opening[1]}>", opening.end()) if opening else -1
        if opening is None or closed < 0:
            return {}
        found[opening[1]] = text[opening.end() : closed].strip()
        at = closed + len(f"</{opening[1]}>")
    return found


def _tool_text(block: dict[str, Json], what: str) -> str:
    if what == "tool_use":
        return f"{as_text(block.get('name'))} {as_json(block.get('input'))}"
    content = block.get("content")
    if isinstance(content, str):
        return content
    # Pictures of a tool result are left out; its text is kept whole.
    return "\n".join(as_text(as_dict(one).get("text")) for one in as_list(content) if as_dict(one).get("text"))


def _who(line: dict[str, Json], kind: str, text: str, *, sidechain: bool) -> tuple[str, str]:
    if line.get("isCompactSummary"):
        return "summary", "assistant"
    if kind == "system" or (kind != "assistant" and text.startswith(_TOOL_OUTPUT)):
        return "tool", "tool"
    if kind != "assistant" and text.startswith(_USER_COMMAND):
        return "tool", "user"
    if kind == "assistant":
        return "assistant", "assistant"
    return "user", "assistant" if sidechain else "user"  # a subagent's prompt comes from the assistant that started it


CLAUDE_CODE = Format(
    NAME="claude-code", SUFFIXES=(".jsonl",), GROWS=True, recognise=_recognise_claude_code, read=_read_claude_code
)


# Codex CLI: one rollout file per session (`sessions/YYYY/MM/DD/rollout-....jsonl`), in its current and first form.

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
_CODEX_SIGNS = (b'"session_meta"', b'"response_item"', b'"record_type"')
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def _recognise_codex(source: Source, part: str) -> float:
    head = source.head(part)[:8192]
    return 0.95 if any(sign in head for sign in _CODEX_SIGNS) else 0.0


def _read_codex(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages, tool calls and tool results."""
    session, started, wing = _codex_session_of(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        shared: dict[str, Json] = {
            "key": f"{CODEX.NAME}:{session}:{place.number}",  # rollouts only grow, so a line's number is its id
            "where": f"{part}, line {place.number}",
            "source": {"format": CODEX.NAME, "session": session, "line": place.number},
            "at": line.get("timestamp") or started,
            "session": session,
            "wing": wing,
        }
        yield _item(line, shared)

    return each_json_line(source, part, after, items_of)


def _codex_session_of(source: Source, part: str) -> tuple[str, Json, str | None]:
    """Read the session's id, time and folder from the first line."""
    line = as_dict(next(first_records(source, part, most=1), None))
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


CODEX = Format(NAME="codex", SUFFIXES=(".jsonl",), GROWS=True, recognise=_recognise_codex, read=_read_codex)


# GitHub Copilot CLI: one log of events per session (`~/.copilot/session-state/ID/events.jsonl`).

_COPILOT_ROLES = {"user.message": "user", "assistant.message": "assistant"}
_COPILOT_SIGNS = (b'"session.start"', b'"copilot-agent"')


def _recognise_copilot(source: Source, part: str) -> float:
    first = source.head(part).split(b"\n", 1)[0]
    return 0.95 if all(sign in first for sign in _COPILOT_SIGNS) else 0.0


def _read_copilot(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read the messages of the user and the agent."""
    session, wing = _copilot_session_of(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        kind, data = as_text(line.get("type")), as_dict(line.get("data"))
        where = f"{part}, line {place.number}"
        text = as_text(data.get("content"))
        role = _COPILOT_ROLES.get(kind)
        if role is None or not text.strip():
            yield skipped(f"{kind or 'no type'}: not a message", where, expected=True)
            return
        yield item(
            text,
            key=f"{COPILOT.NAME}:{session}:{as_text(line.get('id')) or place.number}",
            where=where,
            source={"format": COPILOT.NAME, "session": session, "line": place.number},
            at=line.get("timestamp"),
            session=session,
            wing=wing,
            role=role,
            speaker=role,
        )

    return each_json_line(source, part, after, items_of)


def _copilot_session_of(source: Source, part: str) -> tuple[str, str | None]:
    """Read the session's id and folder from the first line."""
    data = as_dict(as_dict(next(first_records(source, part, most=1), None)).get("data"))
    path = PurePosixPath(part)
    named = path.parent.name if path.stem == "events" else path.stem
    return as_text(data.get("sessionId")) or named, last_folder(as_dict(data.get("context")).get("cwd"))


COPILOT = Format(NAME="copilot-cli", SUFFIXES=(".jsonl",), GROWS=True, recognise=_recognise_copilot, read=_read_copilot)


# Gemini CLI: one chat per session, as JSON (`chats/session-....json`) or, in newer versions, as JSONL.
#
# In JSONL a message is written again whenever it changes, as when a tool returns: its last version counts.

_HOOK_PART = re.compile(r"\s*<hook_context>.*</hook_context>\s*", re.DOTALL)  # what a hook said beside a prompt
_GEMINI_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}
_NOTICES = {"info", "error", "warning"}
_HASH = re.compile(r"[0-9a-f]{64}")
_MESSAGE_ID = re.compile(rb'^\s*\{\s*"id"\s*:\s*"([^"]{1,100})"')


def _recognise_gemini(source: Source, part: str) -> float:
    head = source.head(part)[:4096]
    return 0.95 if b'"sessionId"' in head and b'"projectHash"' in head else 0.0


def _read_gemini(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
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
    role = _GEMINI_ROLES.get(kind)
    if role is None:
        yield skipped(f"unknown kind of message: {kind or 'none'}", where, message)
        return
    shared: dict[str, Json] = {"where": where, "session": session, "wing": wing}
    source = {"format": GEMINI.NAME, "session": session, "message": message_id}
    text = _text(message.get("content"))
    if text or not message.get("toolCalls"):
        yield item(
            text,
            key=f"{GEMINI.NAME}:{session}:{message_id}",
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
                key=f"{GEMINI.NAME}:{session}:{message_id}:{call_id}{suffix}",
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
    return "".join(piece for piece in pieces if not _HOOK_PART.fullmatch(piece))


def _tool_result(call: dict[str, Json]) -> str:
    pieces: list[str] = []
    for one in map(as_dict, as_list(call.get("result"))):
        response = as_dict(as_dict(one.get("functionResponse")).get("response"))
        pieces.append(
            as_text(response.get("output")) or as_text(one.get("text")) or (as_json(response) if response else "")
        )
    shown = call.get("resultDisplay")
    return "\n".join(piece for piece in pieces if piece) or as_text(shown) or (json.dumps(shown) if shown else "")


GEMINI = Format(
    NAME="gemini-cli", SUFFIXES=(".json", ".jsonl"), GROWS=True, recognise=_recognise_gemini, read=_read_gemini
)
