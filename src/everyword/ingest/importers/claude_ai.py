"""Claude.ai's export: `conversations.json`, one list of all conversations, with projects and memories beside it."""

from __future__ import annotations

from collections.abc import Iterator

from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_json,
    as_list,
    as_text,
    digest,
    item,
    skipped,
    titled,
)
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import each_json_value
from everyword.types.events import Json

NAME = "claude-ai"
GROWS = False
SUFFIXES = (".json",)

_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
# Of conversations, projects and memories.
_SIGNS = (b'"chat_messages"', b'"prompt_template"', b'"conversations_memory"', b'"project_memories"')


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    head = source.head(part)
    return 0.95 if any(sign in head for sign in _SIGNS) and b'"mapping"' not in head else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read conversation by conversation."""
    return each_json_value(source, part, after, lambda value, number: _items(value, number, part))


def _items(value: Json, number: int, part: str) -> Iterator[Item]:
    record = as_dict(value)
    if "chat_messages" in record:
        for message in as_list(record["chat_messages"]):
            yield from _message(as_dict(message), record, part)
    elif "docs" in record:
        yield from _project(record, part)
    elif "conversations_memory" in record or "project_memories" in record:
        yield from _memories(record, part)
    else:
        yield skipped("unknown entry", f"{part}, entry {number + 1}", value)


def _message(message: dict[str, Json], conversation: dict[str, Json], part: str) -> Iterator[Item]:
    uuid, session = as_text(message.get("uuid")), as_text(conversation.get("uuid"))
    where = f"{part}, conversation {session}, message {uuid}"
    sender = as_text(message.get("sender"))
    role = _ROLES.get(sender)
    if role is None:
        yield skipped(f"unknown sender: {sender or 'none'}", where, message)
        return
    at = message.get("created_at") or conversation.get("created_at")
    shared: dict[str, Json] = {
        "where": where,
        "at": at,
        "session": titled(conversation.get("name"), session),
        "source": {
            "format": NAME,
            "conversation": session,
            "message": uuid,
            "parent": message.get("parent_message_uuid"),
        },
    }
    files = [as_dict(one).get("file_name") for one in as_list(message.get("files"))]
    meta = {"title": conversation.get("name"), "files": [name for name in files if name]}
    blocks = [as_dict(block) for block in as_list(message.get("content"))]
    # If there are parts, the flat text repeats them, with remarks about parts that it can't show.
    words = "\n\n".join(text for block in blocks if block.get("type") == "text" if (text := as_text(block.get("text"))))
    yield item(
        words or ("" if blocks else as_text(message.get("text"))),
        key=f"{NAME}:{uuid}",
        role=role,
        speaker=role,
        meta=meta,
        **shared,
    )
    for number, attachment in enumerate(map(as_dict, as_list(message.get("attachments")))):
        yield item(
            as_text(attachment.get("extracted_content")),
            key=f"{NAME}:{uuid}:attachment:{number}",
            role="document",
            speaker=role,
            meta={"title": conversation.get("name"), "file": attachment.get("file_name")},
            **shared,
        )
    for number, block in enumerate(blocks):
        yield from _other_block(block, number, uuid, meta, shared)


def _other_block(
    block: dict[str, Json], number: int, uuid: str, meta: dict[str, Json], shared: dict[str, Json]
) -> Iterator[Item]:
    kind = as_text(block.get("type"))
    if kind in ("tool_use", "tool_result"):
        if kind == "tool_use":
            text = f"{as_text(block.get('name'))} {as_json(block.get('input'))}"
        else:
            answers = map(as_dict, as_list(block.get("content")))
            text = "\n".join(as_text(one.get("text")) for one in answers) or as_text(block.get("content"))
        yield item(
            text,
            key=f"{NAME}:{uuid}:{kind}:{number}",
            role="tool",
            speaker="assistant" if kind == "tool_use" else "tool",
            meta={**meta, "tool": block.get("name")},
            **shared,
        )
    elif kind in ("thinking", "token_budget", "flag"):
        yield skipped(f"{kind}: not a message", shared["where"], expected=True)
    elif kind != "text":
        yield skipped(f"unknown part of a message: {kind or 'none'}", shared["where"], block)


def _project(project: dict[str, Json], part: str) -> Iterator[Item]:
    name, project_id = as_text(project.get("name")), as_text(project.get("uuid"))
    texts = [
        ("description", "document", as_text(project.get("description")), project.get("created_at"), None),
        ("instructions", "document", as_text(project.get("prompt_template")), project.get("created_at"), None),
    ]
    for document in map(as_dict, as_list(project.get("docs"))):
        content, made = as_text(document.get("content")), document.get("created_at")
        texts.append((as_text(document.get("uuid")), "document", content, made, document.get("filename")))
    for of, role, text, at, file in texts:
        yield item(
            text,
            key=f"{NAME}:project:{project_id}:{of}",
            where=f"{part}, project {project_id}, {of}",
            source={"format": NAME, "project": project_id, "of": of},
            at=at,
            session=f"project/{name or project_id}",
            role=role,
            wing=name,
            meta={"file": file},
        )


def _memories(record: dict[str, Json], part: str) -> Iterator[Item]:
    texts = {"conversations": record.get("conversations_memory"), **as_dict(record.get("project_memories"))}
    for of, text in texts.items():
        yield item(
            as_text(text),
            key=f"{NAME}:memory:{of}:{digest(as_text(text))}",
            where=f"{part}, memory {of}",
            source={"format": NAME, "memory": of},
            session="memories",
            role="summary",
        )
