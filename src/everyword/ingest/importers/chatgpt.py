"""ChatGPT's export: `conversations.json`, a list of conversations, each a tree of messages.

Editing a turn or asking again makes a branch. The path to `current_node` is what the user last saw; messages of other
branches are kept with `meta.branch`, the id of the message where they leave that path.
"""

from __future__ import annotations

from collections.abc import Iterator

from everyword.ingest.importers.records import Item, Position, as_dict, as_list, as_text, item, skipped, titled
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import each_json_value
from everyword.types.events import Json

NAME = "chatgpt"
GROWS = False
SUFFIXES = (".json",)

_HIDDEN = {"thoughts", "reasoning_recap", "model_editable_context", "user_editable_context", "app_pairing_content"}


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    head = source.head(part)
    return 0.95 if b'"mapping"' in head and (b'"parent"' in head or b'"author"' in head) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read conversation by conversation."""
    return each_json_value(source, part, after, lambda value, number: _items(value, number, part))


def _items(value: Json, number: int, part: str) -> Iterator[Item]:
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
            yield _message(message, node_id, branch, conversation, session, part)


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


def _message(
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
        key=f"{NAME}:{session}:{as_text(message.get('id')) or node_id}",
        where=where,
        source={"format": NAME, "conversation": session, "message": node_id},
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
