"""Conversations in plain files: chat messages as SDKs have them, and transcripts.

Chat messages are JSON or JSONL, as the SDKs of OpenAI, Anthropic and Google have them: a list of messages, one
conversation with `messages`, a list of conversations, or lines of either. A transcript has lines such as
`Speaker: what they said`, with or without a time; other lines continue the turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from everyword.errors import InvalidInput
from everyword.ingest.chat_messages import KNOWN_MEMBERS, LEFT_OUT, said_in
from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_list,
    as_moment,
    as_name,
    as_text,
    day_of,
    digest,
    item,
    repeated,
    skipped,
    unread,
)
from everyword.ingest.importers.sources import Format, Source, suffix
from everyword.ingest.importers.streaming import Line, each_json_line, each_json_value, lines
from everyword.types.events import Json

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


def _recognise_messages(source: Source, part: str) -> float:
    return 0.75 if _SIGN.search(source.head(part)) else 0.0


def _read_messages(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
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
    return unread(items, after)


def _message(
    given: Json, conversation: _Conversation, where: str, path: str, seen: Counter[str], modified: datetime | None
) -> Iterator[Item]:
    message = _usual(as_dict(given))
    known = {name: value for name, value in message.items() if name in KNOWN_MEMBERS}
    at = _time(message) or conversation.at
    try:
        for said in said_in(known, conversation.tools):
            name = digest(conversation.session, str(at), said.role, said.name, said.text)
            yield item(
                said.text,
                key=f"{MESSAGES.NAME}:{path}:{repeated(name, seen)}",
                where=where,
                source={"format": MESSAGES.NAME, "file": path, "message": message.get("id")},
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


MESSAGES = Format(
    NAME="messages", SUFFIXES=(".json", ".jsonl", ".ndjson"), recognise=_recognise_messages, read=_read_messages
)  # a later line may name the tool of an earlier one


_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
_TURN = re.compile(
    rf"\s{{0,8}}(?:[\[(]?(?P<before>\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK}Z?)?|{_CLOCK})[\])]?[ \t-]{{1,3}})?"
    r"(?:\*\*|__)?(?P<speaker>[^\W\d_][\w.'’ -]{0,39}?)(?:[ \t]?[\[(](?P<behind>[\d:T -]{4,20}Z?)[\])])?"
    r"(?:\*\*|__)?:(?:\*\*|__)?[ \t]+(?P<text>\S.*)",
    re.DOTALL,
)
_MAX_NAME_WORDS = 4  # of a speaker's name; more words are a sentence with a colon
_MIN_TURNS = 2  # of a speaker, unless the file is short
_SHORT = 8  # turns: in such a short file, one turn is enough


def _recognise_transcript(source: Source, part: str) -> float:
    """Return the confidence: most lines are turns, of the same few people."""
    rows = [row for row in source.head(part).decode("utf-8", "replace").splitlines() if row.strip()]
    turns = [turn for row in rows if (turn := _turn(row))]
    speakers = {turn["speaker"] for turn in turns}
    if len(turns) < _MIN_TURNS or len(speakers) > max(2, len(turns) // 2):
        return 0.0
    return 0.7 * len(turns) / len(rows)


def _read_transcript(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read turn by turn; the whole file is read even when resuming, since keys count repeated turns."""
    return unread(_turns(source, part), after)


def _turns(source: Source, part: str) -> Iterator[Item]:
    speakers = _speakers(source, part)
    path = PurePosixPath(part).with_suffix("").as_posix()
    modified = source.modified(part)
    seen: Counter[str] = Counter()
    current: tuple[re.Match[str], Line, list[str]] | None = None

    def finished(turn: re.Match[str], line: Line, more: list[str]) -> Item:
        text = "\n".join([turn["text"], *more]).rstrip()
        stamp = turn["before"] or turn["behind"] or ""
        moment = as_moment(stamp)
        # From the content, not the line number, so that inserting lines before it does not change it.
        name = digest(turn["speaker"], stamp, text)
        return item(
            text,
            key=f"{TRANSCRIPT.NAME}:{path}:{repeated(name, seen)}",
            where=f"{part}, line {line.number}",
            source={"format": TRANSCRIPT.NAME, "file": path, "line": line.number},
            at=moment,
            otherwise_at=modified,
            session=f"{path}/{day_of(moment)}" if moment else path,
            speaker=turn["speaker"].strip(),
            role="user",
            meta={"clock": stamp if stamp and not moment else None},
        )

    with source.open(part) as file:
        for line in lines(file):
            turn = None if line.too_long else _turn(line.text)
            if turn and turn["speaker"].strip() in speakers:
                if current:
                    yield finished(*current)
                current = (turn, line, [])
            elif current:
                current[2].append(line.text)
            elif line.text.strip():
                yield skipped("before the first speaker", f"{part}, line {line.number}", line.text)
    if current:
        yield finished(*current)


def _turn(row: str) -> re.Match[str] | None:
    turn = _TURN.match(row)
    return turn if turn and len(turn["speaker"].split()) <= _MAX_NAME_WORDS else None


def _speakers(source: Source, part: str) -> set[str]:
    """Find the speakers: names that recur. `Note:` and `Warning:` occur once."""
    counts: Counter[str] = Counter()
    with source.open(part) as file:
        for line in lines(file):
            turn = None if line.too_long else _turn(line.text)
            if turn:
                counts[turn["speaker"].strip()] += 1
    if counts.total() <= _SHORT:
        return set(counts)
    return {name for name, times in counts.items() if times >= _MIN_TURNS}


TRANSCRIPT = Format(
    NAME="transcript",
    SUFFIXES=(".txt", ".md", ".log", ".transcript"),
    recognise=_recognise_transcript,
    read=_read_transcript,
)  # new lines may continue the last turn
