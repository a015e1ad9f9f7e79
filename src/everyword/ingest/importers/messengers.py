"""Exports of messengers: Slack, Telegram and WhatsApp."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_list,
    as_moment,
    as_text,
    day_of,
    digest,
    item,
    skipped,
    unread,
)
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import JsonStream, Line, each_json_value, lines
from everyword.types.events import Json

# Slack's export, a zip or the folder unpacked from it: one folder per channel, one file per day, and lists of users.
#
# Slack encodes names and characters as `<@U012AB>` and `&lt;`; events have the text as people saw it.

_DAY = re.compile(r"(?:.*/)?[^/]+/\d{4}-\d{2}-\d{2}\.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
# Subtypes without text; messages of people and bots have no subtype or another one.
_WITHOUT_TEXT = re.compile(
    r"(?:channel|group)_(?:join|leave|archive|unarchive|name|posting_permissions|convert_to_private)|"
    r"bot_(?:add|remove|enable|disable)|pinned_item|unpinned_item|tombstone|message_deleted|reminder_add|"
    r"sh_room_created|huddle_thread|hidden_by_system|reply_broadcast|app_conversation_join"
)


def _recognise_slack(source: Source, part: str) -> float:
    """Recognise one day of a channel."""
    head = source.head(part)
    return 0.95 if _DAY.fullmatch(part) and b'"type"' in head and b'"ts"' in head else 0.0


def _read_slack(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
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
        _as_displayed(_slack_text(message), people),
        # An edited message is a new event; the earlier one stays.
        key=":".join((SLACK.NAME, channel, stamp, *([edited] if edited else []))),
        where=where,
        source={"format": SLACK.NAME, "channel": channel, "message": stamp, "user": user or None},
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


def _slack_text(message: dict[str, Json]) -> str:
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


SLACK = Format(NAME="slack", SUFFIXES=(".json",), recognise=_recognise_slack, read=_read_slack)


# Telegram Desktop's `result.json`: one chat, or all chats of an account.

_CHAT_LISTS = ("chats", "left_chats")


def _recognise_telegram(source: Source, part: str) -> float:
    head = source.head(part)
    if b'"date_unixtime"' in head or (b'"messages"' in head and b'"from_id"' in head):
        return 0.95
    return 0.9 if b'"personal_information"' in head and (b'"chats"' in head or b'"contacts"' in head) else 0.0


def _read_telegram(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read the messages of each chat."""
    return each_json_value(source, part, after, lambda value, number: _items(value, number, part), _telegram_messages)


def _telegram_messages(stream: JsonStream) -> Iterator[tuple[dict[str, Json], Json]]:
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
                        yield from _telegram_messages(stream)
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
    text = _telegram_text(message)
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
        key=":".join((TELEGRAM.NAME, chat, str(message_id), *([edited] if edited else []))),
        where=where,
        source={"format": TELEGRAM.NAME, "chat": chat, "message": message_id, "user": message.get("from_id")},
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


def _telegram_text(message: dict[str, Json]) -> str:
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


TELEGRAM = Format(NAME="telegram", SUFFIXES=(".json",), recognise=_recognise_telegram, read=_read_telegram)


# WhatsApp's chat export: a text file (or the zip it comes in), in the locale of the phone.
#
# Date order, clock, brackets and spaces differ by phone and language, and the file does not say which it uses: the
# order of day and month is the one in which all dates exist and time runs forward.

_SPACE = "[ \u00a0\u202f]"
_MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"
_HEADER = re.compile(
    rf"[{_MARKS}]{{0,4}}\[?(\d{{1,4}})([./-])(\d{{1,2}})\2(\d{{1,4}}),?{_SPACE}(?:(?:klo|kl\.|um|at|às|alle){_SPACE})?"
    rf"(\d{{1,2}})[:.](\d{{2}})(?:[:.](\d{{2}}))?(?:{_SPACE}?([AaPp])\.?{_SPACE}?[Mm]\.?)?(?:\]|{_SPACE}[-–]){_SPACE}(.*)",
    re.DOTALL,
)
# System messages quote the changed text, which may hold a colon; a name quotes a nickname at most.
_SPEAKER = re.compile(
    rf"[{_MARKS}~\u00a0\u202f ]{{0,6}}((?:[^:\n\"“”„]|[\"“„][^\"“”„:\n]{{1,40}}[\"“”]){{1,120}}): (.*)", re.DOTALL
)
_PLACEHOLDER = re.compile(rf"[{_MARKS}]?(?:<[^<>\n]{{1,60}}>|[\w .-]{{1,80}}\.\w{{2,5}} \([^()\n]{{1,40}}\)|null)\s*")
_CENTURY = 2000  # WhatsApp started in 2009
_LATEST_HOUR = {"a": 0, "p": 12}


class _Message(NamedTuple):
    """A message whose lines are being collected."""

    header: re.Match[str]
    first: Line
    more: list[str]


def _recognise_whatsapp(source: Source, part: str) -> float:
    rows = [row for row in source.head(part).decode("utf-8", "replace").splitlines() if row.strip()]
    if not rows or not _HEADER.match(rows[0]):
        return 0.0
    return 0.9 if len(rows) == 1 or any(_HEADER.match(row) for row in rows[1:]) else 0.6


def _read_whatsapp(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read messages; the whole file is read even when resuming, since keys count repeated messages."""
    return unread(_whatsapp_items(source, part), after)


def _whatsapp_items(source: Source, part: str) -> Iterator[Item]:
    order = _date_order(source, part)
    chat = _chat_name(source, part)
    minute: str | None = ""
    seen: Counter[str] = Counter()  # of a minute: the same text twice is two messages
    with source.open(part) as file:
        for message in _whatsapp_messages(lines(file), part):
            if not isinstance(message, _Message):
                yield message
                continue
            at = _moment(message.header, order)
            if at != minute:
                minute = at
                seen.clear()
            content = digest(message.header[9], *message.more)
            seen[content] += 1
            yield _item(message, at, chat, part, f"{content}:{seen[content]}")


def _whatsapp_messages(rows: Iterator[Line], part: str) -> Iterator[_Message | Item]:
    """Collect messages; lines without a date continue the previous one."""
    current: _Message | None = None
    for line in rows:
        header = None if line.too_long else _HEADER.match(line.text)
        if header:
            if current:
                yield current
            current = _Message(header, line, [])
        elif current:
            current.more.append(line.text)
        elif line.text.strip():
            yield skipped("before the first message", f"{part}, line {line.number}", line.text)
    if current:
        yield current


def _date_order(source: Source, part: str) -> str:
    """Find which of day, month and year comes first: "ymd", "dmy" or "mdy"."""
    dates: list[tuple[int, int, int]] = []
    separators: set[str] = set()
    twelve_hours = False
    with source.open(part) as file:
        for line in lines(file):
            header = _HEADER.match(line.text)
            if header:
                date = (int(header[1]), int(header[3]), int(header[4]))
                if not dates or dates[-1] != date:
                    dates.append(date)
                separators.add(header[2])
                # "3:05 PM" is American, with the month first; "pm" and "p. m." are not.
                twelve_hours = twelve_hours or (header[8] or "").isupper()
    if any(first > 31 for first, _, _ in dates):
        return "ymd"
    if separators == {"."} or any(first > 12 for first, _, _ in dates):
        return "dmy"
    if any(second > 12 for _, second, _ in dates):
        return "mdy"
    back = {"dmy": 0, "mdy": 0}
    for earlier, later in pairwise(dates):
        back["dmy"] += (later[2], later[1], later[0]) < (earlier[2], earlier[1], earlier[0])
        back["mdy"] += (later[2], later[0], later[1]) < (earlier[2], earlier[0], earlier[1])
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    return "mdy" if twelve_hours and separators == {"/"} else "dmy"


def _moment(header: re.Match[str], order: str) -> str | None:
    numbers = dict(zip(order, (int(header[1]), int(header[3]), int(header[4])), strict=True))
    year = numbers["y"] + (_CENTURY if numbers["y"] < 100 else 0)
    hour = int(header[5])
    if header[8]:
        hour = hour % 12 + _LATEST_HOUR[header[8].lower()]
    try:
        return datetime(year, numbers["m"], numbers["d"], hour, int(header[6]), int(header[7] or 0)).isoformat()
    except ValueError:
        return None


def _chat_name(source: Source, part: str) -> str:
    """The name of the chat: its file's, or the zip's if the file is `_chat.txt`."""
    stem = PurePosixPath(part).stem
    if stem == "_chat":
        stem = source.title if source.kind == "zip" else PurePosixPath(part).parent.name or source.title
    return re.sub(r"^WhatsApp[ -]{1,3}Chat(?:[ -]{1,3}|_)(?:with |mit |con |avec |com )?", "", stem) or stem


def _item(message: _Message, at: str | None, chat: str, part: str, name: str) -> Item:
    where = f"{part}, line {message.first.number}"
    match = _SPEAKER.fullmatch(message.header[9])
    if not match:
        return skipped("a notice of the program", where, message.header[9], expected=True)
    speaker, first = match[1].strip(), match[2]
    text = "\n".join([first, *message.more]).rstrip()
    if _PLACEHOLDER.fullmatch(text) or (first.startswith("\u200e") and "<" not in first and not message.more):
        return skipped("a picture, sound or notice without text", where, text, expected=True)
    text = text.lstrip(_MARKS)
    if at is None:
        return skipped("a date that does not exist", where, message.header[0])
    return item(
        text,
        key=f"{WHATSAPP.NAME}:{chat}:{at}:{name}",
        where=where,
        source={"format": WHATSAPP.NAME, "chat": chat, "line": message.first.number},
        at=at,
        session=f"{chat}/{day_of(at)}",
        speaker=speaker,
        role="user",
        meta={"chat": chat},
    )


WHATSAPP = Format(NAME="whatsapp", SUFFIXES=(".txt",), recognise=_recognise_whatsapp, read=_read_whatsapp)
