"""What can be answered before the protocol's package is loaded: lists that are the same for every client.

The server makes its own lists of these too, so that a client sees the same whoever answers; a test holds both together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from recollect.serve.mcp.tools import agent_tools

SCHEME = "recollect://"
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


def early_results(*, wing: str | None) -> dict[str, dict[str, Any]]:
    """Make what is answered early, by method."""
    return {
        "ping": {},
        "tools/list": {"tools": [tool.listed() for tool in agent_tools(wing=wing).values()]},
        "prompts/list": {"prompts": LISTED_PROMPTS},
        "resources/templates/list": {"resourceTemplates": LISTED_TEMPLATES},
    }


def early_reply(line: bytes, results: Mapping[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Answer a request that asks for one of these and nothing else; None for any other line."""
    try:
        request: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(request, dict):
        return None
    asked = cast("dict[str, Any]", request)
    id, method, params = asked.get("id"), asked.get("method"), asked.get("params", {})
    if asked.get("jsonrpc") != "2.0" or not isinstance(id, str | int) or isinstance(id, bool):
        return None
    if not isinstance(method, str) or method not in results or not isinstance(params, dict):
        return None
    if set(cast("dict[str, Any]", params)) - {"_meta"}:  # a page that is asked for, or what we do not know
        return None
    return {"jsonrpc": "2.0", "id": id, "result": results[method]}
