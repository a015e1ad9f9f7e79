"""What local reasoning models think aloud before they answer. It is no part of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

START_OF_THOUGHT = "<think>"
END_OF_THOUGHT = "</think>"  # also without a start: some servers write that into the prompt


def without_thoughts(text: str) -> str:
    """Give what was said after the last thought; nothing where a thought was never ended."""
    said = text.rpartition(END_OF_THOUGHT)[2]
    return "" if said.lstrip().startswith(START_OF_THOUGHT) else said


def spoken(pieces: Iterable[str]) -> Iterator[str]:
    """Hold back a thought at the start of a stream, and pass on what comes after it."""
    held, speaks = "", False
    for piece in pieces:
        if speaks:
            yield piece
            continue
        held = _after_thoughts(held + piece)
        speaks = not START_OF_THOUGHT.startswith(held[: len(START_OF_THOUGHT)])
        if speaks:
            yield held
    if not speaks and not held.startswith(START_OF_THOUGHT) and held:
        yield held


def _after_thoughts(text: str) -> str:
    text = text.lstrip()
    while text.startswith(START_OF_THOUGHT) and END_OF_THOUGHT in text:
        text = text.partition(END_OF_THOUGHT)[2].lstrip()
    return text
