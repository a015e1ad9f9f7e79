"""Slack's export, a zip or the folder unpacked from it: one folder per channel, one file per day, and lists of users.

Slack encodes names and characters as `<@U012AB>` and `&lt;`; events have the text as people saw it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_list,
    as_moment,
    as_text,
    day_of,
    item,
    skipped,
)
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import JsonStream, each_json_value
from everyword.types.events import Json

NAME = "slack"
GROWS = False
SUFFIXES = (".json",)

_DAY = re.compile(r"(?:.*/)?[^/]+/\d{4}-\d{2}-\d{2}\.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
# Subtypes without text; messages of people and bots have no subtype or another one.
_WITHOUT_TEXT = re.compile(
    r"(?:channel|group)_(?:join|leave|archive|unarchive|name|posting_permissions|convert_to_private)|"
    r"bot_(?:add|remove|enable|disable)|pinned_item|unpinned_item|tombstone|message_deleted|reminder_add|"
    r"sh_room_created|huddle_thread|hidden_by_system|reply_broadcast|app_conversation_join"
)


def recognise(source: Source, part: str) -> float:
    """Recognise one day of a channel."""
    head = source.head(part)
    return 0.95 if _DAY.fullmatch(part) and b'"type"' in head and b'"ts"' in head else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read one channel's day."""
    if "people" not in source.notes:
        source.notes.update(people=_people(source), channels=_channels(source))
    people: dict[str, str] = source.notes["people"]
    folder = PurePosixPath(part).parent.name
    channel: str = source.notes["channels"].get(PurePosixPath(part).parent, folder)

    def items_of(value: Json, number: int) -> Iterator[Item]:
        yield _message(as_dict(value), folder, channel, people, f"{part}, message {number + 1}")

    return each_json_value(source, part, after, items_of)


def _people(source: Source) -> dict[str, str]:
    """Map user ids to display names."""
    people: dict[str, str] = {}
    for _, user in _read_lists(source, "users.json"):
        profile = as_dict(user.get("profile"))
        names = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"), user.get("name"))
        name = next((text for text in map(as_text, names) if text), "")
        if name:
            people[as_text(user.get("id"))] = name
    return people


def _channels(source: Source) -> dict[PurePosixPath, str]:
    """Map channel folders to channel ids, which survive renaming."""
    return {
        folder / as_text(channel.get("name")): as_text(channel.get("id"))
        for folder, channel in _read_lists(source, *_LISTS)
    }


def _read_lists(source: Source, *wanted: str) -> Iterator[tuple[PurePosixPath, dict[str, Json]]]:
    """Read the entries of lists, each with the folder of its export: a folder may hold several exports."""
    for path in map(PurePosixPath, source.names):
        if path.name in wanted:
            with source.open(str(path)) as file, suppress(ValueError, RecursionError):
                for one in as_list(JsonStream(file).value()):
                    yield path.parent, as_dict(one)


def _message(message: dict[str, Json], folder: str, channel: str, people: dict[str, str], where: str) -> Item:
    subtype = as_text(message.get("subtype"))
    if subtype == "message_changed":
        message = {**message, **as_dict(message.get("message"))}
    if message.get("type") != "message":
        return skipped(f"unknown kind of entry: {as_text(message.get('type')) or 'none'}", where, message)
    if _WITHOUT_TEXT.fullmatch(subtype):
        return skipped(f"{subtype}: not a message", where, expected=True)
    stamp, thread = as_text(message.get("ts")), as_text(message.get("thread_ts"))
    edited = as_text(as_dict(message.get("edited")).get("ts"))
    user = as_text(message.get("user") or message.get("bot_id"))
    bot = subtype == "bot_message" or (bool(message.get("bot_id")) and not message.get("user"))
    return item(
        _as_displayed(_text(message), people),
        # An edited message is a new event; the earlier one stays.
        key=":".join((NAME, channel, stamp, *([edited] if edited else []))),
        where=where,
        source={"format": NAME, "channel": channel, "message": stamp, "user": user or None},
        at=stamp,
        session=f"#{folder}/{thread}" if thread else f"#{folder}/{day_of(as_moment(stamp))}",
        speaker=people.get(user) or _name_in_message(message) or user or None,
        role="assistant" if bot else "user",
        meta={
            "channel": folder,
            "thread": thread if thread != stamp else None,
            "edited": bool(edited) or None,
            "files": [as_dict(one).get("name") for one in as_list(message.get("files")) if as_dict(one).get("name")],
        },
    )


def _text(message: dict[str, Json]) -> str:
    """The text; bots often have it in attachments only."""
    text = as_text(message.get("text"))
    if text:
        return text
    attachments = map(as_dict, as_list(message.get("attachments")))
    pieces = [as_text(one.get("pretext")) + as_text(one.get("text") or one.get("fallback")) for one in attachments]
    return "\n".join(piece for piece in pieces if piece)


def _as_displayed(text: str, people: dict[str, str]) -> str:
    def shown(match: re.Match[str]) -> str:
        sign, target, label = match[1], match[2], match[3]
        if sign == "@":
            return "@" + (label or people.get(target, target))
        if sign in ("#", "!"):
            return ("#" if sign == "#" else "@") + (label or target).lstrip("@")
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_REFERENCE.sub(shown, text))


def _name_in_message(message: dict[str, Json]) -> str:
    profile = as_dict(message.get("user_profile") or message.get("bot_profile"))
    names = (message.get("username"), profile.get("real_name"), profile.get("display_name"), profile.get("name"))
    return next((text for text in map(as_text, names) if text), "")
