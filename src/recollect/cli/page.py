"""What results are laid out on, and its plain form: aligned text without a single escape sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TextIO
from unicodedata import combining, east_asian_width

from recollect.core.rendering import escaped

Style = Literal["", "dim", "strong", "match", "name", "number", "good", "warning", "bad"]


class Styled(NamedTuple):
    """A piece of text and how it looks where looks are possible."""

    text: str
    style: Style = ""


Piece = str | Styled


class Column(NamedTuple):
    """The head of a column."""

    title: str
    right: bool = False
    style: Style = ""


class Page(Protocol):
    """Something that results are laid out on."""

    @property
    def for_people(self) -> bool:
        """Tell whether a person reads this, so that hints help and long texts are better cut."""
        ...

    def line(self, *pieces: Piece) -> None:
        """Write one line: line feeds in it become spaces."""
        ...

    def text(self, text: str) -> None:
        """Write a text of any number of lines as it is."""
        ...

    def gap(self) -> None:
        """Leave a line free, unless one is."""
        ...

    def item(self, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
        """Write one of several results: a mark, a heading, and a text of any number of lines."""
        ...

    def fields(self, rows: Sequence[tuple[str, Piece]]) -> None:
        """Write names and values, one below the other."""
        ...

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Piece]]) -> None:
        """Write rows under headings."""
        ...


class PlainPage:
    """Text for a pipe, a file or a terminal that can do no more."""

    def __init__(self, out: TextIO, *, for_people: bool) -> None:
        self._out = out
        self.for_people = for_people

    def line(self, *pieces: Piece) -> None:
        self._out.write(self._on_one_line(pieces) + "\n")

    def text(self, text: str) -> None:
        self._out.write(escaped(text) + "\n")

    def gap(self) -> None:
        self._out.write("\n")

    def item(self, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
        indent = " " * (len(mark) + 2)
        words = self._joined(body).replace("\n", f"\n{indent}")
        facts = "  ".join(filter(None, (self._on_one_line([piece]) for piece in heading)))
        self._out.write(f"{mark}  {facts}\n{indent}{words}\n" if mark else f"{facts}\n{indent}{words}\n")

    def fields(self, rows: Sequence[tuple[str, Piece]]) -> None:
        width = max((len(name) for name, _ in rows), default=0)
        for name, value in rows:
            self._out.write(f"{name:<{width}}  {self._on_one_line([value])}".rstrip(" ") + "\n")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Piece]]) -> None:
        # A cell is one line here, or nothing would be aligned.
        cells = [[self._on_one_line([piece]) for piece in row] for row in rows]
        cells.insert(0, [column.title for column in columns])
        widths = [max(_width(row[index]) for row in cells) for index in range(len(columns))]
        for row in cells:
            aligned: list[str] = []
            for column, cell, width in zip(columns, row, widths, strict=True):
                space = " " * (width - _width(cell))
                aligned.append(space + cell if column.right else cell + space)
            self._out.write("  ".join(aligned).rstrip(" ") + "\n")

    def _on_one_line(self, pieces: Sequence[Piece]) -> str:
        return self._joined(pieces).replace("\n", " ")

    def _joined(self, pieces: Sequence[Piece]) -> str:
        return escaped("".join(piece if isinstance(piece, str) else piece.text for piece in pieces))


def _width(text: str) -> int:
    """Count the columns that a text takes: a Chinese character takes two, an accent of its own none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
