"""An event as one line that a model reads: its date and its speaker before its words.

Without that prefix every model that was measured lost 2 to 9 points of recall: questions name people and months.
"""

from __future__ import annotations

from recollect.core.clock import day_in_words
from recollect.core.values import Event, Span


def prefix(event: Event) -> str:
    """Write an event's date and speaker as a model sees them."""
    date = f"[{day_in_words(event.at)}] "
    return f"{date}{event.speaker}: " if event.speaker else date


def line(event: Event, span: Span) -> str:
    """Write a part of an event behind its date and speaker."""
    return prefix(event) + event.text[span.start : span.end]
