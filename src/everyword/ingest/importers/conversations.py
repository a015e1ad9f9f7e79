"""Conversations in plain files: chat messages as SDKs have them, and transcripts.

Chat messages are JSON or JSONL, as the SDKs of OpenAI, Anthropic and Google have them: a list of messages, one
conversation with `messages`, a list of conversations, or lines of either. A transcript has lines such as
`Speaker: what they said`, with or without a time; other lines continue the turn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec import Struct, field

from everyword.errors import InvalidInput
from everyword.ingest.chat_messages import KNOWN_MEMBERS, LEFT_OUT, said_in
from everyword.ingest.importers.records import (
    Item,
    Position,
    Record,
    as_list,
    as_moment,
    as_name,
    as_record,
    day_of,
    digest,
    item,
    left_out,
    skipped,
)
from everyword.ingest.importers.sources import Format, Source, holds
from everyword.ingest.importers.streaming import Line, blocks, each_json_record, lines
from everyword.types.events import Json

_LISTS = ("messages", "conversation", "conversations", "history", "items", "contents")
_TITLES = ("title", "name", "conversation_id", "session_id", "thread_id", "id")
_TIMES = ("at", "timestamp", "created_at", "createdAt", "create_time", "created", "time", "date")
_ROLES = {"human": "user", "gpt": "assistant", "model": "assistant"}


class _Conversation(Struct):
    path: str  # of the file
    session: str
    at: Json = None
    title: Json = None
    tools: dict[str, str] = field(default_factory=dict[str, str])  # id of a call -> name of the tool


def _read_messages(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    path = PurePosixPath(part).with_suffix("").as_posix()
    alone = _Conversation(path, path)

    def items_of(record: Json, number: int) -> Iterator[Item]:
        about = as_record(record)
        about = about.inner("body") or about  # a request of OpenAI's batches
        messages = next((as_list(about[name]) for name in _LISTS if isinstance(about.get(name), list)), None)
        if messages is None:
            yield from _message(record, alone)
            return
        title = next((about[name] for name in _TITLES if isinstance(about.get(name), str) and about[name]), None)
        said = _Conversation(path, f"{path}/{as_name(title) or number}", _time(about), title)
        for message in messages:
            yield from _message(message, said)

    return each_json_record(source, part, items_of)


def _message(given: Json, conversation: _Conversation) -> Iterator[Item]:
    message = _usual(as_record(given))
    known = {name: value for name, value in message.items() if name in KNOWN_MEMBERS}
    at = _time(message) or conversation.at
    try:
        every = list(said_in(known, conversation.tools))
        if not every:
            yield left_out("a message without text")
        for said in every:
            name = digest(conversation.session, str(at), said.role, said.name, said.text)
            yield item(
                said.text,
                key=f"{conversation.path}:{name}",
                source={"file": conversation.path, "message": message.get("id")},
                at=at,
                session=conversation.session,
                speaker=said.name or said.role,
                role=said.role,
                meta={"title": conversation.title, "model": message.get("model"), LEFT_OUT: said.left_out},
            )
    except InvalidInput as error:
        yield skipped(error.detail.rstrip("."), given)


def _usual(message: Record) -> dict[str, Json]:
    """Bring the members of other shapes to those of OpenAI and Anthropic: Google's `parts`, `from` and `value`."""
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("parts", message.get("value")))
    if isinstance(content, dict):  # ChatGPT's own shape
        content = as_record(content).get("parts")
    if isinstance(content, list):
        content = [{"type": "text", **one} if as_record(one).text("text") else one for one in as_list(content)]
    usual = {"role": _ROLES.get(role, role) if isinstance(role, str) else role, "content": content}
    return {**message, **{name: value for name, value in usual.items() if value is not None}}


def _time(about: dict[str, Json]) -> Json:
    return next((about[name] for name in _TIMES if about.get(name)), None)


MESSAGES = Format(
    "messages",
    (".json", ".jsonl", ".ndjson"),
    holds(
        rb'"role"\s*:\s*"(?:user|assistant|system|developer|tool|function|model|human)"'
        rb'|"from"\s*:\s*"(?:human|gpt)"|"type"\s*:\s*"function_call',
        confidence=0.75,
    ),
    _read_messages,
    REPEATS=True,
)  # a later line may name the tool of an earlier one, so the whole file is read


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


def _read_transcript(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    speakers = _speakers(source, part)
    path = PurePosixPath(part).with_suffix("").as_posix()

    def turn_of(line: Line) -> re.Match[str] | None:
        turn = _turn(line.text)
        return turn if turn and turn["speaker"].strip() in speakers else None

    with source.open(part) as file:
        for block in blocks(file, None, turn_of):
            turn: re.Match[str] | None = block.head
            if turn is None:
                yield skipped("before the first speaker", block.lines[0].text, where=block.where)
                continue
            text = "\n".join([turn["text"], *(line.text for line in block.lines[1:])]).rstrip()
            stamp = turn["before"] or turn["behind"] or ""
            moment = as_moment(stamp)
            yield item(
                text,
                # From the content, not the line number, so that inserting lines before it does not change it.
                key=f"{path}:{digest(turn['speaker'], stamp, text)}",
                source={"file": path, "line": block.lines[0].number},
                at=moment,
                session=f"{path}/{day_of(moment)}" if moment else path,
                speaker=turn["speaker"].strip(),
                role="user",
                meta={"clock": stamp if stamp and not moment else None},
            )


def _turn(row: str) -> re.Match[str] | None:
    turn = _TURN.match(row)
    return turn if turn and len(turn["speaker"].split()) <= _MAX_NAME_WORDS else None


def _speakers(source: Source, part: str) -> set[str]:
    """Find the speakers: names that recur. `Note:` and `Warning:` occur once."""
    with source.open(part) as file:
        turns = (_turn(line.text) for line in lines(file) if not line.too_long)
        counts = Counter(turn["speaker"].strip() for turn in turns if turn)
    return {name for name, times in counts.items() if times >= _MIN_TURNS or counts.total() <= _SHORT}


TRANSCRIPT = Format(
    "transcript", (".txt", ".md", ".log", ".transcript"), _recognise_transcript, _read_transcript, REPEATS=True
)  # new lines may continue the last turn
