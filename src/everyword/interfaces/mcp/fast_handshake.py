"""Answer the MCP handshake over stdio before the MCP package is loaded, since importing that takes a second.

The server builds its lists from the same constants, so that a client gets the same answers early and late.
"""

from __future__ import annotations

import json
import os
import queue
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from msgspec import Struct

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
# JSON escapes: a surrogate pair, a lone surrogate (the group), or any other, so that "\\\\" starts none.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\.", re.DOTALL
)
_POLL_S = 0.02  # how often to check whether the package is loaded


class Handshake(Struct, frozen=True):
    """The process's standard streams, moved away from anything that prints."""

    next_line: Callable[[], bytes]  # waits for it; b"" at the end
    output: int
    answered_id: str | int | None = None  # the id of the initialize request that was answered


def shake_hands(prepare: Callable[[], None], results: Mapping[str, dict[str, Any]]) -> Handshake:
    """Take over the standard streams, wait for the first request, and answer it if it is `initialize`.

    prepare: loads the server, in a thread. Until it is done, `results` (by method) are sent. What was read and not
    answered is read again, and `initialize` in any case.
    """
    source, target = os.dup(0), os.dup(1)
    # Other code that reads or prints must not disturb the protocol.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(source, lines), name="everyword-read", daemon=True).start()
    unanswered = deque([lines.get()])

    def next_line() -> bytes:
        return unanswered.popleft() if unanswered else lines.get()

    answer = handshake_reply(unanswered[0])
    if answer is None:
        return Handshake(next_line, target)
    write_line(target, json.dumps(answer))
    preparing = threading.Thread(target=prepare, name="everyword-prepare", daemon=True)
    preparing.start()
    while preparing.is_alive() and unanswered[-1]:
        with suppress(queue.Empty):
            line = lines.get(timeout=_POLL_S)
            reply = early_reply(line, results)
            if reply is None:
                unanswered.append(line)
            else:
                write_line(target, json.dumps(reply))
    preparing.join()
    return Handshake(next_line, target, answer["id"])


def _read_lines(source: int, lines: queue.SimpleQueue[bytes]) -> None:
    with os.fdopen(source, "rb") as file:
        for line in file:
            lines.put(line)
    lines.put(b"")


def write_line(target: int, text: str) -> None:
    content = text.encode() + b"\n"
    while content:
        content = content[os.write(target, content) :]


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


def handshake_reply(line: bytes) -> dict[str, Any] | None:
    """Answer an `initialize` request; return None for anything else."""
    request = _request(line)
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
