"""Passwords and keys in tables: in the cell beside such a name, or in the column below one.

Tables tell what a password is like as often as what it is: its type, how long it must be, how it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.capture.secret_passwords import HINTS, NAME, is_loose_secret
from recollect.capture.secret_shapes import Pattern
from recollect.core.values import Span

_LINE_REACH = 1000  # characters before a place in which its line begins; a row of a table is hardly longer
_ROW = re.compile(r"[ \t>]{0,8}\|")
_RULE = re.compile(r"[ \t>]{0,8}\|[ \t:|-]{0,1000}-[ \t:|-]{0,1000}$")  # what stands between the head and the rows
_CELL = re.compile(r"[^|\n]*")
_NAMED = re.compile(rf"(?:[^|\n]{{0,60}}[\s_.*`-])?[*`_]{{0,3}}(?P<name>{NAME})[*`_\"' ]{{0,4}}", re.IGNORECASE)
_MARKUP = "*`_\"' \t"
# What stands beside the name in a description of a form, a program or a database.
_LIKENESS = re.compile(
    r"[a-z]*(?:char|text|int|string|str|blob|binary|byte|bit|sha|md|base|hash|crypt|argon|kdf|hmac|rsa|aes|utf|oauth|saml|"
    r"totp|min|max|step|level|version|case|field|line|page|figure|table|type|ipv)[-_]?\d+\w*|"
    r"\d+[-_]?(?:chars?|characters?|bits?|bytes?|days?|hours?|months?|digits?|letters?|times?)\w*|.*password.*",
    re.IGNORECASE,
)


def _beside(match: re.Match[str]) -> Span | None:
    """Tell `| db password | hunter2xyz |` from the head of a table, and from a type between strokes."""
    text = match.string
    start = text.rfind("\n", max(0, match.start() - _LINE_REACH), match.start()) + 1
    end = text.find("\n", match.end())
    if not _ROW.match(text, start, match.start()) or (end >= 0 and _RULE.match(text, end + 1, _end(text, end + 1))):
        return None
    return _secret(match["name"], *match.span("secret"), text)


def _below(match: re.Match[str]) -> Iterator[Span]:
    """Go through the rows below a head that names a password."""
    text = match.string
    head = text.rfind("\n", max(0, match.start() - _LINE_REACH), match.start()) + 1
    named = [
        (place, found["name"])
        for place, (start, end) in enumerate(_cells(text, head, match.start()))
        if (found := _NAMED.fullmatch(text[start:end].strip()))
    ]
    at = match.start("rows")
    while named and at < match.end("rows"):
        end = min(_end(text, at), match.end("rows"))
        cells = list(_cells(text, at, end))
        for place, name in named:
            if place < len(cells) and (span := _secret(name, *cells[place], text)):
                yield span
        at = end + 1


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    row = _ROW.match(text, start, end)
    at = row.end() if row else end
    while at < end:
        cell = _CELL.match(text, at, end)
        assert cell is not None
        yield cell.span()
        at = cell.end() + 1


def _secret(name: str, start: int, end: int, text: str) -> Span | None:
    cell = text[start:end].rstrip("\r")
    value = cell.strip(_MARKUP)
    if not value or _LIKENESS.fullmatch(value) or not is_loose_secret(name, value):
        return None
    start += len(cell) - len(cell.lstrip(_MARKUP))
    return Span(start, start + len(value))


def _end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return (end if end >= 0 else len(text)) - (end > start and text[end - 1] == "\r")


TABLES: tuple[Pattern, ...] = (
    Pattern(
        name="password",
        regex=re.compile(
            rf"(?P<name>{NAME})[\"'`*_]{{0,3}}[ \t]{{0,60}}\|"
            r"(?P<secret>[ \t]{0,60}[^\s|]{5,250}[ \t]{0,200})(?=\||\r?\n|$)",
            re.IGNORECASE,
        ),
        hints=HINTS,
        anchored=True,
        check=_beside,
    ),
    Pattern(
        name="password",
        regex=re.compile(
            # From the rule under the head on, to the next rule or the end of the table.
            r"\n[ \t>]{0,8}\|[ \t]{0,3}:?-[ \t:|-]{0,1000}\r?\n"
            r"(?P<rows>(?:[ \t>]{0,8}\|(?![ \t:|-]{0,1000}(?:\r?\n|$))[^\n]{0,4000}(?:\n|$)){1,5000})"
        ),
        hints=("\n|-", "\n| -", "\n|:-", "\n| :-"),
        anchored=True,
        each=_below,
    ),
)
