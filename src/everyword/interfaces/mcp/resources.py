"""MCP resources (the sessions, and some operations without arguments) and prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from everyword.interfaces.mcp.fast_handshake import ANSWER, KEEP, LISTED_PROMPTS, LISTED_TEMPLATES, SCHEME, SESSION
from everyword.interfaces.mcp.open_memory import OpenMemory
from everyword.interfaces.operations import BY_NAME, Operation
from everyword.text.rendering import event_line, indented, json_text, name, visible
from everyword.types.events import Session

SESSIONS = f"{SCHEME}sessions"
_MOST_SESSIONS = 50  # listed one by one, the latest; the template reaches all
_MOST_EVENTS = 2_000  # of one session per read
# Operations that are offered as resources; they need no arguments.
_RESOURCE_OPERATIONS = ("identity", "wake_up", "entities", "intents", "stats")


def resources(opened: OpenMemory) -> list[Resource]:
    """List the resources."""
    fixed = [Resource(uri=SESSIONS, name="sessions", title="Sessions", mime_type="application/json")]
    fixed += [
        Resource(
            uri=f"{SCHEME}{operation.name}",
            name=operation.name,
            description=operation.summary,
            mime_type="application/json",
        )
        for operation in _operations()
    ]
    return fixed + [_resource(session) for session in opened.memory.sessions(limit=_MOST_SESSIONS)]


def listed_sessions(opened: OpenMemory) -> set[str]:
    """Return the names of the listed sessions."""
    return {session.name for session in opened.memory.sessions(limit=_MOST_SESSIONS)}


def is_known(uri: str) -> bool:
    """Return whether a resource exists or may exist later, as a session may."""
    fixed = {SESSIONS, *(f"{SCHEME}{operation.name}" for operation in _operations())}
    return uri in fixed or (uri.startswith(SESSION) and len(uri) > len(SESSION))


def templates() -> list[ResourceTemplate]:
    """Describe the URIs of sessions."""
    return [ResourceTemplate.model_validate(listed) for listed in LISTED_TEMPLATES]


def read(opened: OpenMemory, uri: str) -> TextResourceContents:
    """Read a resource."""
    if uri == SESSIONS:
        document = BY_NAME["sessions"].document(opened.memory.sessions())
        return _document(uri, document)
    if uri.startswith(SESSION):
        return _transcript(opened, uri, unquote(uri[len(SESSION) :]))
    for operation in _operations():
        if uri == f"{SCHEME}{operation.name}":
            handle = opened.memory if operation.scope == "wing" else opened.whole_space
            return _document(uri, operation.document(operation.run(handle, {})))
    raise MCPError(INVALID_PARAMS, f"Unknown resource {uri[:200]}.")


def _operations() -> list[Operation]:
    found = [BY_NAME[name] for name in _RESOURCE_OPERATIONS if name in BY_NAME]
    return [operation for operation in found if not any(parameter.required for parameter in operation.parameters)]


def _resource(session: Session) -> Resource:
    return Resource(
        uri=f"{SESSION}{quote(session.name, safe='')}",
        name=name(session.name),
        description=f"{session.events} events, {session.first_at:%Y-%m-%d} to {session.last_at:%Y-%m-%d}",
        mime_type="text/plain",
    )


def _transcript(opened: OpenMemory, uri: str, session: str) -> TextResourceContents:
    lines = [event_line(event) for event in opened.memory.events(session=session, limit=_MOST_EVENTS + 1)]
    if not lines:
        raise MCPError(INVALID_PARAMS, f"Unknown session {session[:200]!r}.")
    if len(lines) > _MOST_EVENTS:
        lines[-1] = f"(the session continues; these are its first {_MOST_EVENTS:,} events)"
    text = opened.memory.admin.fenced("\n".join(lines))
    return TextResourceContents(uri=uri, mime_type="text/plain", text=text)


def _document(uri: str, document: dict[str, Any]) -> TextResourceContents:
    return TextResourceContents(uri=uri, mime_type="application/json", text=json_text(document))


PROMPTS = [Prompt.model_validate(listed) for listed in LISTED_PROMPTS]


def prompt(opened: OpenMemory, name: str, arguments: Mapping[str, str] | None) -> GetPromptResult:
    """Fill in a prompt."""
    if name == ANSWER:
        question = (arguments or {}).get("question", "").strip()
        if not question:
            raise MCPError(INVALID_PARAMS, "The argument question is missing.")
        return _prompt(_answer(opened.memory.context(question).text, question))
    if name == KEEP:
        return _prompt(
            "Go through this conversation. For each preference, decision, fact, plan or date in it that will matter "
            "later, call `remember` once, with the exact words that were said and who said them. Leave out small talk, "
            "secrets, and what the memory holds already. Then list what you kept."
        )
    raise MCPError(INVALID_PARAMS, f"Unknown prompt {name[:200]!r}.")


def _answer(remembered: str, question: str) -> str:
    return (
        "From my memory:\n\n"
        f"{remembered or '(nothing about this)'}\n\n"
        "Answer the question below from these lines, and cite the marks of those that you use. If they do not hold the "
        "answer, call `recall` with other words; if that finds nothing either, say that you do not know.\n\n"
        f"Question: {indented(question)}"
    )


def _prompt(text: str) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=visible(text)))])
