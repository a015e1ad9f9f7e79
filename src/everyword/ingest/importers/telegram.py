"""Telegram Desktop's `result.json`: one chat, or all chats of an account."""

from __future__ import annotations

from collections.abc import Iterator

from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_list,
    as_text,
    day_of,
    item,
    skipped,
)
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import JsonStream, each_json_value
from everyword.types.events import Json

NAME = "telegram"
GROWS = False
SUFFIXES = (".json",)

_CHAT_LISTS = ("chats", "left_chats")


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    head = source.head(part)
    if b'"date_unixtime"' in head or (b'"messages"' in head and b'"from_id"' in head):
        return 0.95
    return 0.9 if b'"personal_information"' in head and (b'"chats"' in head or b'"contacts"' in head) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read the messages of each chat."""
    return each_json_value(source, part, after, lambda value, number: _items(value, number, part), _messages)


def _messages(stream: JsonStream) -> Iterator[tuple[dict[str, Json], Json]]:
    """Find every list of messages; yield each message with the fields of its chat."""
    about: dict[str, Json] = {}
    for name in stream.members():
        if name == "messages" and stream.kind() == "[":
            for _ in stream.elements():
                yield about, stream.value()
        elif name in _CHAT_LISTS and stream.kind() == "{":
            for inner in stream.members():
                if inner == "list" and stream.kind() == "[":
                    for _ in stream.elements():
                        yield from _messages(stream)
                else:
                    stream.value()
        elif stream.kind() in '{["' and name not in ("name", "type"):
            stream.value()
        else:
            about[name] = stream.value()


def _items(value: tuple[dict[str, Json], Json], number: int, part: str) -> Iterator[Item]:
    about, message = value[0], as_dict(value[1])
    where = f"{part}, message {number + 1}"
    kind = as_text(message.get("type"))
    if kind == "service":
        yield skipped(f"{as_text(message.get('action'))}: not a message", where, expected=True)
        return
    if kind != "message":
        yield skipped(f"unknown kind of entry: {kind or 'none'}", where, message)
        return
    text = _text(message)
    if not text:
        media = as_text(message.get("media_type")) or ("photo" if message.get("photo") else "file")
        yield skipped(f"{media}: no text", where, expected=True)
        return
    chat, message_id = str(about.get("id", about.get("name"))), message.get("id")
    name = as_text(about.get("name")) or f"chat {chat}"
    edited = as_text(message.get("edited_unixtime") or message.get("edited"))
    local = as_text(message.get("date"))
    yield item(
        text,
        key=":".join((NAME, chat, str(message_id), *([edited] if edited else []))),
        where=where,
        source={"format": NAME, "chat": chat, "message": message_id, "user": message.get("from_id")},
        at=message.get("date_unixtime") or local,
        session=f"{name}/{day_of(local)}",
        speaker=as_text(message.get("from")) or as_text(message.get("from_id")) or None,
        role="user",
        meta={
            "chat": name,
            "reply_to": message.get("reply_to_message_id"),
            "forwarded_from": message.get("forwarded_from"),
            "via_bot": message.get("via_bot"),
            "edited": bool(edited) or None,
        },
    )


def _text(message: dict[str, Json]) -> str:
    """Join the pieces of a text; the URL of a link follows it."""
    text = message.get("text")
    if isinstance(text, str):
        words = text
    else:
        words = "".join(one if isinstance(one, str) else _piece(as_dict(one)) for one in as_list(text))
    poll = as_dict(message.get("poll"))
    if poll:
        answers = (as_text(as_dict(one).get("text")) for one in as_list(poll.get("answers")))
        words = "\n".join(part for part in (words, as_text(poll.get("question")), *answers) if part)
    return words


def _piece(entity: dict[str, Json]) -> str:
    text, address = as_text(entity.get("text")), as_text(entity.get("href"))
    return f"{text} ({address})" if address and address != text else text
