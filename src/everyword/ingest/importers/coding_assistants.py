"""Sessions of coding assistants: Claude Code, Codex CLI, GitHub Copilot CLI and Gemini CLI."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from everyword.ingest.importers.records import (
    Item,
    Position,
    Record,
    as_json,
    as_list,
    as_record,
    called,
    item,
    joined_text,
    left_out,
    skipped,
    tool_item,
)
from everyword.ingest.importers.sources import Format, Source, holds
from everyword.ingest.importers.streaming import JsonStream, each_json_line, each_json_value, first_records, lines
from everyword.types.events import Json

# Claude Code: one JSONL file per session (`projects/FOLDER/SESSION.jsonl`) and per subagent.

# Lines about the session that are not part of the conversation.
_METADATA = frozenset(
    """file-history-snapshot queue-operation progress last-prompt permission-mode mode agent-name agent-color pr-link
    attribution-snapshot content-replacement worktree-state tag task-summary file-history-delta agent-setting started
    result""".split()
)
# Elements that the program puts before and after a user's text.
_FRAMES = frozenset(
    "system-reminder local-command-caveat user-prompt-submit-hook ide_opened_file ide_selection ide_diagnostics".split()
)
# Output of a command that the user ran, and reports of background agents.
_TOOL_OUTPUT = tuple(
    "<local-command-stdout> <local-command-stderr> <bash-stdout> <bash-stderr> <task-notification>".split()
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


def _read_claude_code(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    # Titles have no session, folder and time; those of the first lines are theirs. A session stays in the project in
    # which it began, wherever its commands go.
    session, folder, began = PurePosixPath(part).stem, "", ""
    for line in reversed(list(first_records(source, part, most=None))):
        session = line.text("sessionId") or session
        folder, began = line.text("cwd") or folder, line.get("timestamp") or began
    shared: dict[str, Json] = {"at": began, "session": session, "folder": folder or None}
    return each_json_line(source, part, after, lambda line, _: _claude_code_items(line, shared))


def _claude_code_items(line: Record, shared: dict[str, Json]) -> Iterator[Item]:
    kind = line.text("type")
    if kind in _METADATA:
        yield left_out(f"{kind}: session metadata")
    elif kind in _TITLES:
        text, session = line.text(_TITLES[kind]), shared["session"]
        of = line.text("leafUuid", "sessionId") or session
        key = f"{kind}:{of}" if kind == "summary" else f"{kind}:{of}:{text}"
        yield item(text, key=key, source={"session": session, "of": of}, role="summary", **shared)
    elif kind not in ("user", "assistant", "system", "attachment"):
        yield skipped(f"unknown kind of line: {kind or 'none'}", line)
    elif reason := _reason_to_skip(line, kind):
        yield left_out(reason)
    else:
        yield from _message_items(line, kind, shared)


def _message_items(line: Record, kind: str, shared: dict[str, Json]) -> Iterator[Item]:
    session = line.text("sessionId") or shared["session"]
    agent, uuid = line.text("agentId"), line.text("uuid")
    sidechain = bool(line.get("isSidechain"))
    message = line.inner("message")
    shared = {
        "at": line.get("timestamp") or shared["at"],
        "session": f"{session}/agent-{agent}" if sidechain and agent else session,
        "folder": shared["folder"] or line.get("cwd"),
    }
    source = {"session": line.get("sessionId"), "uuid": uuid, "parent": line.get("parentUuid")}
    meta = {"branch": line.get("gitBranch"), "model": message.get("model"), "sidechain": sidechain or None}
    blocks = _blocks(line, kind, message)
    texts = [block.text("text") for block in blocks if block.get("type") == "text"]
    own = texts if kind in ("assistant", "system") else [_user_text(text) for text in texts]
    words = "\n\n".join(text for text in own if text)
    if any(texts) and not words:
        yield left_out("markup written by the program")
    if words:
        role, speaker = _who(line, kind, words, sidechain=sidechain)
        yield item(words, key=uuid, source=source, role=role, speaker=speaker, meta=meta, **shared)
    for number, block in enumerate(blocks):
        what = block.text("type")
        if what in ("tool_use", "tool_result"):
            call, about = block.text("id", "tool_use_id"), {**meta, "failed": block.get("is_error") or None}
            of = {**source, "tool_call": call}
            yield tool_item(block, key=f"{uuid}:{call or number}", source=of, meta=about, **shared)
            if any(one.get("type") != "text" for one in block.each("content")):
                yield left_out("picture or file of a tool: not text")
        elif what in ("thinking", "redacted_thinking"):
            yield left_out("thinking: not a message")
        elif what in ("image", "document", "file"):
            yield left_out(f"{what}: not text")
        elif what != "text" or not any(texts):
            yield skipped(f"unknown part of a message: {what or 'none'}", block)


def _reason_to_skip(line: Record, kind: str) -> str:
    if line.get("isMeta"):
        return "meta: written by the program"
    if line.text("agentId").startswith(_COMPACTION_AGENT):
        return "compaction: the session itself has its content"
    if line.inner("message").get("model") == _SYNTHETIC_MODEL:
        return "synthetic: generated by the program"
    if line.get("isApiErrorMessage"):
        return "error of the service, not an answer"
    if kind == "system" and line.get("subtype") != "local_command":
        return "a notice of the program"
    return ""


def _blocks(line: Record, kind: str, message: Record) -> list[Record]:
    """Return a line's content as a list of parts."""
    said, attachment = line if kind == "system" else message, line.inner("attachment")
    text = said.text("content")
    if kind == "attachment":
        text = attachment.text("prompt") if attachment.get("type") == "queued_command" else ""
        return [Record(type="text", text=text) if text else Record(type="file")]
    return [Record(type="text", text=text)] if text else said.each("content") or [Record(type="none")]


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


def _who(line: Record, kind: str, text: str, *, sidechain: bool) -> tuple[str, str]:
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
    "claude-code",
    (".jsonl",),
    holds(rb'"(?:parentUuid|leafUuid|isSidechain|file-history-snapshot|queue-operation)"', unless=rb'"projectHash"'),
    _read_claude_code,
    GROWS=True,
)


# Codex CLI: one rollout file per session (`sessions/YYYY/MM/DD/rollout-....jsonl`), in its current and first form.

_REPEATED = {"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"}
_CALLS = {
    **dict.fromkeys(("function_call", "tool_search_call"), "arguments"),
    **dict.fromkeys(("local_shell_call", "web_search_call"), "action"),
    "custom_tool_call": "input",
}
_RESULTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"}
_NOT_MESSAGES = {"reasoning", "ghost_snapshot", "compaction", "compaction_summary", "image_generation_call", "other"}
# Text that the program adds to the user's messages.
_INSERTED = (
    *("<turn_aborted>", "<environment_context>", "<user_instructions>", "<permissions instructions>"),
    *("# AGENTS.md instructions", "<INSTRUCTIONS>"),
)
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def _read_codex(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    """Read messages, tool calls and tool results; the first line tells id, time and folder of the session."""
    first = as_record(next(first_records(source, part, most=1), None))
    about = first.inner("payload") or first
    stem = PurePosixPath(part).stem
    named = _ID.search(stem)
    session = about.text("id") or (named[0] if named else stem)
    started, folder = about.get("timestamp") or first.get("timestamp"), about.get("cwd")

    def items_of(line: Record, number: int) -> Iterator[Item]:
        shared: dict[str, Json] = {
            "key": f"{session}:{number}",  # rollouts only grow, so a line's number is its id
            "source": {"session": session, "line": number},
            "at": line.get("timestamp") or started,
            "session": session,
            "folder": folder,
        }
        yield _codex_item(line, shared)

    return each_json_line(source, part, after, items_of)


def _codex_item(line: Record, shared: dict[str, Json]) -> Item:
    kind = line.text("type")
    payload = line.inner("payload")
    if kind == "response_item":
        return _response_item(payload, payload.text("type"), shared)
    if kind == "compacted":
        return item(payload.text("message"), role="summary", speaker="assistant", **shared)
    if kind in ("session_meta", "turn_context") or "record_type" in line or (not kind and "instructions" in line):
        return left_out(f"{kind or 'state'}: session metadata")
    if kind == "event_msg":
        what = payload.text("type")
        return left_out(f"{what}: {'repeated by another line' if what in _REPEATED else 'session metadata'}")
    if kind in ("message", "reasoning", *_CALLS, *_RESULTS):  # early versions wrote them without an envelope
        return _response_item(line, kind, shared)
    return skipped(f"unknown kind of line: {kind or 'none'}", line)


def _response_item(record: Record, kind: str, shared: dict[str, Json]) -> Item:
    tool: dict[str, Json] = {**shared, "source": {**shared["source"], "tool_call": record.get("call_id")}}
    if kind == "message":
        role, text = record.text("role"), joined_text(record.get("content"))
        if role in ("developer", "system") or text.lstrip().startswith(_INSERTED):
            return left_out("instructions and environment, added by the program")
        return item(text, role=role or None, speaker=role or None, **shared)
    if kind in _CALLS:
        name = record.text("name") or kind.removesuffix("_call")
        text = called(name, record.get(_CALLS[kind]))
        return item(text, role="tool", speaker="assistant", meta={"tool": name}, **tool)
    if kind in _RESULTS:
        return item(_output(record.get("output") or record.get("tools")), role="tool", speaker="tool", **tool)
    if kind in _NOT_MESSAGES:
        return left_out(f"{kind}: not a message")
    return skipped(f"unknown kind of item: {kind or 'none'}", record)


def _output(output: Json) -> str:
    """The text of a tool result: plain, in an object, or in an object encoded as a string."""
    if isinstance(output, str) and output.startswith('{"output"'):
        try:
            return as_record(json.loads(output)).text("output") or output
        except (ValueError, RecursionError):
            return output
    inside = as_record(output)
    alone = inside.text("content", "output")
    return joined_text(output) or alone or (as_json(inside) if inside else "")


CODEX = Format("codex", (".jsonl",), holds(rb'"(?:session_meta|response_item|record_type)"'), _read_codex, GROWS=True)


# GitHub Copilot CLI: one log of events per session (`~/.copilot/session-state/ID/events.jsonl`).

_COPILOT_ROLES = {"user.message": "user", "assistant.message": "assistant"}


def _read_copilot(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    """Read the messages of the user and the agent; the first line tells id and folder of the session."""
    first = as_record(as_record(next(first_records(source, part, most=1), None)).get("data"))
    path = PurePosixPath(part)
    session = first.text("sessionId") or (path.parent.name if path.stem == "events" else path.stem)
    folder = first.inner("context").get("cwd")

    def items_of(line: Record, number: int) -> Iterator[Item]:
        kind = line.text("type")
        text, role = line.inner("data").text("content"), _COPILOT_ROLES.get(kind)
        if role is None or not text.strip():
            yield left_out(f"{kind or 'no type'}: not a message")
            return
        yield item(
            text,
            key=f"{session}:{line.text('id') or number}",
            source={"session": session, "line": number},
            at=line.get("timestamp"),
            session=session,
            folder=folder,
            role=role,
            speaker=role,
        )

    return each_json_line(source, part, after, items_of)


COPILOT = Format(
    "copilot-cli",
    (".jsonl",),
    holds(rb'\A[^\n]*"session\.start"', rb'\A[^\n]*"copilot-agent"'),
    _read_copilot,
    GROWS=True,
)


# Gemini CLI: one chat per session, as JSON (`chats/session-....json`) or, in newer versions, as JSONL.
#
# In JSONL a message is written again whenever it changes, as when a tool returns: its last version counts.

_HOOK_PART = re.compile(r"\s*<hook_context>.*</hook_context>\s*", re.DOTALL)  # what a hook said beside a prompt
_GEMINI_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}
_NOTICES = {"info", "error", "warning"}
_HASH = re.compile(r"[0-9a-f]{64}")
_MESSAGE_ID = re.compile(rb'^\s*\{\s*"id"\s*:\s*"([^"]{1,100})"')
_SESSION_ID = re.compile(rb'"sessionId"\s*:\s*"([^"]{1,100})"')


def _read_gemini(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    found = _SESSION_ID.search(source.head(part))
    folders = PurePosixPath(part).parts
    project = folders[folders.index("chats") - 1] if "chats" in folders[1:] else ""
    shared: dict[str, Json] = {
        "session": found[1].decode("utf-8", "replace") if found else PurePosixPath(part).stem,
        "wing": project if project and not _HASH.fullmatch(project) else None,
    }
    if not part.lower().endswith(".jsonl"):
        return each_json_value(source, part, lambda value, _: _gemini_items(as_record(value), shared), _gemini_messages)
    last = _last_versions(source, part)

    def items_of(record: Record, number: int) -> Iterator[Item]:
        if "id" in record and "type" in record:
            if last.get(record.text("id"), number) > number:
                yield left_out("rewritten by a later line")
            else:
                yield from _gemini_items(record, shared)
        elif "$set" in record or "$rewindTo" in record or "projectHash" in record:
            yield left_out("session metadata")
        else:
            yield skipped("unknown kind of line", record)

    return each_json_line(source, part, after, items_of)


def _gemini_messages(stream: JsonStream) -> Iterator[Json]:
    for name in stream.members():
        if name == "messages" and stream.kind() == "[":
            for _ in stream.elements():
                yield stream.value()
        else:
            stream.value()


def _last_versions(source: Source, part: str) -> dict[str, int]:
    """Map each message to the last line that writes it."""
    with source.open(part) as file:
        named = ((_MESSAGE_ID.match(line.content), line) for line in lines(file) if line.finished)
        return {found[1].decode("utf-8", "replace"): line.number for found, line in named if found}


def _gemini_items(message: Record, shared: dict[str, Json]) -> Iterator[Item]:
    kind, message_id = message.text("type"), message.text("id")
    if kind in _NOTICES:
        yield left_out(f"{kind}: a notice of the program")
        return
    role = _GEMINI_ROLES.get(kind)
    if role is None:
        yield skipped(f"unknown kind of message: {kind or 'none'}", message)
        return
    key, at = f"{shared['session']}:{message_id}", message.get("timestamp")
    source = {"session": shared["session"], "message": message_id}
    parts = [joined_text([one]) for one in as_list(message.get("content"))]
    text = message.text("content") or "".join(one for one in parts if not _HOOK_PART.fullmatch(one))
    if text or not message.get("toolCalls"):
        meta = {"model": message.get("model")}
        yield item(text, key=key, source=source, at=at, role=role, speaker=role, meta=meta, **shared)
    for call in message.each("toolCalls"):
        call_id, name = call.text("id"), call.text("name")
        texts = {"assistant": called(name, as_json(call.get("args"))), "tool": _tool_result(call)}
        for speaker, text in texts.items():
            yield item(
                text,
                key=f"{key}:{call_id}{':result' if speaker == 'tool' else ''}",
                source={**source, "tool_call": call_id},
                at=call.get("timestamp") or at,
                role="tool",
                speaker=speaker,
                meta={"tool": name, "status": call.get("status")},
                **shared,
            )


def _tool_result(call: Record) -> str:
    pieces: list[str] = []
    for one in call.each("result"):
        response = as_record(one.inner("functionResponse").get("response"))
        pieces.append(response.text("output") or one.text("text") or (as_json(response) if response else ""))
    shown = call.get("resultDisplay")
    return joined_text(pieces) or call.text("resultDisplay") or (json.dumps(shown) if shown else "")


GEMINI = Format("gemini-cli", (".json", ".jsonl"), holds(rb'"sessionId"', rb'"projectHash"'), _read_gemini, GROWS=True)
