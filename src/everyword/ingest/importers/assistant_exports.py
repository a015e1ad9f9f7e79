"""Exports of chat assistants: ChatGPT and Claude.ai."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from everyword.ingest.importers.records import (
    Item,
    Record,
    Skipped,
    as_list,
    as_record,
    digest,
    item,
    joined_text,
    left_out,
    skipped,
    titled,
    tool_item,
)
from everyword.ingest.importers.sources import Format, holds
from everyword.ingest.importers.streaming import json_values
from everyword.types.events import Json

# ChatGPT's export: `conversations.json`, a list of conversations, each a tree of messages.
#
# Editing a turn or asking again makes a branch. The path to `current_node` is what the user last saw; messages of other
# branches are kept with `meta.branch`, the id of the message where they leave that path.

_HIDDEN = {"thoughts", "reasoning_recap", "model_editable_context", "user_editable_context", "app_pairing_content"}
_KNOWN_CONTENT = frozenset(
    """text multimodal_text code execution_output tether_quote tether_browsing_display system_error citable_code_output
    computer_output sonic_webpage""".split()
)


def _chatgpt_items(value: Json, number: int) -> Iterator[Item]:
    conversation = as_record(value)
    nodes = {name: as_record(node) for name, node in conversation.inner("mapping").items()}
    session = conversation.text("conversation_id", "id") or f"conversation-{number}"
    if "mapping" not in conversation:
        yield skipped("unknown entry", value)
        return
    main = _main_path(nodes, conversation.text("current_node"))
    for node_id, branch in _in_order(nodes, main):
        message = as_record(nodes[node_id].get("message"))
        if message:
            one = _chatgpt_message(message, node_id, branch, conversation, session)
            where = f"conversation {session}, message {node_id}"
            yield replace(one, where=where) if isinstance(one, Skipped) else one


def _main_path(nodes: dict[str, Record], last: str) -> set[str]:
    """Collect the ancestors of the last message; without one, all messages are on the main path."""
    path: set[str] = set()
    while last in nodes and last not in path:
        path.add(last)
        last = nodes[last].text("parent")
    return path or set(nodes)


def _in_order(nodes: dict[str, Record], main: set[str]) -> Iterator[tuple[str, str | None]]:
    """Walk the tree, parents first, each node with its branch; includes cycles and orphans."""
    seen: set[str] = set()
    roots = [name for name, node in nodes.items() if node.text("parent") not in nodes]
    for root in (*roots, *nodes):
        waiting: list[tuple[str, str | None]] = [(root, None)]
        while waiting:
            name, branch = waiting.pop()
            if name in seen or name not in nodes:
                continue
            seen.add(name)
            branch = branch or (None if name in main else name)
            yield name, branch
            waiting += [(str(child), branch) for child in reversed(as_list(nodes[name].get("children")))]


def _chatgpt_message(message: Record, node_id: str, branch: str | None, conversation: Record, session: str) -> Item:
    author, content, metadata = map(message.inner, ("author", "content", "metadata"))
    role, kind = author.text("role"), content.text("content_type")
    if metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message"):
        return left_out("hidden: never shown to the user")
    if kind in _HIDDEN:
        return left_out(f"{kind}: not a message")
    text = joined_text(content.get("parts")) or content.text("text", "result", "summary")
    if kind == "tether_quote":
        text = joined_text([content.get(name) for name in ("title", "url", "text")])
    if not text and kind and kind not in _KNOWN_CONTENT:
        return skipped(f"unknown kind of content: {kind}", content)
    return item(
        text,
        key=f"{session}:{message.text('id') or node_id}",
        source={"conversation": session, "message": node_id},
        at=message.get("create_time") or conversation.get("create_time"),
        session=titled(conversation.get("title"), session),
        speaker=author.text("name") or role or None,
        role=role or None,
        meta={
            "title": conversation.get("title"),
            "branch": branch,
            "model": metadata.get("model_slug"),
            "to": None if message.get("recipient") in (None, "all") else message.get("recipient"),
            "files": [one.get("name") for one in metadata.each("attachments")],
        },
    )


CHATGPT = Format("chatgpt", (".json",), holds(rb'"mapping"', rb'"(?:parent|author)"'), json_values(_chatgpt_items))


# Claude.ai's export: `conversations.json`, one list of all conversations, with projects and memories beside it.

_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}


def _claude_ai_items(value: Json, _number: int) -> Iterator[Item]:
    record = as_record(value)
    if "chat_messages" in record:
        for message in record.each("chat_messages"):
            where = f"conversation {record.text('uuid')}, message {message.text('uuid')}"
            for one in _claude_ai_message(message, record):
                yield replace(one, where=where) if isinstance(one, Skipped) else one
    elif "docs" in record:
        yield from _project(record)
    elif "conversations_memory" in record or "project_memories" in record:
        memories = {"conversations": record.get("conversations_memory"), **record.inner("project_memories")}
        for of, text in memories.items():
            key = f"memory:{of}:{digest(str(text))}"
            yield item(joined_text(text), key=key, source={"memory": of}, session="memories", role="summary")
    else:
        yield skipped("unknown entry", value)


def _claude_ai_message(message: Record, conversation: Record) -> Iterator[Item]:
    uuid, session = message.text("uuid"), conversation.text("uuid")
    sender, title = message.text("sender"), conversation.get("name")
    role = _ROLES.get(sender)
    if role is None:
        yield skipped(f"unknown sender: {sender or 'none'}", message)
        return
    shared: dict[str, Json] = {
        "at": message.get("created_at") or conversation.get("created_at"),
        "session": titled(title, session),
        "source": {"conversation": session, "message": uuid, "parent": message.get("parent_message_uuid")},
    }
    files = [one.get("file_name") for one in message.each("files")]
    meta = {"title": title, "files": [name for name in files if name]}
    blocks = message.each("content")
    # If there are parts, the flat text repeats them, with remarks about parts that it can't show.
    words = joined_text([block for block in blocks if block.get("type") == "text"], "\n\n")
    text = words or ("" if blocks else message.text("text"))
    yield item(text, key=uuid, role=role, speaker=role, meta=meta, **shared)
    for number, attachment in enumerate(message.each("attachments")):
        yield item(
            attachment.text("extracted_content"),
            key=f"{uuid}:attachment:{number}",
            role="document",
            speaker=role,
            meta={"title": title, "file": attachment.get("file_name")},
            **shared,
        )
    for number, block in enumerate(blocks):
        kind = block.text("type")
        if kind in ("tool_use", "tool_result"):
            yield tool_item(block, key=f"{uuid}:{kind}:{number}", meta=meta, **shared)
        elif kind in ("thinking", "token_budget", "flag"):
            yield left_out(f"{kind}: not a message")
        elif kind != "text":
            yield skipped(f"unknown part of a message: {kind or 'none'}", block)


def _project(project: Record) -> Iterator[Item]:
    name, project_id = project.text("name"), project.text("uuid")
    made = project.get("created_at")
    texts = [("description", project.get("description"), made, None)]
    texts.append(("instructions", project.get("prompt_template"), made, None))
    for document in project.each("docs"):
        of = document.text("uuid")
        texts.append((of, document.get("content"), document.get("created_at"), document.get("filename")))
    for of, text, at, file in texts:
        yield item(
            joined_text(text),
            key=f"project:{project_id}:{of}",
            source={"project": project_id, "of": of},
            at=at,
            session=f"project/{name or project_id}",
            role="document",
            wing=name,
            meta={"file": file},
        )


CLAUDE_AI = Format(
    "claude-ai",
    (".json",),
    holds(rb'"(?:chat_messages|prompt_template|conversations_memory|project_memories)"', unless=rb'"mapping"'),
    json_values(_claude_ai_items),
)
