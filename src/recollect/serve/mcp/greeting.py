"""The first replies, before the protocol's package is even imported.

Reading that package from disk takes longer than a client should wait for the handshake. The reply to it is always the
same, so it is given at once; the request then goes to the package like any other, and its own reply, which would be the
second, is dropped. While the package is being read, lists that are always the same are given too (`early.py`); those
requests the package never sees. What is not plainly one of these is left to it. A test holds all replies together.

The package reads half a character as no JSON, and answers nothing to what it can't read. Here the one is mended and the
other answered, so that no client waits for ever.
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

from recollect import __version__
from recollect.serve.mcp.early import early_reply
from recollect.serve.mcp.identity import INSTRUCTIONS, NAME, TITLE

# The revisions that have this handshake. A newer one is refused or bargained over by the package.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_MOST_BYTES = 1 << 20  # of a handshake; real ones have some hundred
_CHUNK_BYTES = 1 << 16
# One escape after another, so that a backslash that stands for itself begins none: a whole character of two halves,
# half a one (the group), any other.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\.", re.DOTALL
)
_LOOK_S = 0.02  # between two looks at whether the package is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """The process's own streams, moved out of the way of anything that prints, and what was said on them so far."""

    input: int
    output: int
    read: bytes
    greeted: str | int | None = None  # the id of the request that has its reply

    def streams(self, refused: Callable[[str], dict[str, Any] | None]) -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
        """Give what the client says, from its first byte on, and the way back, on which nothing is answered twice.

        refused: the reply to a line that is no message; None for one that the package reads.
        """
        writer = _Once(os.fdopen(self.output, "wb"), self.greeted)

        def readable(line: str) -> bool:
            reply = refused(line)
            if reply is not None:
                writer.write(json.dumps(reply) + "\n")
                writer.flush()
            return reply is None

        return _Heard(io.BufferedReader(_Replayed(self.read, self.input)), readable), writer


def greet(prepare: Callable[[], None], results: Mapping[str, dict[str, Any]]) -> Greeting:
    """Take the process's streams, wait for the first request, and answer it if it is a handshake.

    prepare: loads what will answer everything else, in a thread; until it is done, `results` are given by method.
    """
    standard_input, standard_output = os.dup(0), os.dup(1)
    # Whatever else reads or prints in this process must not break into the protocol.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    read = _first_line(lambda: os.read(standard_input, _CHUNK_BYTES))
    answer = reply_to(read)
    if answer is None:
        return Greeting(input=standard_input, output=standard_output, read=read)
    _write(standard_output, json.dumps(answer).encode() + b"\n")
    preparing = threading.Thread(target=prepare, name="recollect-prepare", daemon=True)
    preparing.start()
    read = _meanwhile(preparing, read, standard_input, standard_output, results)
    return Greeting(input=standard_input, output=standard_output, read=read, greeted=answer["id"])


def _meanwhile(
    preparing: threading.Thread, read: bytes, source: int, target: int, results: Mapping[str, dict[str, Any]]
) -> bytes:
    """Answer what can be answered while the rest is loaded; give what was said and is not answered yet."""
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
        elif ended or len(read) > _MOST_BYTES or not _can_wait_for(source):
            preparing.join()
        elif select.select([source], [], [], _LOOK_S)[0]:
            chunk = os.read(source, _CHUNK_BYTES)
            ended, read = not chunk, read + chunk
    return kept + read


def _can_wait_for(source: int) -> bool:
    """Tell whether this system can wait for a stream without being stuck in it."""
    try:
        select.select([source], [], [], 0)
    except (OSError, ValueError):  # Windows, for anything but sockets
        return False
    return True


def reply_to(read: bytes) -> dict[str, Any] | None:
    """Answer a handshake; None for anything that is not plainly one."""
    try:
        request: Any = json.loads(read.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(request, dict):
        return None
    request = cast("dict[str, Any]", request)
    id, params = request.get("id"), request.get("params")
    if request.get("method") != "initialize" or request.get("jsonrpc") != "2.0" or not isinstance(id, str | int):
        return None
    if isinstance(id, bool) or not _is_plain(params):
        return None
    return {
        "jsonrpc": "2.0",
        "id": id,
        "result": {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {
                "prompts": {"listChanged": False},
                "resources": {"subscribe": True, "listChanged": True},
                "tools": {"listChanged": False},
            },
            "serverInfo": {"name": NAME, "title": TITLE, "version": __version__},
            "instructions": INSTRUCTIONS,
        },
    }


def _is_plain(params: Any) -> bool:
    if not isinstance(params, dict) or not isinstance(who := cast("dict[str, Any]", params).get("clientInfo"), dict):
        return False
    given, client = cast("dict[str, Any]", params), cast("dict[str, Any]", who)
    return (
        given.get("protocolVersion") in VERSIONS
        and isinstance(given.get("capabilities"), dict)
        and all(isinstance(client.get(name), str) for name in ("name", "version"))
    )


def mended(line: str) -> str:
    """Replace half a character, as a program writes that cuts a text in the middle of one."""
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


class _Replayed(io.RawIOBase):
    """A stream that begins with what was read of it already."""

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


class _Heard(io.TextIOWrapper):
    """A stream of messages, a line each, without those that nobody can read."""

    def __init__(self, raw: io.BufferedReader, readable: Callable[[str], bool]) -> None:
        super().__init__(raw, "utf-8", "replace")
        self._readable = readable

    def readline(self, size: int = -1, /) -> str:
        while line := super().readline(size):
            line = mended(line)
            if line.strip() and self._readable(line):
                break
        return line


class _Once(io.TextIOWrapper):
    """A stream of replies, a line each, without the one that was given before."""

    def __init__(self, raw: io.BufferedWriter, greeted: str | int | None) -> None:
        super().__init__(raw, "utf-8", newline="\n")
        self._greeted = greeted
        self._turn = threading.RLock()  # who refuses a line is in another thread than who answers one

    def write(self, text: str, /) -> int:
        with self._turn:
            if self._greeted is not None and json.loads(text).get("id") == self._greeted:
                self._greeted = None
                return len(text)
            return super().write(text)

    def flush(self) -> None:
        with self._turn:
            super().flush()
