"""Passwords and keys in tables of Markdown, of HTML and of separators: in the cell beside such a name or in its column.

Tables tell what a password is like as often as what it is: its type, how long it must be, how it is kept. In a list of
logins, with a column of users or addresses beside it, there is nothing else that it could be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from recollect.capture.secret_passwords import HINTS, NAME, is_listed_secret, is_loose_secret
from recollect.capture.secret_shapes import Pattern
from recollect.core.values import Span

_LINE_REACH = 1000  # characters before a place in which its line begins; a row of a table is hardly longer
_ROW = re.compile(r"[ \t>]{0,8}\|")
_RULE = re.compile(r"[ \t>]{0,8}\|[ \t:|-]{0,1000}-[ \t:|-]{0,1000}$")  # what stands between the head and the rows
_CELL = re.compile(r"[^|\n]*")
_NAMED = re.compile(rf"(?:[^|\n]{{0,60}}[\s_.*`-])?[*`_]{{0,3}}(?P<name>{NAME})[*`_\"' ]{{0,4}}", re.IGNORECASE)
_MARKUP = "*`_\"' \t"
_OF_LOGINS = re.compile(r"user|login|e-?mail|url|account|benutzer|konto|usuario|utilisateur", re.IGNORECASE)
_MOST_ROWS = 5000  # below one head
_ROW_REACH = 4000  # characters of a row
_SEPARATORS = ",;\t"
_QUOTED_CELL = re.compile(r'"(?P<inner>(?:[^"\n]|""){0,1000})"')
_TITLE = re.compile(r"[^.!?\n]{0,60}")  # what heads a column: no sentence
_HTML_ROW = re.compile(r"<tr\b[^<>]{0,300}>(?P<cells>(?:[^<]|<(?!/?tr\b|/?table\b)){0,4000})", re.IGNORECASE)
_HTML_CELL = re.compile(r"<t[hd]\b[^<>]{0,300}>(?P<cell>(?:[^<]|<(?!/?t[hd]\b)){0,2000})", re.IGNORECASE)
_HTML_TEXT = re.compile(r"\s{0,300}(?:<[^<>]{0,200}>\s{0,300}){0,8}(?P<text>[^<>]{0,300})")
_BETWEEN_ROWS = re.compile(r"\s{0,300}(?:</?(?:tr|tbody|thead)\b[^<>]{0,100}>\s{0,300}){0,4}(?=<tr\b)", re.IGNORECASE)


class _Column(NamedTuple):
    """A column whose head names a password."""

    place: int
    name: str
    listed: bool  # among logins


class _Head(NamedTuple):
    """The first line of a table whose cells are parted by a character."""

    separator: str
    cells: Sequence[tuple[int, int]]
    columns: Sequence[_Column]


def _beside(match: re.Match[str]) -> Span | None:
    """Tell `| db password | hunter2xyz |` from the head of a table, and from a type between strokes."""
    text = match.string
    start = text.rfind("\n", max(0, match.start() - _LINE_REACH), match.start()) + 1
    end = text.find("\n", match.end())
    if not _ROW.match(text, start, match.start()) or (end >= 0 and _RULE.match(text, end + 1, _end(text, end + 1))):
        return None
    return _secret(_Column(0, match["name"], listed=False), *match.span("secret"), text)


def _below(match: re.Match[str]) -> Iterator[Span]:
    """Go through the rows below a head that names a password."""
    text = match.string
    head = text.rfind("\n", max(0, match.start() - _LINE_REACH), match.start()) + 1
    columns = _columns(text, list(_cells(text, head, match.start())))
    at = match.start("rows")
    while columns and at < match.end("rows"):
        end = min(_end(text, at), match.end("rows"))
        yield from _in_columns(text, columns, list(_cells(text, at, end)))
        at = end + 1


def _separated(match: re.Match[str]) -> Iterator[Span]:
    """Go through the lines below `user,password`; or take what stands beside in a line of two cells."""
    text = match.string
    reach = max(0, match.start() - _LINE_REACH)
    start = text.rfind("\n", reach, match.start()) + 1
    end = _end(text, start)
    if (reach and start == 0) or end - start > _LINE_REACH:
        return
    head = _head(text[start:end])
    if not head.columns or start + head.cells[head.columns[0].place][0] > match.start():  # each line once
        return
    if len(head.cells) == 2 and head.columns[0].place == 0:
        first, last = head.cells[1]
        if span := _secret(head.columns[0], start + first, start + last, text):
            yield span
            return
    for _ in range(_MOST_ROWS):
        start = end + 1 + text.startswith("\r\n", end)
        end = _end(text, start)
        cells = list(_split(text, start, end, head.separator)) if start < end <= start + _ROW_REACH else []
        if len(cells) != len(head.cells) or _columns(text, cells):
            return
        yield from _in_columns(text, head.columns, cells)


@lru_cache(maxsize=1)  # a line that names several is looked at for each of them
def _head(line: str) -> _Head:
    """Part a line that may head a table at what stands most often between its cells."""
    separator = max(_SEPARATORS, key=line.count)
    cells = list(_split(line, 0, len(line), separator)) if separator in line else []
    if any(first == last for first, last in cells):  # a line of code or of prose that goes on
        cells = []
    columns = _columns(line, cells)
    if any(line[first].isspace() for first, _ in cells):  # it may be one
        columns = [column._replace(listed=False) for column in columns]
    return _Head(separator, cells, columns)


def _split(text: str, start: int, end: int, separator: str) -> Iterator[tuple[int, int]]:
    at = start
    while at <= end:
        quoted = _QUOTED_CELL.match(text, at, end)
        if quoted and (quoted.end() == end or text[quoted.end()] == separator):
            yield quoted.span("inner")
            at = quoted.end() + 1
            continue
        found = text.find(separator, at, end)
        stop = end if found < 0 else found
        yield at, stop
        at = stop + 1


def _in_html(match: re.Match[str]) -> Iterator[Span]:
    """Take what stands beside a name in its row; else, below it in its column."""
    text = match.string
    head = list(_html_cells(text, match))
    columns = _columns(text, head)
    beside = [
        span
        for column in columns
        if column.place + 1 < len(head) and (span := _secret(column, *head[column.place + 1], text))
    ]
    yield from beside
    row = None if beside or not columns else _next_html_row(text, match.end())
    for _ in range(_MOST_ROWS):
        if row is None:
            return
        cells = list(_html_cells(text, row))
        if _columns(text, cells):
            return
        yield from _in_columns(text, columns, cells)
        row = _next_html_row(text, row.end())


def _next_html_row(text: str, at: int) -> re.Match[str] | None:
    between = _BETWEEN_ROWS.match(text, at)
    return _HTML_ROW.match(text, between.end()) if between else None


def _html_cells(text: str, row: re.Match[str]) -> Iterator[tuple[int, int]]:
    for cell in _HTML_CELL.finditer(text, *row.span("cells")):
        found = _HTML_TEXT.match(text, *cell.span("cell"))
        yield found.span("text") if found else cell.span("cell")


def _columns(text: str, head: Sequence[tuple[int, int]]) -> list[_Column]:
    """Find the columns that are named as passwords and keys are, unless the head is no row of names."""
    titles = [text[start:end].strip(" \t\r\n:") for start, end in head]
    if not all(_TITLE.fullmatch(title) for title in titles):
        return []
    named = [(place, found["name"]) for place, title in enumerate(titles) if (found := _NAMED.fullmatch(title))]
    places = {place for place, _ in named}
    listed = any(_OF_LOGINS.search(title) for place, title in enumerate(titles) if place not in places)
    return [_Column(place, name, listed) for place, name in named]


def _in_columns(text: str, columns: Sequence[_Column], cells: Sequence[tuple[int, int]]) -> Iterator[Span]:
    for column in columns:
        if column.place < len(cells) and (span := _secret(column, *cells[column.place], text)):
            yield span


def _cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    row = _ROW.match(text, start, end)
    at = row.end() if row else end
    while at < end:
        cell = _CELL.match(text, at, end)
        assert cell is not None
        yield cell.span()
        at = cell.end() + 1


def _secret(column: _Column, start: int, end: int, text: str) -> Span | None:
    cell = text[start:end].rstrip("\r\n")
    value = cell.strip(_MARKUP)
    fits = is_listed_secret if column.listed else is_loose_secret
    if not value or not fits(column.name, value):
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
    Pattern(
        name="password",
        regex=re.compile(rf"{NAME}[\"'`: ]{{0,4}}(?=[{_SEPARATORS}]|\r?\n)", re.IGNORECASE),
        hints=HINTS,
        anchored=True,
        each=_separated,
    ),
    Pattern(
        name="password",
        regex=_HTML_ROW,
        hints=("<tr",),
        anchored=True,
        each=_in_html,
    ),
)
