"""Chat messages in JSON or JSONL, as the SDKs of OpenAI, Anthropic and Google have them.

A file is a list of messages, one conversation with `messages`, a list of conversations, or lines of either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from everyword.errors import InvalidInput
from everyword.ingest.chat_messages import KNOWN_MEMBERS, LEFT_OUT, said_in
from everyword.ingest.importers.records import Item, Position, as_dict, as_list, as_name, as_text, digest, item, skipped
from everyword.ingest.importers.sources import Source, suffix
from everyword.ingest.importers.streaming import each_json_line, each_json_value
from everyword.types.events import Json

NAME = "messages"
GROWS = False  # a later line may name the tool of an earlier one
SUFFIXES = (".json", ".jsonl", ".ndjson")

_SIGN = re.compile(
    rb'"role"\s*:\s*"(?:user|assistant|system|developer|tool|function|model|human)"'
    rb'|"from"\s*:\s*"(?:human|gpt)"|"type"\s*:\s*"function_call'
)
_LISTS = ("messages", "conversation", "conversations", "history", "items", "contents")
_TITLES = ("title", "name", "conversation_id", "session_id", "thread_id", "id")
_TIMES = ("at", "timestamp", "created_at", "createdAt", "create_time", "created", "time", "date")
_ROLES = {"human": "user", "gpt": "assistant", "model": "assistant"}


@dataclass(slots=True)
class _Conversation:
    session: str
    at: Json = None
    title: Json = None
    tools: dict[str, str] = field(default_factory=dict[str, str])  # id of a call -> name of the tool


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    return 0.75 if _SIGN.search(source.head(part)) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read message by message; the whole file is read even when resuming, for the names of tools."""
    path = PurePosixPath(part).with_suffix("").as_posix()
    alone, seen = _Conversation(path), Counter[str]()
    modified = source.modified(part)

    def items_of(record: Json, where: str, number: int) -> Iterator[Item]:
        about = as_dict(record)
        about = as_dict(about.get("body")) or about  # a request of OpenAI's batches
        messages = next((as_list(about[name]) for name in _LISTS if isinstance(about.get(name), list)), None)
        if messages is None:
            yield from _message(record, alone, where, path, seen, modified)
            return
        title = next((about[name] for name in _TITLES if isinstance(about.get(name), str) and about[name]), None)
        said = _Conversation(f"{path}/{as_name(title) or number}", _time(about), title)
        for place, message in enumerate(messages, 1):
            yield from _message(message, said, f"{where}, message {place}", path, seen, modified)

    if suffix(part) == ".json":
        items = each_json_value(source, part, None, lambda one, n: items_of(one, f"{part}, entry {n + 1}", n + 1))
    else:
        items = each_json_line(
            source, part, None, lambda one, line: items_of(one, f"{part}, line {line.number}", line.number)
        )
    done = int((after or {}).get("item", 0))
    for number, one in enumerate(items, 1):
        if number > done:
            yield replace(one, position={"item": number})


def _message(
    given: Json, conversation: _Conversation, where: str, path: str, seen: Counter[str], modified: datetime | None
) -> Iterator[Item]:
    message = _usual(as_dict(given))
    known = {name: value for name, value in message.items() if name in KNOWN_MEMBERS}
    at = _time(message) or conversation.at
    try:
        for said in said_in(known, conversation.tools):
            name = digest(conversation.session, str(at), said.role, said.name, said.text)
            seen[name] += 1
            yield item(
                said.text,
                key=f"{NAME}:{path}:{name}" + (f":{seen[name]}" if seen[name] > 1 else ""),
                where=where,
                source={"format": NAME, "file": path, "message": message.get("id")},
                at=at,
                otherwise_at=modified,
                session=conversation.session,
                speaker=said.name or said.role,
                role=said.role,
                meta={"title": conversation.title, "model": message.get("model"), LEFT_OUT: said.left_out},
            )
    except InvalidInput as error:
        yield skipped(error.detail.rstrip("."), where, given)


def _usual(message: dict[str, Json]) -> dict[str, Json]:
    """Bring the members of other shapes to those of OpenAI and Anthropic: Google's `parts`, `from` and `value`."""
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("parts", message.get("value")))
    if isinstance(content, dict):  # ChatGPT's own shape
        content = as_dict(content).get("parts")
    if isinstance(content, list):
        content = [{"type": "text", **one} if as_text(as_dict(one).get("text")) else one for one in as_list(content)]
    usual = {"role": _ROLES.get(role, role) if isinstance(role, str) else role, "content": content}
    return {**message, **{name: value for name, value in usual.items() if value is not None}}


def _time(about: dict[str, Json]) -> Json:
    return next((about[name] for name in _TIMES if about.get(name)), None)
