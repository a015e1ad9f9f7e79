"""A line as a model reads it: the same words for the plain ways and for every peer."""

from __future__ import annotations

from evals.values import Line

_MONTHS = "January February March April May June July August September October November December".split()


def document(line: Line) -> str:
    """Write `[8 May 2023] speaker: text`, without the parts that a line does not have."""
    date = f"[{line.at.day} {_MONTHS[line.at.month - 1]} {line.at.year}] " if line.at else ""
    return f"{date}{line.speaker}: {line.text}" if line.speaker else f"{date}{line.text}"
