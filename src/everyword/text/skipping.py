"""Tell what people wrote from code, logs, tables, quotations and encoded data.

Vectors represent such a block by its first lines; its words are still found. The reader sees nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from everyword.lazy_patterns import lazy_pattern
from everyword.types.events import Span

FIRST_LINES = 3  # of a block: they say what it is
LONGEST_RUN = 120  # ASCII characters without a space; longer ones are keys, base64 or minified code
_RUN = lazy_pattern(rf"[!-~]{{{LONGEST_RUN},}}")
_DIGIT_OR_SIGN = lazy_pattern(r"[!-@\[-`{-~]")
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+\Z")
_CODE_FENCE = lazy_pattern(r"[ \t]*(`{3,}|~{3,})")
_WORD = lazy_pattern(r"[^\W\d_]+")
_VISIBLE = lazy_pattern(r"[^\n]")
_LOG = lazy_pattern(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
    r"|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b[\]:\s]"
)
_CAPTION = lazy_pattern(
    r"\[(?:photo|image|picture|video|sticker|gif|file|attachment|voice|audio)\b[^\]\n]{0,1000}\]", re.IGNORECASE
)
_FEWEST_LINES = FIRST_LINES + 2  # a text with fewer is prose


def searchable_spans(text: str) -> list[Span]:
    """List the parts of a text that are worth a vector, in order; never none."""
    skipped = [*_skipped_lines(text), *_skipped_runs(text)] if _may_skip(text) else []
    spans: list[Span] = []
    begin = 0
    for start, end in sorted(skipped):
        if start > begin and not text[begin:start].isspace():
            spans.append(Span(begin, start))
        begin = max(begin, end)
    if not text[begin:].isspace():
        spans.append(Span(begin, len(text)))
    return spans or [Span(0, len(text))]


def prose(text: str) -> str:
    """Blank out what is not somebody's own prose: code, logs, tables, quotations, captions. Offsets stay the same."""
    kept: list[str] = []
    fence, is_short = "", text.count("\n") < _FEWEST_LINES
    for match in _LINE.finditer(text):
        line = match[0]
        mark = _CODE_FENCE.match(line)
        if mark and (not fence or (line.strip() == mark[1] and mark[1].startswith(fence))):
            fence = "" if fence else mark[1]
            kept.append(_blank(line))
        else:
            kept.append(_blank(line) if fence or not _is_prose(line.strip(), is_short) else line)
    return _CAPTION.sub(lambda found: _blank(found[0]), "".join(kept))


def _is_prose(line: str, is_short: bool) -> bool:
    """Tell whether a line is prose. In a short text a line of numbers is: "09:30" answers a question."""
    if line.startswith(("|", ">")) or line.count(" | ") > 1 or _LOG.match(line) or _RUN.search(line):
        return False
    return is_short or _kind(line, set(), set()) == ""


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)


def _may_skip(text: str) -> bool:
    return text.count("\n") >= _FEWEST_LINES or _RUN.search(text) is not None


def _skipped_lines(text: str) -> Iterator[Span]:
    """Give the lines of each block beyond its first ones; a block is a run of lines of one kind."""
    fence = ""
    block, lines = "", 0
    seen: set[str] = set()
    for match in _LINE.finditer(text):
        line = match[0].strip()
        mark = _CODE_FENCE.match(match[0])
        if mark and (not fence or (line == mark[1] and mark[1].startswith(fence))):
            fence = "" if fence else mark[1]
            block, lines = "code", 0
            yield Span(*match.span())
            continue
        words = {word.lower() for word in _WORD.findall(line)}
        kind = "code" if fence else _kind(line, words, seen)
        seen |= words
        if not line:
            continue
        block, lines = kind, lines + 1 if kind == block else 1
        if kind and lines > FIRST_LINES:
            yield Span(*match.span())


def _kind(line: str, words: set[str], seen: set[str]) -> str:
    if line.startswith(">"):
        return "quotation"
    # Data has more digits and signs than letters. A line of a log has no word that was not in the lines before it.
    if 2 * len(_DIGIT_OR_SIGN.findall(line)) > len(line) - line.count(" "):
        return "data"
    return "repetition" if len(words) > 2 and words <= seen else ""


def _skipped_runs(text: str) -> Iterator[Span]:
    for match in _RUN.finditer(text):
        yield Span(match.start() + LONGEST_RUN // 2, match.end())
