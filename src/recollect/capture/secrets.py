"""Secrets on the way in: found by shape and check digit, replaced by a typed mark, and reported.

Every expression is bounded, so that the cost of a hostile text grows with its length and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

from recollect.capture.secret_patterns import DEFAULT
from recollect.capture.secret_shapes import LONG_WORD, Pattern, Patterns, make_pattern
from recollect.core.values import Json, Span

__all__ = ["DEFAULT", "Found", "Pattern", "Patterns", "Redacted", "make_pattern", "redact", "redact_event"]

_LOWERED = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LONG_TEXT = 100_000  # characters: above this, splitting into words costs more than looking for every pattern
_LABEL_CHARS = 64  # a string of meta that is likely to come again
_TELLING = re.compile(r"pass|pwd?|secret|token|key|credential|authorization", re.IGNORECASE)  # names of what is secret
_MOST_NESTED = 64  # levels of meta that are looked into; drafts.py refuses what is deeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One secret: what it is, and where it stood in the text that was given."""

    kind: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets, and what they were; never the secrets themselves."""

    text: str
    found: tuple[Found, ...] = ()


def redact(text: str, patterns: Patterns = DEFAULT) -> Redacted:
    """Replace each secret by a mark such as `[redacted: github token]`."""
    found = _merged(_matches(text, patterns))
    if not found:
        return Redacted(text=text)
    pieces: list[str] = []
    upto = 0
    for one in found:
        pieces += (text[upto : one.span.start], mark(one.kind))
        upto = one.span.end
    pieces.append(text[upto:])
    return Redacted(text="".join(pieces), found=tuple(found))


def redact_event(event: Mapping[str, Json], patterns: Patterns = DEFAULT) -> tuple[dict[str, Json], tuple[Found, ...]]:
    """Redact an event's text and the strings of its meta; a span found in meta counts within its own string."""
    found: list[Found] = []
    clean = dict(event)
    for name in ("text", "meta"):
        if name in clean:
            clean[name] = _redacted_value(clean[name], patterns, found, _MOST_NESTED)
    if "text_bytes" in clean and found:
        del clean["text_bytes"]  # the exact bytes of the text would bring back what was just taken out
    return clean, tuple(found)


@lru_cache(maxsize=4096)
def _label(text: str, patterns: Patterns) -> Redacted:
    """Redact a short string: names of branches, models and formats come again with every event."""
    return redact(text, patterns)


def mark(kind: str) -> str:
    """Write what stands in the place of a secret."""
    return f"[redacted: {kind}]"


def _matches(text: str, patterns: Patterns) -> list[tuple[Span, int, str]]:
    lowered = text.lower() if text.isascii() else text.translate(_LOWERED)  # character for character: places stay
    matches: list[tuple[Span, int, str]] = []
    for rank, pattern in patterns.in_any_text + (patterns.in_long_words if _has_long_word(text) else ()):
        for match in _candidates(pattern, text, lowered):
            matches += ((span, rank, pattern.name) for span in pattern.spans(match))
    return matches


def _has_long_word(text: str) -> bool:
    return len(text) > _LONG_TEXT or max(map(len, text.split()), default=0) >= LONG_WORD


def _candidates(pattern: Pattern, text: str, lowered: str) -> Iterable[re.Match[str]]:
    if not pattern.hints:
        return pattern.regex.finditer(text)
    searched = lowered if pattern.ignores_case else text
    present = [hint for hint in pattern.hints if hint in searched]
    if present and pattern.anchored:
        return _anchored(pattern, text, searched, present)
    return pattern.regex.finditer(text) if present else ()


def _anchored(pattern: Pattern, text: str, searched: str, hints: Iterable[str]) -> Iterator[re.Match[str]]:
    for hint in hints:
        at = searched.find(hint)
        while at >= 0:
            match = pattern.regex.match(text, at)
            if match is not None:
                yield match
            at = searched.find(hint, at + 1)


def _merged(matches: list[tuple[Span, int, str]]) -> list[Found]:
    """Join what overlaps, so that nothing of a secret is left; the pattern that stands first names it."""
    merged: list[tuple[Span, int, str]] = []
    for span, rank, name in sorted(matches):
        if merged and span.start < merged[-1][0].end:
            before = merged[-1]
            named = before[1:] if before[1] <= rank else (rank, name)
            merged[-1] = (Span(before[0].start, max(before[0].end, span.end)), *named)
        else:
            merged.append((span, rank, name))
    return [Found(kind=name, span=span) for span, _, name in merged]


def _redacted_value(value: Json, patterns: Patterns, found: list[Found], levels: int) -> Json:
    if isinstance(value, str):
        redacted = _label(value, patterns) if len(value) <= _LABEL_CHARS else redact(value, patterns)
        found += redacted.found
        return redacted.text
    if levels == 0:
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[Json, Json]", value)
        return {name: _redacted_member(name, inner, patterns, found, levels - 1) for name, inner in members.items()}
    if isinstance(value, list | tuple):
        inners = cast("Sequence[Json]", value)
        return [_redacted_value(inner, patterns, found, levels - 1) for inner in inners]
    return value


def _redacted_member(name: Json, value: Json, patterns: Patterns, found: list[Found], levels: int) -> Json:
    """Redact a value of JSON; where its name tells what it is, as `password` does, also what tells nothing alone."""
    if not isinstance(name, str) or not isinstance(value, str) or len(name) > _LABEL_CHARS or not _TELLING.search(name):
        return _redacted_value(value, patterns, found, levels)
    lead = f'{name}: "'
    whole = redact(f'{lead}{value}"', patterns)
    ends = len(lead) + len(value)
    if not whole.found or whole.found[0].span.start < len(lead) or whole.found[-1].span.end > ends:
        return _redacted_value(value, patterns, found, levels)
    found += (replace(one, span=Span(one.span.start - len(lead), one.span.end - len(lead))) for one in whole.found)
    return whole.text[len(lead) : -1]
