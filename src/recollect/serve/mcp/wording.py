"""Results as an agent reads them: short, dated, with the ids to cite; JSON where there is no shorter form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from recollect.core.attention import Window
from recollect.core.errors import RecollectError
from recollect.core.rendering import event_line, json_text, one_line
from recollect.core.values import Context, Hit, Hits, Written
from recollect.operations import Operation

Fence = Callable[[str], str]

_MOST_CHARS = 700  # of one hit: a long message in full would crowd out the others; `show` gives all of it
_MOST_LISTED = 100  # entries of a list: more is a dump, not an answer
_NOTHING = "The memory holds nothing about this."


def worded(operation: Operation, result: object, fence: Fence) -> str:
    """Write a result; `fence` puts recorded text in a fence."""
    if isinstance(result, Hits):
        return _hits(result, fence)
    if isinstance(result, Context):
        return result.text or _NOTHING
    if isinstance(result, Written):
        outcome = f"Remembered as {result.id}." if result.new else f"Known already, as {result.id}."
        kinds = ", ".join(sorted(result.redacted))
        return f"{outcome} Taken out before it was kept: {kinds}." if kinds else outcome
    if isinstance(result, Window):
        return result.text or _NOTHING
    return fence(_json(operation.document(result)))


def worded_nothing(empty: Context, usual: Context) -> str:
    """Say why a context is empty, given the one with the usual budget."""
    if not usual.text:
        return _NOTHING
    return f"What the memory holds about this does not fit into {empty.budget} tokens. Ask again with a larger budget."


def worded_error(error: Exception) -> str:
    """Write what went wrong and what to do, for a model that may try again."""
    if isinstance(error, RecollectError):
        return one_line(f"{type(error).__name__}: {error.detail}" + (f" {error.fix}" if error.fix else ""))
    return one_line(f"This should not have happened ({type(error).__name__}: {error}). Please report it.")


def _hits(hits: Hits, fence: Fence) -> str:
    if not hits:
        return "Nothing was found."
    sure = "" if hits.confidence is None else f"Confidence that the answer is among these: {hits.confidence:.2f}\n"
    return sure + fence("\n".join(event_line(hit.event, _around(hit)) for hit in hits))


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
    return json_text(document)
