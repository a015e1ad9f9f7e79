"""The layout that results are written to: plain text without escape sequences. `rich_page` has colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TextIO
from unicodedata import combining, east_asian_width

from everyword.text.hidden_characters import escaped

Report = Callable[[str, int, int], None]  # what is done, how many are done, of how many
Style = Literal["", "dim", "strong", "match", "name", "number", "good", "warning", "bad"]


class Styled(NamedTuple):
    """A piece of text with a style, which plain output ignores."""

    text: str
    style: Style = ""


Piece = str | Styled


class Column(NamedTuple):
    """The heading and format of a table column."""

    title: str
    right: bool = False
    style: Style = ""


class Page:
    """Where results are written: plain aligned text, for pipes, files and simple terminals.

    for_people: a person reads the output, so hints are shown and long texts are cut.
    """

    def __init__(self, out: TextIO, *, for_people: bool) -> None:
        self._out = out
        self.for_people = for_people

    def line(self, *pieces: Piece) -> None:
        """Write one line; line breaks in it become spaces."""
        self._out.write(_one_line(*pieces) + "\n")

    def text(self, text: str) -> None:
        """Write a text of any number of lines unchanged."""
        self._out.write(escaped(text) + "\n")

    def gap(self) -> None:
        """Write an empty line, unless the line before is empty."""
        self._out.write("\n")

    def item(self, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
        """Write one entry of a list: a mark, a heading, and an indented text."""
        indent = " " * (len(mark) + 2)
        text = _joined(body).replace("\n", f"\n{indent}")
        parts = "  ".join(filter(None, (_one_line(piece) for piece in heading)))
        self._out.write(f"{mark}  {parts}\n{indent}{text}\n" if mark else f"{parts}\n{indent}{text}\n")

    def fields(self, rows: Sequence[tuple[str, Piece]]) -> None:
        """Write names and values, one pair per line."""
        width = max((len(name) for name, _ in rows), default=0)
        for name, value in rows:
            self._out.write(f"{name:<{width}}  {_one_line(value)}".rstrip(" ") + "\n")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Piece]]) -> None:
        """Write a table."""
        cells = [[column.title for column in columns], *([_one_line(piece) for piece in row] for row in rows)]
        widths = [max(_width(row[index]) for row in cells) for index in range(len(columns))]
        for row in cells:
            aligned: list[str] = []
            for column, cell, width in zip(columns, row, widths, strict=True):
                space = " " * (width - _width(cell))
                aligned.append(space + cell if column.right else cell + space)
            self._out.write("  ".join(aligned).rstrip(" ") + "\n")


def _one_line(*pieces: Piece) -> str:
    return _joined(pieces).replace("\n", " ")


def _joined(pieces: Sequence[Piece]) -> str:
    return escaped("".join(piece if isinstance(piece, str) else piece.text for piece in pieces))


def _width(text: str) -> int:
    """Count terminal columns: wide characters take two, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
