"""What a client can read without a tool: the list of sessions, each session in full, and what the table adds."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Resource, ResourceTemplate, TextResourceContents

from recollect.core.rendering import event_line, json_text, name
from recollect.core.values import Session
from recollect.operations import BY_NAME, Operation
from recollect.serve.mcp.early import LISTED_TEMPLATES, SCHEME, SESSION
from recollect.serve.mcp.opened import Opened

SESSIONS = f"{SCHEME}sessions"
_MOST_SESSIONS = 50  # of those listed one by one, the latest; the template reaches all
_MOST_EVENTS = 2_000  # of one session that is read in one go
# Operations of the table that are worth reading as they are, once they are there; asked without arguments, all read.
_READ_AS_THEY_ARE = ("identity", "wake_up", "entities", "intents", "stats")


def resources(opened: Opened) -> list[Resource]:
    """List what can be read."""
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


def listed_sessions(opened: Opened) -> set[str]:
    """Name the sessions that are listed one by one."""
    return {session.name for session in opened.memory.sessions(limit=_MOST_SESSIONS)}


def is_known(uri: str) -> bool:
    """Tell whether there is, or may be, a resource of this name: a session may begin later."""
    fixed = {SESSIONS, *(f"{SCHEME}{operation.name}" for operation in _operations())}
    return uri in fixed or (uri.startswith(SESSION) and len(uri) > len(SESSION))


def templates() -> list[ResourceTemplate]:
    """Describe how any session is named."""
    return [ResourceTemplate.model_validate(listed) for listed in LISTED_TEMPLATES]


def read(opened: Opened, uri: str) -> TextResourceContents:
    """Read one."""
    if uri == SESSIONS:
        document = BY_NAME["sessions"].document(opened.memory.sessions())
        return _document(uri, document)
    if uri.startswith(SESSION):
        return _transcript(opened, uri, unquote(uri[len(SESSION) :]))
    for operation in _operations():
        if uri == f"{SCHEME}{operation.name}":
            handle = opened.memory if operation.scope == "wing" else opened.whole_space
            return _document(uri, operation.document(operation.run(handle, {})))
    raise MCPError(INVALID_PARAMS, f"There is no resource {uri[:200]}.")


def _operations() -> list[Operation]:
    found = [BY_NAME[name] for name in _READ_AS_THEY_ARE if name in BY_NAME]
    return [operation for operation in found if not any(parameter.required for parameter in operation.parameters)]


def _resource(session: Session) -> Resource:
    return Resource(
        uri=f"{SESSION}{quote(session.name, safe='')}",
        name=name(session.name),
        description=f"{session.events} events, {session.first_at:%Y-%m-%d} to {session.last_at:%Y-%m-%d}",
        mime_type="text/plain",
    )


def _transcript(opened: Opened, uri: str, session: str) -> TextResourceContents:
    lines = [event_line(event) for event in opened.memory.events(session=session, limit=_MOST_EVENTS + 1)]
    if not lines:
        raise MCPError(INVALID_PARAMS, f"There is no session {session[:200]!r}.")
    if len(lines) > _MOST_EVENTS:
        lines[-1] = f"(the session goes on; these are its first {_MOST_EVENTS:,} events)"
    text = opened.memory.fenced("\n".join(lines))
    return TextResourceContents(uri=uri, mime_type="text/plain", text=text)


def _document(uri: str, document: dict[str, Any]) -> TextResourceContents:
    return TextResourceContents(uri=uri, mime_type="application/json", text=json_text(document))
