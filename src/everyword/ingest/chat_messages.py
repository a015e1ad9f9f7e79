"""Read chat messages, as the SDKs of OpenAI and Anthropic have them, into events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, cast

from msgspec import Struct, field

from everyword.errors import InvalidInput
from everyword.types.events import Json
from everyword.types.times import as_datetime

Message = Mapping[str, Any]

LEFT_OUT = "left_out"  # member of meta that counts what is not in the text, by type
_TOOL = "tool"
_READ = frozenset(("role", "content", "name", "at", "timestamp", "refusal", "tool_calls", "function_call"))
# What SDKs send beside the words, which says nothing that was said.
_IGNORED = frozenset(
    (
        "id", "type", "status", "model", "stop_reason", "stop_sequence", "usage", "annotations", "container",
        "tool_call_id", "call_id", "cache_control", "context_management", "service_tier", "phase",
    )
)  # fmt: skip
KNOWN_MEMBERS = _READ | _IGNORED
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_MARKED = {
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("document", "file", "input_file"), "file"),
    **dict.fromkeys(("input_audio", "audio"), "audio"),
}
_OF_TOOLS = ("tool_use", "tool_result", "tool_call", "function_call", "function_call_output")
_UNSAID = ("thinking", "redacted_thinking", "reasoning")
_KNOWN = (*_TEXTS, *_MARKED, *_UNSAID, "tool_use", "tool_result", "function_call", "function_call_output")


class Said(Struct):
    """The words of one event."""

    role: str
    name: str | None = None
    text: str = ""
    left_out: dict[str, int] = field(default_factory=dict[str, int])

    def take(self, part: Message) -> None:
        """Add a part of a message's content."""
        kind = part.get("type")
        if kind in _TEXTS:
            self.join(_text(part.get(_TEXTS[kind]), kind))
        elif kind in _MARKED:
            title = part.get("title") or part.get("filename") or part.get("name")
            self.mark(f"{_MARKED[kind]}: {title}" if isinstance(title, str) else _MARKED[kind])
        elif kind in _UNSAID:
            self.left_out["thinking"] = self.left_out.get("thinking", 0) + 1
        else:
            raise InvalidInput(f"unknown content part {kind!r}.", fix=f"Known are {', '.join(_KNOWN)}.")

    def join(self, part: str) -> None:
        """Add a part; a line break keeps it from running into the one before."""
        seam = self.text and part and not self.text[-1].isspace() and part[0].isalnum()
        self.text += f"\n{part}" if seam else part

    def mark(self, what: str) -> None:
        """Say in a line of its own what stood here."""
        self.text += f"{'' if not self.text or self.text.endswith(chr(10)) else chr(10)}[{what}]\n"


def events_of_messages(
    messages: Sequence[Message],
    *,
    session: str | None,
    at: datetime | date | str | float | None,
    wing: str | None,
    source: str | None,
    meta: Mapping[str, Json] | None,
    clock: Callable[[], datetime],
) -> list[dict[str, Json]]:
    """Read messages into events, in their order.

    Text parts are joined. A tool's call or result is an event with the role "tool". An image or a file leaves a mark in
    the text. Thinking is left out, and counted in `meta`. Anything unknown is refused.
    """
    events: list[dict[str, Json]] = []
    tools: dict[str, str] = {}  # id of a call -> name of the tool
    default = clock() if at is None else as_datetime(at)
    times = _Times()
    for number, message in enumerate(messages):
        try:
            times_said = map(message.get, ("at", "timestamp")) if isinstance(message, Mapping) else ()
            given = next((one for one in times_said if one is not None), None)
            moment = default if given is None else as_datetime(given)
            for said in said_in(message, tools):
                left_out = {LEFT_OUT: said.left_out} if said.left_out else {}
                events.append(
                    {
                        "text": said.text,
                        "speaker": said.name,
                        "role": said.role,
                        "session": session,
                        "at": times.apart(moment, said.text, said.name),
                        "wing": wing,
                        "source": source,
                        "meta": {**(meta or {}), **left_out},
                    }
                )
        except InvalidInput as error:
            raise InvalidInput(f"Message {number}: {error.detail}", fix=error.fix) from error
    return events


class _Times:
    """Keeps messages of one time in their order and apart: the same words at the same time would be one event."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._shift = timedelta()
        self._seen: set[tuple[datetime, str, str | None]] = set()

    def apart(self, moment: datetime, text: str, speaker: str | None) -> datetime:
        """Move a repetition, and what follows it, by a microsecond."""
        if moment != self._last:
            self._last, self._shift = moment, timedelta()
        try:
            while (moment + self._shift, text, speaker) in self._seen:
                self._shift += timedelta(microseconds=1)
        except OverflowError:
            raise InvalidInput("the same words were said before, and no later time can be told.") from None
        self._seen.add((moment + self._shift, text, speaker))
        return moment + self._shift


def said_in(message: Message, tools: dict[str, str]) -> Iterator[Said]:
    """Read one message into what was said and what tools did, in the order of its parts.

    tools: id of a call -> name of the tool; it is filled with the calls of the message.
    """
    for said in _read(message, tools):
        if said.text.endswith("]\n"):  # a mark has a line of its own
            said.text = said.text.removesuffix("\n")
        yield said


def _read(message: Message, tools: dict[str, str]) -> Iterator[Said]:
    if not isinstance(message, Mapping):
        raise InvalidInput(f"a message is a mapping with role and content, not {type(message).__name__}.")
    if message.get("type") in ("function_call", "function_call_output"):  # an item of OpenAI's Responses
        yield _tool(message, tools)
        return
    role, name = _role(message), message.get("name")
    if role in (_TOOL, "function"):
        called = tools.get(str(message.get("tool_call_id")), name)
        yield Said(_TOOL, called, _result_text(message.get("content")))
        return
    said = Said(role, name)
    for part in _parts(message):
        if not str(part.get("type")).endswith(_OF_TOOLS):
            said.take(part)
            continue
        if said.text:
            yield said
            said = Said(role, name)
        tool = _tool(part, tools)
        tool.left_out, said.left_out = said.left_out, {}
        yield tool
    if said.left_out and not said.text:
        said.mark("thinking left out")
    if said.text:
        yield said


def _role(message: Message) -> str:
    """Check the members of a message, and give its role."""
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise InvalidInput("role is missing.", fix='Give each message as {"role": "user", "content": "..."}.')
    unknown = [key for key, value in message.items() if value is not None and key not in KNOWN_MEMBERS]
    if unknown:
        raise InvalidInput(f"unknown member {unknown[0]!r}.", fix=f"Known are {', '.join(sorted(_READ))}.")
    return role


def _parts(message: Message) -> Iterator[Message]:
    """Give the parts of a message's content, and the tool calls that OpenAI has beside it."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, Sequence):
        for part in cast("Sequence[object]", content):
            if isinstance(part, str):
                yield {"type": "text", "text": part}
            elif isinstance(part, Mapping):
                yield cast("Message", part)
            else:
                raise InvalidInput(f"a content part is a mapping or a string, not {type(part).__name__}.")
    elif content is not None:
        raise InvalidInput(f"content is a string or a list of parts, not {type(content).__name__}.")
    if message.get("refusal"):
        yield {"type": "refusal", "refusal": message["refusal"]}
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise InvalidInput(f"tool_calls is a list of mappings, not {type(calls).__name__}.")
    for call in (*cast("Sequence[object]", calls), message.get("function_call")):
        if call is not None:
            yield _checked_call(call)


def _checked_call(call: object) -> Message:
    """Give a call as one flat mapping; OpenAI puts its name and arguments into a mapping inside."""
    if isinstance(call, Mapping):
        outer = cast("Message", call)
        inside: object = outer.get("function") or outer.get("custom") or outer
        if isinstance(inside, Mapping):
            return {"type": "function_call", "id": outer.get("id"), **cast("Message", inside)}
        call = inside
    raise InvalidInput(f"the call of a tool is a mapping, not {type(call).__name__}.")


def _tool(part: Message, tools: dict[str, str]) -> Said:
    """Read a call of a tool, as name(arguments), or the result of one."""
    kind = str(part.get("type"))
    id = str(part.get("call_id") or part.get("tool_use_id") or part.get("id"))
    if kind.endswith(("_result", "_output")):
        return Said(_TOOL, tools.get(id), _result_text(part.get("output", part.get("content"))))
    name = part.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a {kind} has no name.")
    tools[id] = name
    given = part.get("input", part.get("arguments", part.get("args")))
    return Said(_TOOL, name, f"{name}({given if isinstance(given, str) else '' if given is None else _json(given)})")


def _result_text(content: object) -> str:
    """Write what a tool gave as text; what is no text is written as JSON, so that nothing is lost."""
    said = Said(_TOOL)
    alone = isinstance(content, str) or not isinstance(content, Sequence)
    several = cast("Sequence[object]", (content,) if alone else content)
    for part in several:
        inside: Message = cast("Message", part) if isinstance(part, Mapping) else {}
        kind = inside.get("type")
        if isinstance(part, str):
            said.join(part)
        elif kind in _TEXTS:
            said.join(_text(inside.get(_TEXTS[kind]), kind))
        elif kind in _MARKED:
            said.mark(_MARKED[kind])
        elif part is not None:
            said.join(_json(cast("object", part)))
    return said.text if said.text.strip() else "[no output]"


def _text(value: object, kind: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"the {_TEXTS[kind]} of a {kind} part is a string, not {type(value).__name__}.")
    return value


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a tool's part can't be written as JSON ({error}).") from error
