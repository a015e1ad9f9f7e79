"""Results as an agent reads them: short, dated, with the ids to cite; JSON where there is no shorter form."""

from __future__ import annotations

import json
from typing import Any, cast

from recollect.core.errors import RecollectError
from recollect.core.values import Context, Event, Hit, Hits, Written
from recollect.operations import Operation

_MOST_CHARS = 700  # of one hit: a long message in full would crowd out the others; `show` gives all of it
_MOST_LISTED = 100  # entries of a list: more is a dump, not an answer
_NOTHING = "The memory holds nothing about this."


def worded(operation: Operation, result: object) -> str:
    """Write a result."""
    if isinstance(result, Hits):
        return _hits(result)
    if isinstance(result, Context):
        return result.text or _NOTHING
    if isinstance(result, Written):
        outcome = f"Remembered as {result.id}." if result.new else f"Known already, as {result.id}."
        kinds = ", ".join(sorted(result.redacted))
        return f"{outcome} Taken out before it was kept: {kinds}." if kinds else outcome
    return _json(operation.document(result))


def worded_nothing(empty: Context, usual: Context) -> str:
    """Say why a context is empty, given the one with the usual budget."""
    if not usual.text:
        return _NOTHING
    return f"What the memory holds about this does not fit into {empty.budget} tokens. Ask again with a larger budget."


def worded_error(error: Exception) -> str:
    """Write what went wrong and what to do, for a model that may try again."""
    if isinstance(error, RecollectError):
        return f"{type(error).__name__}: {error.detail}" + (f" {error.fix}" if error.fix else "")
    return f"This should not have happened ({type(error).__name__}: {error}). Please report it."


def sendable(text: str) -> str:
    """Replace what can be remembered and can't be sent: half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def line_of(event: Event, text: str | None = None) -> str:
    """Write an event as one line: id, time, who, where, and the words."""
    who = ", ".join(part for part in (event.speaker, f"session {event.session}" if event.session else None) if part)
    return f"[{event.id}] {event.at:%Y-%m-%d %H:%M}{f' ({who})' if who else ''}: {event.text if text is None else text}"


def _hits(hits: Hits) -> str:
    if not hits:
        return "Nothing was found."
    sure = "" if hits.confidence is None else f"Confidence that the answer is among these: {hits.confidence:.2f}\n"
    return sure + "\n".join(line_of(hit.event, _around(hit)) for hit in hits)


def _around(hit: Hit) -> str:
    """Cut a long text to what surrounds the match."""
    text = hit.text
    if len(text) <= _MOST_CHARS:
        return text
    start = max(0, min(hit.span.start - _MOST_CHARS // 4, len(text) - _MOST_CHARS))
    end = start + _MOST_CHARS
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"


def _json(document: dict[str, Any]) -> str:
    for name, value in document.items():
        if isinstance(value, list) and len(listed := cast("list[Any]", value)) > _MOST_LISTED:
            more = f"{len(listed) - _MOST_LISTED} more; narrow the question"
            document = {**document, name: listed[:_MOST_LISTED], "left_out": more}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
