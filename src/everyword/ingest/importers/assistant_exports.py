"""Exports of chat assistants: ChatGPT and Claude.ai."""

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
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import each_json_value
from everyword.types.events import Json

# ChatGPT's export: `conversations.json`, a list of conversations, each a tree of messages.
#
# Editing a turn or asking again makes a branch. The path to `current_node` is what the user last saw; messages of other
# branches are kept with `meta.branch`, the id of the message where they leave that path.

_HIDDEN = {"thoughts", "reasoning_recap", "model_editable_context", "user_editable_context", "app_pairing_content"}


def _recognise_chatgpt(source: Source, part: str) -> float:
    head = source.head(part)
    return 0.95 if b'"mapping"' in head and (b'"parent"' in head or b'"author"' in head) else 0.0


def _read_chatgpt(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read conversation by conversation."""
    return each_json_value(source, part, after, lambda value, number: _chatgpt_items(value, number, part))


def _chatgpt_items(value: Json, number: int, part: str) -> Iterator[Item]:
    conversation = as_dict(value)
    nodes = {name: as_dict(node) for name, node in as_dict(conversation.get("mapping")).items()}
    session = as_text(conversation.get("conversation_id") or conversation.get("id")) or f"conversation-{number + 1}"
    if "mapping" not in conversation:
        yield skipped("unknown entry", f"{part}, entry {number + 1}", value)
        return
    main = _main_path(nodes, as_text(conversation.get("current_node")))
    for node_id, branch in _in_order(nodes, main):
        message = as_dict(nodes[node_id].get("message"))
        if message:
            yield _chatgpt_message(message, node_id, branch, conversation, session, part)


def _main_path(nodes: dict[str, dict[str, Json]], last: str) -> set[str]:
    """Collect the ancestors of the last message; without one, all messages are on the main path."""
    path: set[str] = set()
    while last in nodes and last not in path:
        path.add(last)
        last = as_text(nodes[last].get("parent"))
    return path or set(nodes)


def _in_order(nodes: dict[str, dict[str, Json]], main: set[str]) -> Iterator[tuple[str, str | None]]:
    """Walk the tree, parents first, each node with its branch; includes cycles and orphans."""
    seen: set[str] = set()
    roots = [name for name, node in nodes.items() if as_text(node.get("parent")) not in nodes]
    for root in (*roots, *nodes):
        waiting: list[tuple[str, str | None]] = [(root, None)]
        while waiting:
            name, branch = waiting.pop()
            if name in seen or name not in nodes:
                continue
            seen.add(name)
            branch = branch or (None if name in main else name)
            yield name, branch
            waiting += [(as_text(child), branch) for child in reversed(as_list(nodes[name].get("children")))]


def _chatgpt_message(
    message: dict[str, Json], node_id: str, branch: str | None, conversation: dict[str, Json], session: str, part: str
) -> Item:
    where = f"{part}, conversation {session}, message {node_id}"
    author, content, metadata = (as_dict(message.get(name)) for name in ("author", "content", "metadata"))
    role, kind = as_text(author.get("role")), as_text(content.get("content_type"))
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return skipped("hidden: never shown to the user", where, expected=True)
    if kind in _HIDDEN:
        return skipped(f"{kind}: not a message", where, expected=True)
    text = _text(content, kind)
    if not text and kind and not _is_known(kind):
        return skipped(f"unknown kind of content: {kind}", where, content)
    name = as_text(author.get("name"))
    return item(
        text,
        key=f"{CHATGPT.NAME}:{session}:{as_text(message.get('id')) or node_id}",
        where=where,
        source={"format": CHATGPT.NAME, "conversation": session, "message": node_id},
        at=message.get("create_time") or conversation.get("create_time"),
        session=titled(conversation.get("title"), session),
        speaker=name or role or None,
        role=role or None,
        meta={
            "title": conversation.get("title"),
            "branch": branch,
            "model": metadata.get("model_slug"),
            "to": None if message.get("recipient") in (None, "all") else message.get("recipient"),
            "files": [as_dict(one).get("name") for one in as_list(metadata.get("attachments"))],
        },
    )


def _is_known(kind: str) -> bool:
    return kind in {
        *("text", "multimodal_text", "code", "execution_output", "tether_quote", "tether_browsing_display"),
        *("system_error", "citable_code_output", "computer_output", "sonic_webpage"),
    }


def _text(content: dict[str, Json], kind: str) -> str:
    if kind == "tether_quote":
        fields = (as_text(content.get(name)) for name in ("title", "url", "text"))
        return "\n".join(field for field in fields if field)
    pieces = [_piece(one) for one in as_list(content.get("parts"))]
    alone = (as_text(content.get(name)) for name in ("text", "result", "summary"))
    return "\n".join(piece for piece in pieces if piece) or next((text for text in alone if text), "")


def _piece(part: Json) -> str:
    """The text of one part; pictures have none, audio has its transcript."""
    return part if isinstance(part, str) else as_text(as_dict(part).get("text"))


CHATGPT = Format(NAME="chatgpt", SUFFIXES=(".json",), recognise=_recognise_chatgpt, read=_read_chatgpt)


# Claude.ai's export: `conversations.json`, one list of all conversations, with projects and memories beside it.

_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
# Of conversations, projects and memories.
_SIGNS = (b'"chat_messages"', b'"prompt_template"', b'"conversations_memory"', b'"project_memories"')


def _recognise_claude_ai(source: Source, part: str) -> float:
    head = source.head(part)
    return 0.95 if any(sign in head for sign in _SIGNS) and b'"mapping"' not in head else 0.0


def _read_claude_ai(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read conversation by conversation."""
    return each_json_value(source, part, after, lambda value, number: _claude_ai_items(value, number, part))


def _claude_ai_items(value: Json, number: int, part: str) -> Iterator[Item]:
    record = as_dict(value)
    if "chat_messages" in record:
        for message in as_list(record["chat_messages"]):
            yield from _claude_ai_message(as_dict(message), record, part)
    elif "docs" in record:
        yield from _project(record, part)
    elif "conversations_memory" in record or "project_memories" in record:
        yield from _memories(record, part)
    else:
        yield skipped("unknown entry", f"{part}, entry {number + 1}", value)


def _claude_ai_message(message: dict[str, Json], conversation: dict[str, Json], part: str) -> Iterator[Item]:
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
            "format": CLAUDE_AI.NAME,
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
        key=f"{CLAUDE_AI.NAME}:{uuid}",
        role=role,
        speaker=role,
        meta=meta,
        **shared,
    )
    for number, attachment in enumerate(map(as_dict, as_list(message.get("attachments")))):
        yield item(
            as_text(attachment.get("extracted_content")),
            key=f"{CLAUDE_AI.NAME}:{uuid}:attachment:{number}",
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
            key=f"{CLAUDE_AI.NAME}:{uuid}:{kind}:{number}",
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
            key=f"{CLAUDE_AI.NAME}:project:{project_id}:{of}",
            where=f"{part}, project {project_id}, {of}",
            source={"format": CLAUDE_AI.NAME, "project": project_id, "of": of},
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
            key=f"{CLAUDE_AI.NAME}:memory:{of}:{digest(as_text(text))}",
            where=f"{part}, memory {of}",
            source={"format": CLAUDE_AI.NAME, "memory": of},
            session="memories",
            role="summary",
        )


CLAUDE_AI = Format(NAME="claude-ai", SUFFIXES=(".json",), recognise=_recognise_claude_ai, read=_read_claude_ai)
