"""Results as text for an agent: short, dated, with ids to cite; JSON for types without a shorter form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from everyword.errors import EverywordError
from everyword.interfaces.operations import Operation
from everyword.text.rendering import event_line, json_text, one_line
from everyword.types.events import Context, Hit, Hits, Written, WrittenBatch
from everyword.types.intents import Window

Fence = Callable[[str], str]

_MOST_CHARS = 700  # per hit, so that a long message does not crowd out the others; `show` returns all of it
_MOST_LISTED = 100  # entries of a list
_NOTHING = "The memory holds nothing about this."


def result_text(operation: Operation, result: object, fence: Fence) -> str:
    """Write a result; `fence` encloses recorded text in a fence."""
    if isinstance(result, Hits):
        return _hits(result, fence)
    if isinstance(result, Context):
        return result.text or _NOTHING
    if isinstance(result, Written):
        return _written(result)
    if isinstance(result, WrittenBatch):
        return "\n".join(map(_written, result)) or "There was nothing to remember."
    if isinstance(result, Window):
        return result.text or _NOTHING
    return fence(_json(operation.document(result)))


def _written(result: Written) -> str:
    outcome = f"Remembered as {result.id}." if result.new else f"Already known as {result.id}."
    kinds = ", ".join(sorted(result.redacted))
    return f"{outcome} Redacted: {kinds}." if kinds else outcome


def empty_context_text(empty: Context, usual: Context) -> str:
    """Say why a context is empty: no matches, or too small a budget."""
    if not usual.text:
        return _NOTHING
    return f"What the memory holds about this does not fit into {empty.budget} tokens. Ask again with a larger budget."


def error_text(error: Exception) -> str:
    """Write an error and its fix, for a model that may try again."""
    if isinstance(error, EverywordError):
        return one_line(f"{type(error).__name__}: {error.detail}" + (f" {error.fix}" if error.fix else ""))
    return one_line(f"Unexpected error ({type(error).__name__}: {error}). Please report it.")


def _hits(hits: Hits, fence: Fence) -> str:
    if not hits:
        return "Nothing was found."
    sure = "" if hits.confidence is None else f"Confidence that the answer is among these: {hits.confidence:.2f}\n"
    return sure + fence("\n".join(event_line(hit.event, _around(hit)) for hit in hits))


def _around(hit: Hit) -> str:
    """Cut a long text to the surroundings of the match."""
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
    return json_text(document)
