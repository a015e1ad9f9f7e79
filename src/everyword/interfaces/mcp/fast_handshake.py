"""Answer the MCP handshake over stdio before the MCP package is loaded, since importing that takes a second.

The server builds its lists from the same constants, so that a client gets the same answers early and late.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from everyword import __version__
from everyword.interfaces.mcp.tools import AgentTool

NAME = "everyword"
TITLE = "Everyword: long-term memory"
INSTRUCTIONS = (
    "Long-term memory across conversations. Before answering anything that may rest on earlier conversations "
    "(people, preferences, decisions, plans, dates, past work), call `recall` or `context` with the question. When the "
    "user states something worth keeping, or asks to remember it, call `remember` with their own words, verbatim. Cite "
    "what you use by its date and speaker. If nothing is found, say so; never invent a memory."
)
SCHEME = "everyword://"
SESSION = f"{SCHEME}session/"
ANSWER = "recall_before_answering"
KEEP = "remember_this_conversation"

LISTED_PROMPTS: list[dict[str, Any]] = [
    {
        "name": ANSWER,
        "title": "Recall before answering",
        "description": "Answer a question from what is remembered, with sources.",
        "arguments": [{"name": "question", "description": "what you want to know", "required": True}],
    },
    {
        "name": KEEP,
        "title": "Remember this conversation",
        "description": "Keep what matters of this conversation, in the words that were used.",
    },
]
LISTED_TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": f"{SESSION}{{name}}",
        "name": "session",
        "title": "One session, in order",
        "description": "All that was said in a session, a line for each event with its id.",
        "mimeType": "text/plain",
    }
]

# Protocol revisions with this handshake. The MCP package negotiates others.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MOST_BYTES = 1 << 20  # of a handshake; real ones have a few hundred
_CHUNK_BYTES = 1 << 16
# JSON escapes: a surrogate pair, a lone surrogate (the group), or any other, so that "\\\\" starts none.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\.", re.DOTALL
)
_POLL_S = 0.02  # how often to check whether the package is loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """The process's standard streams, moved away from anything that prints, and the input read so far."""

    input: int
    output: int
    read: bytes
    answered_id: str | int | None = None  # the id of the initialize request that was answered

    def streams(self, refused: Callable[[str], dict[str, Any] | None]) -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
        """Return the input from its first byte, and an output that drops the second reply to `initialize`.

        refused: returns the error reply for an invalid line, or None for a valid one.
        """
        writer = _ReplyWriter(os.fdopen(self.output, "wb"), self.answered_id)

        def readable(line: str) -> bool:
            reply = refused(line)
            if reply is not None:
                writer.write(json.dumps(reply) + "\n")
                writer.flush()
            return reply is None

        return _MessageReader(io.BufferedReader(_ReplayedInput(self.read, self.input)), readable), writer


def shake_hands(prepare: Callable[[], None], results: Mapping[str, dict[str, Any]]) -> Handshake:
    """Take over the standard streams, wait for the first request, and answer it if it is `initialize`.

    prepare: loads the server, in a thread. Until it is done, `results` (by method) are sent.
    """
    standard_input, standard_output = os.dup(0), os.dup(1)
    # Other code that reads or prints must not disturb the protocol.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    read = _first_line(lambda: os.read(standard_input, _CHUNK_BYTES))
    answer = handshake_reply(read)
    if answer is None:
        return Handshake(input=standard_input, output=standard_output, read=read)
    _write(standard_output, json.dumps(answer).encode() + b"\n")
    preparing = threading.Thread(target=prepare, name="everyword-prepare", daemon=True)
    preparing.start()
    read = _answer_while_loading(preparing, read, standard_input, standard_output, results)
    return Handshake(input=standard_input, output=standard_output, read=read, answered_id=answer["id"])


def _answer_while_loading(
    preparing: threading.Thread, read: bytes, source: int, target: int, results: Mapping[str, dict[str, Any]]
) -> bytes:
    """Answer simple requests while the server loads; return the unanswered input."""
    kept, ended = b"", False
    while preparing.is_alive():
        line, end, rest = read.partition(b"\n")
        if end:
            reply = early_reply(line, results)
            if reply is None:
                kept += line + end
            else:
                _write(target, json.dumps(reply).encode() + b"\n")
            read = rest
        elif ended or len(read) > _MOST_BYTES or not _can_select(source):
            preparing.join()
        elif select.select([source], [], [], _POLL_S)[0]:
            chunk = os.read(source, _CHUNK_BYTES)
            ended, read = not chunk, read + chunk
    return kept + read


def _can_select(source: int) -> bool:
    """Return whether select() works on this stream."""
    try:
        select.select([source], [], [], 0)
    except (OSError, ValueError):  # Windows selects only on sockets
        return False
    return True


def early_results(tools: Mapping[str, AgentTool]) -> dict[str, dict[str, Any]]:
    """Return the results that can be sent before the server is loaded, by method."""
    return {
        "ping": {},
        "tools/list": {"tools": [tool.listed() for tool in tools.values()]},
        "prompts/list": {"prompts": LISTED_PROMPTS},
        "resources/templates/list": {"resourceTemplates": LISTED_TEMPLATES},
    }


def early_reply(line: bytes, results: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Answer a request for one of `results` without parameters; return None for any other line."""
    request = _request(line)
    if request is None or request["method"] not in results:
        return None
    if set(request["params"]) - {"_meta"}:  # a cursor, or an unknown parameter
        return None
    return {"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}


def handshake_reply(read: bytes) -> dict[str, Any] | None:
    """Answer an `initialize` request; return None for anything else."""
    request = _request(read.split(b"\n", 1)[0])
    if request is None or request["method"] != "initialize" or not _is_valid_initialize(request["params"]):
        return None
    return {
        "jsonrpc": "2.0",
        "id": request["id"],
        "result": {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {
                "completions": {},
                "logging": {},
                "prompts": {"listChanged": False},
                "resources": {"subscribe": True, "listChanged": True},
                "tools": {"listChanged": False},
            },
            "serverInfo": {"name": NAME, "title": TITLE, "version": __version__},
            "instructions": INSTRUCTIONS,
        },
    }


def _request(line: bytes) -> dict[str, Any] | None:
    """Read a JSON-RPC request, with parameters even if it has none; return None for anything else."""
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    request = cast("dict[str, Any]", read)
    id, method, params = request.get("id"), request.get("method"), request.setdefault("params", {})
    has_id = isinstance(id, str | int) and not isinstance(id, bool)
    is_request = request.get("jsonrpc") == "2.0" and isinstance(method, str) and isinstance(params, dict)
    return request if has_id and is_request else None


def _is_valid_initialize(params: dict[str, Any]) -> bool:
    client: Any = params.get("clientInfo")
    return (
        params.get("protocolVersion") in VERSIONS
        and isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and all(isinstance(cast("dict[str, Any]", client).get(name), str) for name in ("name", "version"))
    )


def without_lone_surrogates(line: str) -> str:
    """Replace lone surrogates, which programs write that cut a text in the middle of a character."""
    return _ESCAPE.sub(lambda found: "\\ufffd" if found[1] else found[0], line) if "\\u" in line else line


def _first_line(more: Callable[[], bytes]) -> bytes:
    read = b""
    while b"\n" not in read and len(read) < _MOST_BYTES:
        chunk = more()
        if not chunk:
            break
        read += chunk
    return read


def _write(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]


class _ReplayedInput(io.RawIOBase):
    """Raw input that starts with the bytes that were already read."""

    def __init__(self, read: bytes, fd: int) -> None:
        super().__init__()
        self._read = read
        self._fd = fd

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._read:
            self._read = os.read(self._fd, len(buffer))
        taken, self._read = self._read[: len(buffer)], self._read[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


class _MessageReader(io.TextIOWrapper):
    """Lines of messages, without invalid ones."""

    def __init__(self, raw: io.BufferedReader, readable: Callable[[str], bool]) -> None:
        super().__init__(raw, "utf-8", "replace")
        self._readable = readable

    def readline(self, size: int = -1, /) -> str:
        while line := super().readline(size):
            line = without_lone_surrogates(line)
            if line.strip() and self._readable(line):
                break
        return line


class _ReplyWriter(io.TextIOWrapper):
    """Lines of replies, without the second one to `initialize`."""

    def __init__(self, raw: io.BufferedWriter, answered_id: str | int | None) -> None:
        super().__init__(raw, "utf-8", newline="\n")
        self._answered_id = answered_id
        self._lock = threading.RLock()  # invalid lines are answered from another thread

    def write(self, text: str, /) -> int:
        with self._lock:
            if self._answered_id is not None and json.loads(text).get("id") == self._answered_id:
                self._answered_id = None
                return len(text)
            return super().write(text)

    def flush(self) -> None:
        with self._lock:
            super().flush()
