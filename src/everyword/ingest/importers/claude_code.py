"""Claude Code: one JSONL file per session (`projects/FOLDER/SESSION.jsonl`) and per subagent."""

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
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, each_json_line
from everyword.types.events import Json
from everyword.types.times import as_datetime

NAME = "claude-code"
GROWS = True
SUFFIXES = (".jsonl",)

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
_SIGNS = (b'"parentUuid"', b'"leafUuid"', b'"isSidechain"', b'"file-history-snapshot"', b'"queue-operation"')


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    head = source.head(part)
    return 0.95 if any(sign in head for sign in _SIGNS) and b'"projectHash"' not in head else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages, tool calls and tool results."""
    session, wing, began = _session_of(source, part)

    def items_of(line: dict[str, Json], place: Line) -> Iterator[Item]:
        return _items(line, f"{part}, line {place.number}", session, wing, began)

    return each_json_line(source, part, after, items_of)


def _session_of(source: Source, part: str) -> tuple[str | None, str | None, datetime | None]:
    """Find session, folder and time in the first lines, for titles, which have none."""
    session = wing = moment = None
    for raw in source.head(part).splitlines():
        try:
            line = as_dict(json.loads(raw))
        except (ValueError, RecursionError):
            continue
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
            key=f"{NAME}:{kind}:{of}" if kind == "summary" else f"{NAME}:{kind}:{of}:{text}",
            where=where,
            source={"format": NAME, "session": session, "of": of},
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
    source = {"format": NAME, "session": line.get("sessionId"), "uuid": uuid, "parent": line.get("parentUuid")}
    meta = {"branch": line.get("gitBranch"), "model": message.get("model"), "sidechain": sidechain or None}
    blocks = _blocks(line, kind, message)
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    own = texts if kind in ("assistant", "system") else [_user_text(text) for text in texts]
    words = "\n\n".join(text for text in own if text)
    if any(texts) and not words:
        yield skipped("markup written by the program", where, expected=True)
    if words:
        role, speaker = _who(line, kind, words, sidechain=sidechain)
        yield item(words, key=f"{NAME}:{uuid}", source=source, role=role, speaker=speaker, meta=meta, **shared)
    for number, block in enumerate(blocks):
        what = as_text(block.get("type"))
        if what in ("tool_use", "tool_result"):
            call = as_text(block.get("id") or block.get("tool_use_id"))
            yield item(
                _tool_text(block, what),
                key=f"{NAME}:{uuid}:{call or number}",
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
