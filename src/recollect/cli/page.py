"""What results are laid out on, and its plain form: aligned text without a single escape sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, TextIO
from unicodedata import combining, east_asian_width

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
        """Write a line."""
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

    def __init__(self, out: TextIO, *, written: Callable[[str], str]) -> None:
        self._out = out
        self._written = written
        self.for_people = written is not str

    def line(self, *pieces: Piece) -> None:
        self._out.write(self._joined(pieces) + "\n")

    def gap(self) -> None:
        self._out.write("\n")

    def item(self, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
        indent = " " * (len(mark) + 2)
        words = self._joined(body).replace("\n", f"\n{indent}")
        facts = "  ".join(filter(None, (self._joined([piece]) for piece in heading)))
        self._out.write(f"{mark}  {facts}\n{indent}{words}\n" if mark else f"{facts}\n{indent}{words}\n")

    def fields(self, rows: Sequence[tuple[str, Piece]]) -> None:
        width = max((len(name) for name, _ in rows), default=0)
        for name, value in rows:
            self._out.write(f"{name:<{width}}  {self._joined([value])}".rstrip(" ") + "\n")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Piece]]) -> None:
        # A cell is one line here, or nothing would be aligned.
        cells = [[self._joined([piece]).replace("\n", " ") for piece in row] for row in rows]
        cells.insert(0, [column.title for column in columns])
        widths = [max(_width(row[index]) for row in cells) for index in range(len(columns))]
        for row in cells:
            aligned: list[str] = []
            for column, cell, width in zip(columns, row, widths, strict=True):
                space = " " * (width - _width(cell))
                aligned.append(space + cell if column.right else cell + space)
            self._out.write("  ".join(aligned).rstrip(" ") + "\n")

    def _joined(self, pieces: Sequence[Piece]) -> str:
        return self._written("".join(piece if isinstance(piece, str) else piece.text for piece in pieces))


def _width(text: str) -> int:
    """Count the columns that a text takes: a Chinese character takes two, an accent of its own none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
