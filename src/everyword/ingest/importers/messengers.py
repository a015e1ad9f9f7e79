"""Exports of messengers: Slack, Telegram and WhatsApp."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePosixPath

from everyword.ingest.importers.records import (
    Item,
    Position,
    Record,
    as_list,
    as_moment,
    as_record,
    day_of,
    digest,
    item,
    joined_text,
    left_out,
    skipped,
)
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import Block, JsonStream, blocks, each_json_value, json_values, lines
from everyword.text.written_times import LATEST_HOUR, day_of_numbers, order_of
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
    head = source.head(part)
    return 0.95 if _DAY.fullmatch(part) and b'"type"' in head and b'"ts"' in head else 0.0


def _read_slack(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    if "people" not in source.notes:
        people = {user.text("id"): _user_name(user) for _, user in _read_lists(source, "users.json")}
        # Channel ids survive renaming; the folders have the names.
        channels = {
            folder / channel.text("name"): channel.text("id") for folder, channel in _read_lists(source, *_LISTS)
        }
        source.notes.update(people={id: name for id, name in people.items() if name}, channels=channels)
    people: dict[str, str] = source.notes["people"]
    folder = PurePosixPath(part).parent
    channel: str = source.notes["channels"].get(folder, folder.name)
    return each_json_value(source, part, lambda value, _: [_slack_item(as_record(value), folder.name, channel, people)])


def _user_name(user: Record) -> str:
    profile = user.inner("profile")
    return profile.text("real_name") or user.text("real_name") or profile.text("display_name") or user.text("name")


def _read_lists(source: Source, *wanted: str) -> Iterator[tuple[PurePosixPath, Record]]:
    """Read the entries of lists, each with the folder of its export: a folder may hold several exports."""
    for path in map(PurePosixPath, source.names):
        if path.name in wanted:
            with source.open(str(path)) as file, suppress(ValueError, RecursionError):
                for one in as_list(JsonStream(file).value()):
                    yield path.parent, as_record(one)


def _slack_item(message: Record, folder: str, channel: str, people: dict[str, str]) -> Item:
    subtype = message.text("subtype")
    if subtype == "message_changed":
        message = Record({**message, **message.inner("message")})
    if message.get("type") != "message":
        return skipped(f"unknown kind of entry: {message.text('type') or 'none'}", message)
    if _WITHOUT_TEXT.fullmatch(subtype):
        return left_out(f"{subtype}: not a message")
    stamp, thread = message.text("ts"), message.text("thread_ts")
    edited = message.inner("edited").text("ts")
    user = message.text("user", "bot_id")
    bot = subtype == "bot_message" or (bool(message.get("bot_id")) and not message.get("user"))
    profile = as_record(message.get("user_profile") or message.get("bot_profile"))
    files = [one.get("name") for one in message.each("files")]
    name = people.get(user) or message.text("username") or profile.text("real_name", "display_name", "name")
    return item(
        _as_displayed(_slack_text(message), people),
        # An edited message is a new event; the earlier one stays.
        key=":".join((channel, stamp, *([edited] if edited else []))),
        source={"channel": channel, "message": stamp, "user": user or None},
        at=stamp,
        session=f"#{folder}/{thread or day_of(as_moment(stamp))}",
        speaker=name or user or None,
        role="assistant" if bot else "user",
        meta={
            "channel": folder,
            "thread": thread if thread != stamp else None,
            "edited": bool(edited) or None,
            "files": [name for name in files if name],
        },
    )


def _slack_text(message: Record) -> str:
    """The text; bots often have it in attachments only."""
    attachments = message.each("attachments")
    pieces = [one.text("pretext") + one.text("text", "fallback") for one in attachments]
    return message.text("text") or joined_text(pieces)


def _as_displayed(text: str, people: dict[str, str]) -> str:
    def shown(match: re.Match[str]) -> str:
        sign, target, label = match[1], match[2], match[3]
        if sign == "@":
            return "@" + (label or people.get(target, target))
        if sign in ("#", "!"):
            return ("#" if sign == "#" else "@") + (label or target).lstrip("@")
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_REFERENCE.sub(shown, text))


SLACK = Format("slack", (".json",), _recognise_slack, _read_slack)


# Telegram Desktop's `result.json`: one chat, or all chats of an account.

_CHAT_LISTS = ("chats", "left_chats")


def _recognise_telegram(source: Source, part: str) -> float:
    head = source.head(part)
    if b'"date_unixtime"' in head or (b'"messages"' in head and b'"from_id"' in head):
        return 0.95
    return 0.9 if b'"personal_information"' in head and (b'"chats"' in head or b'"contacts"' in head) else 0.0


def _telegram_messages(stream: JsonStream) -> Iterator[tuple[Record, Json]]:
    """Find every list of messages; yield each message with the fields of its chat."""
    about = Record()
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


def _telegram_items(value: tuple[Record, Json], _number: int) -> Iterator[Item]:
    about, message = value[0], as_record(value[1])
    kind = message.text("type")
    if kind == "service":
        yield left_out(f"{message.text('action')}: not a message")
        return
    if kind != "message":
        yield skipped(f"unknown kind of entry: {kind or 'none'}", message)
        return
    text = _telegram_text(message)
    if not text:
        media = message.text("media_type") or ("photo" if message.get("photo") else "file")
        yield left_out(f"{media}: no text")
        return
    chat, message_id = str(about.get("id", about.get("name"))), message.get("id")
    name = about.text("name") or f"chat {chat}"
    edited = message.text("edited_unixtime", "edited")
    local = message.text("date")
    yield item(
        text,
        key=":".join((chat, str(message_id), *([edited] if edited else []))),
        source={"chat": chat, "message": message_id, "user": message.get("from_id")},
        at=message.get("date_unixtime") or local,
        session=f"{name}/{day_of(local)}",
        speaker=message.text("from", "from_id") or None,
        role="user",
        meta={
            "chat": name,
            "reply_to": message.get("reply_to_message_id"),
            "forwarded_from": message.get("forwarded_from"),
            "via_bot": message.get("via_bot"),
            "edited": bool(edited) or None,
        },
    )


def _telegram_text(message: Record) -> str:
    """Join the pieces of a text; the URL of a link follows it. A poll has its question and answers."""
    text = message.get("text")
    words = joined_text([one if isinstance(one, str) else _piece(as_record(one)) for one in as_list(text)] or text, "")
    poll = message.inner("poll")
    return joined_text([words, poll.get("question"), *as_list(poll.get("answers"))])


def _piece(entity: Record) -> str:
    text, address = entity.text("text"), entity.text("href")
    return f"{text} ({address})" if address and address != text else text


TELEGRAM = Format("telegram", (".json",), _recognise_telegram, json_values(_telegram_items, _telegram_messages))


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
# What WhatsApp writes in the place of a deleted message, in five languages; on an iPhone a mark precedes it.
_DELETED = (
    *("This message was deleted", "You deleted this message"),
    *("Diese Nachricht wurde gelöscht", "Du hast diese Nachricht gelöscht"),
    *("Se eliminó este mensaje", "Eliminaste este mensaje"),
    *("Ce message a été supprimé", "Vous avez supprimé ce message"),
    *("Questo messaggio è stato eliminato", "Hai eliminato questo messaggio"),
)


def _recognise_whatsapp(source: Source, part: str) -> float:
    rows = [row for row in source.head(part).decode("utf-8", "replace").splitlines() if row.strip()]
    if not rows or not _HEADER.match(rows[0]):
        return 0.0
    return 0.9 if len(rows) == 1 or any(_HEADER.match(row) for row in rows[1:]) else 0.6


def _read_whatsapp(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    """Read messages; lines without a date continue the previous one."""
    order = _date_order(source, part)
    chat = _chat_name(source, part)
    with source.open(part) as file:
        for block in blocks(file, None, lambda line: _HEADER.match(line.text)):
            yield _whatsapp_item(block, order, chat)


def _whatsapp_item(block: Block, order: str, chat: str) -> Item:
    where, header, line = block.where, block.head, block.lines[0]
    if header is None:
        return skipped("before the first message", line.text, where=where)
    match = _SPEAKER.fullmatch(header[9])
    if not match:
        return skipped("a notice of the program", header[9], where=where, expected=True)
    speaker, first, more = match[1].strip(), match[2], [one.text for one in block.lines[1:]]
    text = "\n".join([first, *more]).rstrip()
    if _PLACEHOLDER.fullmatch(text) or (first.startswith("\u200e") and "<" not in first and not more):
        return skipped("a picture, sound or notice without text", text, where=where, expected=True)
    if text.strip(f"{_MARKS} .") in _DELETED:
        return skipped("a deleted message", where=where, expected=True)
    at = _moment(header, order)
    if at is None:
        return skipped("a date that does not exist", header[0], where=where)
    return item(
        text.lstrip(_MARKS),
        key=f"{chat}:{at}:{digest(header[9], *more)}",
        source={"chat": chat, "line": line.number},
        at=at,
        session=f"{chat}/{day_of(at)}",
        speaker=speaker,
        role="user",
        meta={"chat": chat},
    )


def _date_order(source: Source, part: str) -> str:
    """Find which of day, month and year comes first: "ymd", "dmy" or "mdy"."""
    with source.open(part) as file:
        headers = [header.group(1, 2, 3, 4, 8) for line in lines(file) if (header := _HEADER.match(line.text))]
    dates = [(int(first), int(second), int(third)) for first, _, second, third, _ in headers]
    separators = {header[1] for header in headers}
    # "3:05 PM" is American, with the month first; "pm" and "p. m." are not.
    twelve_hours = any((header[4] or "").isupper() for header in headers)
    if known := order_of(dates):
        return known
    if separators == {"."}:
        return "dmy"
    back = {"dmy": 0, "mdy": 0}
    for earlier, later in pairwise(dates):
        back["dmy"] += later[::-1] < earlier[::-1]
        back["mdy"] += (later[2], *later[:2]) < (earlier[2], *earlier[:2])
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    return "mdy" if twelve_hours and separators == {"/"} else "dmy"


def _moment(header: re.Match[str], order: str) -> str | None:
    hour = int(header[5])
    if header[8]:
        hour = hour % 12 + LATEST_HOUR[header[8].lower()]
    try:
        day = day_of_numbers((int(header[1]), int(header[3]), int(header[4])), order)
        return day.replace(hour=hour, minute=int(header[6]), second=int(header[7] or 0)).isoformat()
    except ValueError:
        return None


def _chat_name(source: Source, part: str) -> str:
    """The name of the chat: its file's, or the zip's if the file is `_chat.txt`."""
    stem = PurePosixPath(part).stem
    if stem == "_chat":
        stem = source.title if source.kind == "zip" else PurePosixPath(part).parent.name or source.title
    return re.sub(r"^WhatsApp[ -]{1,3}Chat(?:[ -]{1,3}|_)(?:with |mit |con |avec |com )?", "", stem) or stem


WHATSAPP = Format("whatsapp", (".txt",), _recognise_whatsapp, _read_whatsapp, REPEATS=True)
