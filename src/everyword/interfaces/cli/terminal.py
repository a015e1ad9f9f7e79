"""Standard output and standard error: text and tables with colours, notes, progress, errors and questions."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple, TextIO
from unicodedata import combining, east_asian_width

from everyword.errors import EverywordError
from everyword.text.rendering import escaped, escaped_json

Report = Callable[[str, int, int], None]  # what is done, how many are done, of how many

_SECONDS_BETWEEN_LINES = 3.0  # of progress without a bar
_SECONDS_BETWEEN_BARS = 0.1
_BAR_CHARS = 40
_LEAST_COLUMN = 8  # characters; where tables do not fit, their widest columns are folded down to it
_CODE = re.compile(r"\x1b\[[0-9;]*m")


class Styled(NamedTuple):
    """A piece of text with its style, the number of an escape sequence, which plain output ignores."""

    text: str
    style: str = ""


Piece = str | Styled
dim, bold, match = partial(Styled, style="2"), partial(Styled, style="1"), partial(Styled, style="1;33")
cyan, green = partial(Styled, style="36"), partial(Styled, style="32")
yellow, red = partial(Styled, style="33"), partial(Styled, style="1;31")


class Page:
    """Where results are written: aligned text, plain for pipes and files.

    for_people: a person reads the output, so hints are shown and long texts are cut. width: of the terminal, into which
    text is broken.
    """

    explain = False  # whether scores and reasons were asked for

    def __init__(self, out: TextIO, *, for_people: bool, width: int | None = None, colours: bool = False) -> None:
        self.for_people = for_people
        self.width = width
        self._out = out
        self._colours = colours
        self._after_gap = False

    def line(self, *pieces: Piece) -> None:
        """Write one line; line breaks in it become spaces."""
        self._write(*self._rows(_one_line(pieces), self.width))

    def text(self, text: str) -> None:
        """Write a text of any number of lines unchanged."""
        self._write(*self._rows([text], self.width))

    def gap(self) -> None:
        """Write an empty line, unless the line before is empty."""
        if not self._after_gap:
            self._write("")
            self._after_gap = True

    def item(self, mark: str, heading: Sequence[Piece], body: Sequence[Piece]) -> None:
        """Write one entry of a list: a mark, a heading, and an indented text."""
        indent = len(mark) + 2
        self.line(*spaced([Styled(mark, "1;36"), *heading]))
        rows = self._rows(body, self.width and self.width - indent)
        self._write(*(f"{' ' * indent}{row}" for row in rows))
        if self.width:
            self.gap()

    def fields(self, rows: Iterable[tuple[str, Piece]]) -> None:
        """Write names and values, one pair per line."""
        self._grid([(dim(name), value) for name, value in rows])

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[Piece]]) -> None:
        """Write a table. titles: of the columns; those with numbers, which stand at the right, begin with ">"."""
        self._grid(
            [[bold(title.removeprefix(">")) for title in titles], *rows],
            right=[title.startswith(">") for title in titles],
            is_headed=self.width is not None,
        )

    def _grid(self, rows: Sequence[Sequence[Piece]], *, right: Sequence[bool] = (), is_headed: bool = False) -> None:
        cells = [[_one_line([piece]) for piece in row] for row in rows]
        widths = [
            max(_columns(escaped(row[at][0].text)) for row in cells) for at in range(len(cells[0]) if cells else 0)
        ]
        while self.width and sum(widths) + 2 * len(widths) - 2 > self.width and max(widths) > _LEAST_COLUMN:
            widths[widths.index(max(widths))] -= 1
        for number, row in enumerate(cells):
            columns = [self._rows(cell, self.width and width) for cell, width in zip(row, widths, strict=True)]
            for parts in zip_longest(*columns, fillvalue=""):
                aligned: list[str] = []
                for at, (part, width) in enumerate(zip(parts, widths, strict=True)):
                    space = " " * (width - _columns(part))
                    aligned.append(space + part if right and right[at] else part + space)
                self._write("  ".join(aligned).rstrip(" "))
            if is_headed and not number:
                self._write("─" * (sum(widths) + 2 * len(widths) - 2))

    def _rows(self, pieces: Sequence[Piece], width: int | None) -> list[str]:
        """Break text into rows."""
        if width is None:
            return escaped("".join(piece if isinstance(piece, str) else piece.text for piece in pieces)).split("\n")
        cells = [
            (char, style if self._colours else "")
            for text, style in (Styled(piece) if isinstance(piece, str) else piece for piece in pieces)
            for char in escaped(text).expandtabs(4)
        ]
        return [_coloured(row) for row in _broken(cells, max(width, 2))]

    def _write(self, *rows: str) -> None:
        self._out.writelines(f"{row}\n" for row in rows)
        self._after_gap = False


def spaced(pieces: Iterable[Piece]) -> list[Piece]:
    """Put two spaces between pieces that are not empty."""
    found: list[Piece] = []
    for piece in pieces:
        if piece if isinstance(piece, str) else piece.text:
            found += ["  ", piece] if found else [piece]
    return found


def _one_line(pieces: Iterable[Piece]) -> list[Styled]:
    styled = (Styled(piece) if isinstance(piece, str) else piece for piece in pieces)
    return [Styled(text.replace("\r\n", " ").replace("\n", " "), style) for text, style in styled]


def _broken(cells: Sequence[tuple[str, str]], width: int) -> Iterator[Sequence[tuple[str, str]]]:
    """Break characters and their styles into rows of at most `width` columns: at a space, else behind a slash."""
    start = end = 0
    while start == 0 or end < len(cells):
        end, space, slash, room = start, 0, 0, width
        while end < len(cells) and cells[end][0] != "\n" and (room := room - _columns(cells[end][0])) >= 0:
            space = end if cells[end][0] == " " else space
            end += 1
            slash = end if cells[end - 1][0] == "/" else slash
        if end < len(cells) and cells[end][0] not in " \n" and max(space, slash) > start:
            end = space if space > start else slash
        yield cells[start:end]
        start = end + (end < len(cells) and cells[end][0] in " \n") or 1


def _coloured(cells: Iterable[tuple[str, str]]) -> str:
    runs = ((style, "".join(char for char, _ in run)) for style, run in groupby(cells, itemgetter(1)))
    return "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for style, text in runs)


def _columns(text: str) -> int:
    """Count terminal columns: wide characters take two; combining ones and escape sequences of ours none."""
    text = _CODE.sub("", text)
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)


class Terminal:
    """The standard streams of a command."""

    def __init__(self, *, json_wanted: bool) -> None:
        self.json_wanted = json_wanted
        self.out = _tolerant(sys.stdout)
        self.err = _tolerant(sys.stderr)
        self._out_is_terminal = self.out.isatty()
        self._err_is_terminal = self.err.isatty()
        self._is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
        self._colours = not self._is_dumb and not os.environ.get("NO_COLOR")

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer a question."""
        has_input = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]
        return has_input and self._err_is_terminal and not self.json_wanted

    @cached_property
    def page(self) -> Page:
        """Where results are written: with colours on a terminal, plain otherwise."""
        if self._out_is_terminal and not self._is_dumb:
            import shutil  # takes time

            width = shutil.get_terminal_size().columns
            return Page(self.out, for_people=True, width=width, colours=self._colours)
        return Page(self.out, for_people=self._out_is_terminal)

    def document(self, content: object) -> None:
        """Write one JSON document."""
        self.out.write(self._json(content, indent=2 if self._out_is_terminal else None) + "\n")

    def document_of(self, name: str, members: Iterable[object]) -> None:
        """Write one JSON document with a list of any length, without holding it in memory."""
        self.out.write(f"{{{json.dumps(name)}: [")
        for number, member in enumerate(members):
            self.out.write((",\n" if number else "\n") + self._json(member))
        self.out.write("\n]}\n")

    def note(self, text: str) -> None:
        """Write a note to standard error."""
        self._tell({"note": text}, f"note: {text}", dim)

    def say_piece(self, text: str) -> None:
        """Show the next piece of a text that is still being generated, on a terminal."""
        if self._err_is_terminal:
            self.err.write(escaped(text))
            self.err.flush()

    def error(self, error: EverywordError) -> None:
        """Write an error and its fix to standard error."""
        document = {"type": type(error).__name__, "detail": error.detail, "fix": error.fix}
        self._tell({"error": document}, f"everyword: {error}", partial(Styled, style="31"))

    def ask(self, question: str) -> bool:
        """Ask a question; anything but yes means no."""
        self.out.flush()
        self.err.write(f"{escaped(question)} [y/N] ")
        self.err.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    @contextmanager
    def progress(self, title: str) -> Generator[Report]:
        """Show progress on standard error during the block: a bar on a terminal, else a line every few seconds."""
        has_bar = self._err_is_terminal and not self.json_wanted and not self._is_dumb
        due = 0.0 if has_bar else time.monotonic() + _SECONDS_BETWEEN_LINES

        def report(what: str, done: int, total: int) -> None:
            nonlocal due
            now, most = time.monotonic(), max(done, total)
            if now < due and not (has_bar and done == most):
                return
            due = now + (_SECONDS_BETWEEN_BARS if has_bar else _SECONDS_BETWEEN_LINES)
            named = f"{title} {what}"
            if has_bar:
                full = "━" * (_BAR_CHARS * done // max(most, 1))
                self.err.write(f"\r{escaped(named)} {full:─<{_BAR_CHARS}} {done:,}/{most:,}\x1b[K")
                self.err.flush()
            else:
                document = {"what": named, "done": done, "total": total}
                self._tell({"progress": document}, f"{named}: {done:,} of {most:,}", dim)

        try:
            yield report
        finally:
            if has_bar:
                self.err.write("\r\x1b[K")
                self.err.flush()

    def flush(self) -> None:
        """Write out both streams; raise BrokenPipeError if the reader is gone."""
        self.out.flush()
        self.err.flush()

    def give_up(self) -> None:
        """Discard unwritten output if the reader is gone, so that the interpreter does not complain at exit."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (self.out, self.err):
            try:
                stream.flush()
            except (OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

    def _json(self, content: object, indent: int | None = None) -> str:
        # Non-ASCII letters stay as they are for UTF-8 readers. Hidden characters, which could control a terminal or a
        # model, are always escaped.
        letters = self.out.encoding.lower().replace("-", "") == "utf8" and not self._out_is_terminal
        return escaped_json(json.dumps(content, ensure_ascii=not letters, indent=indent))

    def _tell(self, document: dict[str, Any], text: str, style: Callable[[str], Styled]) -> None:
        """Write a line to standard error, or a JSON document."""
        if self.json_wanted:
            text = json.dumps(document)
        else:
            self.out.flush()  # keeps the order where both streams are shown together
            if self._err_is_terminal:
                text = escaped(text)
                text = _coloured([style(text)]) if self._colours else text
        self.err.write(text + "\n")
        self.err.flush()


def _tolerant(stream: TextIO | None) -> TextIO:
    """Make a stream escape characters that its encoding can't write; replace a closed stream."""
    if stream is None:  # closed by the parent process
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        with suppress(OSError):  # what waits in its buffer can't be written; flush() will say so
            reconfigure(errors="backslashreplace")
    return stream
