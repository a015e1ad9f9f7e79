"""MCP resources (sessions, and operations without arguments), prompts and completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from everyword.interfaces.mcp import OpenMemory, results
from everyword.interfaces.mcp.fast_handshake import ANSWER, KEEP, SCHEME, SESSION
from everyword.interfaces.mcp.sdk import ProtocolError
from everyword.interfaces.operations import BY_NAME, Operation
from everyword.interfaces.operations.pages import entries_after
from everyword.text.rendering import event_line, indented, json_text, name, visible
from everyword.types.events import Session

Json = dict[str, Any]

SESSIONS = f"{SCHEME}sessions"
_PAGE_SESSIONS = 50  # listed on a page, the latest first
_MOST_LISTED = 100  # items of a resource that is a list
_MOST_COMPLETIONS = 100  # the protocol's limit
_MOST_EVENTS = 2_000  # of one session per read
# Operations that are offered as resources, by URI; they need no arguments.
_OPERATIONS = {f"{SCHEME}{name}": BY_NAME[name] for name in ("identity", "wake_up", "entities", "intents", "stats")}


def page(opened: OpenMemory, cursor: str | None) -> Json:
    """List a page of the resources: the fixed ones first, then the sessions."""

    def sessions(limit: int | None) -> list[Json]:
        return [_resource(session) for session in opened.memory.sessions(limit=limit)]

    entries = entries_after(cursor, _PAGE_SESSIONS, sessions)
    following = entries.next(_PAGE_SESSIONS)
    listed = [*(_fixed() if cursor is None else ()), *entries.found[:_PAGE_SESSIONS]]
    return {"resources": listed, **({"nextCursor": following} if following else {})}


def _fixed() -> list[Json]:
    listed = [{"uri": SESSIONS, "name": "sessions", "title": "Sessions", "mimeType": "application/json"}]
    return listed + [
        {
            "uri": uri,
            "name": operation.name,
            "description": operation.summary,
            "mimeType": "application/json",
        }
        for uri, operation in _OPERATIONS.items()
    ]


def read(opened: OpenMemory, uri: str) -> Json:
    """Read a resource."""
    if uri == SESSIONS:
        return _document(uri, _list(BY_NAME["sessions"], opened.memory.sessions(limit=_MOST_LISTED + 1)))
    if uri.startswith(SESSION):
        return _transcript(opened, uri, unquote(uri[len(SESSION) :]))
    operation = _OPERATIONS.get(uri)
    if operation is None:
        raise ProtocolError(f"Unknown resource {uri[:200]}.")
    result: Any = operation.run(opened.memory if operation.scope == "wing" else opened.whole_space, {})
    is_list = operation.name in results.LISTS
    return _document(uri, _list(operation, result) if is_list else operation.document(result))


def _list(operation: Operation, items: list[Any]) -> Json:
    """Return what agents get of the first items of a list."""
    more = {"more": True} if len(items) > _MOST_LISTED else {}
    return {operation.result: results.slim_list(operation.name, items[:_MOST_LISTED]), **more}


def _resource(session: Session) -> Json:
    return {
        "uri": f"{SESSION}{quote(session.name, safe='')}",
        "name": name(session.name),
        "description": f"{session.events} events, {session.first_at:%Y-%m-%d} to {session.last_at:%Y-%m-%d}",
        "mimeType": "text/plain",
    }


def _transcript(opened: OpenMemory, uri: str, session: str) -> Json:
    lines = [event_line(event) for event in opened.memory.events(session=session, limit=_MOST_EVENTS + 1)]
    if not lines:
        raise ProtocolError(f"Unknown session {session[:200]!r}.")
    if len(lines) > _MOST_EVENTS:
        lines[-1] = f"(the session continues; these are its first {_MOST_EVENTS:,} events)"
    text = opened.memory.admin.fenced("\n".join(lines))
    return {"uri": uri, "mimeType": "text/plain", "text": text}


def _document(uri: str, document: Json) -> Json:
    return {"uri": uri, "mimeType": "application/json", "text": json_text(document)}


# Completions and prompts


def completion(opened: OpenMemory, params: Mapping[str, Any]) -> Json:
    """Complete the name of a session in the URI of its resource; nothing else can be completed."""
    asked, argument = params["ref"], params["argument"]
    names: list[str] = []
    if asked.get("uri") == f"{SESSION}{{name}}" and argument["name"] == "name":
        begun = str(argument["value"]).casefold()
        names = [one.name for one in opened.memory.sessions() if one.name.casefold().startswith(begun)]
    shown = [visible(one) for one in names[:_MOST_COMPLETIONS]]
    return {"completion": {"values": shown, "total": len(names), "hasMore": len(names) > len(shown)}}


def prompt(opened: OpenMemory, name: str, arguments: Mapping[str, str] | None) -> Json:
    """Fill in a prompt."""
    if name == ANSWER:
        question = (arguments or {}).get("question", "").strip()
        if not question:
            raise ProtocolError("The argument question is missing.")
        return _prompt(_answer(opened.memory.context(question).text, question))
    if name == KEEP:
        return _prompt(
            "Go through this conversation. For each preference, decision, fact, plan or date in it that will matter "
            "later, call `remember` once, with the exact words that were said and who said them. Leave out small talk, "
            "secrets, and what the memory holds already. Then list what you kept."
        )
    raise ProtocolError(f"Unknown prompt {name[:200]!r}.")


def _answer(remembered: str, question: str) -> str:
    return (
        "From my memory:\n\n"
        f"{remembered or '(nothing about this)'}\n\n"
        "Answer the question below from these lines, and cite the marks of those that you use. If they do not hold the "
        "answer, call `recall` with other words; if that finds nothing either, say that you do not know.\n\n"
        f"Question: {indented(question)}"
    )


def _prompt(text: str) -> Json:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": visible(text)}}]}
