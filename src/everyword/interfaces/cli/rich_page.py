"""The page with colours and tables, and progress bars, for terminals. Import it late: importing rich takes time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from everyword.interfaces.cli.page import Column, Page, Piece, Report, Style
from everyword.text.hidden_characters import escaped

_RICH_STYLES: dict[Style, str] = {
    "": "",
    "dim": "dim",
    "strong": "bold",
    "match": "bold yellow",
    "name": "cyan",
    "number": "green",
    "good": "green",
    "warning": "yellow",
    "bad": "bold red",
}


class RichPage(Page):
    """Coloured text for a person at a terminal."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out, for_people=True)
        # Stored text is not markup and gets no automatic highlighting.
        self._console = Console(file=out, markup=False, highlight=False, emoji=False)
        self._free_line = False

    def line(self, *pieces: Piece) -> None:
        self._console.print(_text(pieces, one_line=True))
        self._free_line = False

    def text(self, text: str) -> None:
        self._console.print(_text([text]))
        self._free_line = False

    def gap(self) -> None:
        if not self._free_line:
            self._console.print()
            self._free_line = True

    def item(self, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
        line = Text().append(mark, style="bold cyan")
        for piece in heading:
            if shown := _text([piece], one_line=True):
                line.append("  " if line.plain else "")
                line.append_text(shown)
        self._console.print(line)
        self._console.print(Padding(_text(body), (0, 0, 1, len(mark) + 2)))
        self._free_line = True

    def fields(self, rows: Sequence[tuple[str, Piece]]) -> None:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in rows:
            grid.add_row(name, _text([value], one_line=True))
        self._console.print(grid)
        self._free_line = False

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Piece]]) -> None:
        table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
        for column in columns:
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                style=_RICH_STYLES[column.style],
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(_text([piece], one_line=True) for piece in row))
        self._console.print(table)
        self._free_line = False


@contextmanager
def progress_bar(err: TextIO, title: str) -> Generator[Report]:
    """Show progress as bars during the block, one for each kind of work."""
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    console = Console(file=err, markup=False, highlight=False, emoji=False)
    with Progress(*columns, console=console, transient=True) as bar:

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(f"{title} {what}", total=None)
            bar.update(tasks[what], completed=done, total=max(done, total))

        yield report


def _text(pieces: Sequence[Piece], *, one_line: bool = False) -> Text:
    text = Text()
    for piece in pieces:
        words, style = (piece, "") if isinstance(piece, str) else (piece.text, _RICH_STYLES[piece.style])
        shown = escaped(words)
        text.append(shown.replace("\n", " ") if one_line else shown, style=style)
    return text
