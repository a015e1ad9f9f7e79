"""Standard output and standard error: results, notes, progress, errors and questions."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, TextIO

from everyword.errors import EverywordError
from everyword.interfaces.cli.page import Page, Report
from everyword.text.hidden_characters import escaped, escaped_json

_RED = "\x1b[31m"
_DIM = "\x1b[2m"
_RESET = "\x1b[0m"
_SECONDS_BETWEEN_LINES = 3.0  # of progress without a bar


class Terminal:
    """The standard streams of a command."""

    def __init__(self, *, json_wanted: bool) -> None:
        self.json_wanted = json_wanted
        self.out = _tolerant(sys.stdout)
        self.err = _tolerant(sys.stderr)
        self._page: Page | None = None

    @property
    def out_is_terminal(self) -> bool:
        """Whether standard output is a terminal."""
        return self.out.isatty()

    @property
    def err_is_terminal(self) -> bool:
        """Whether standard error is a terminal."""
        return self.err.isatty()

    @property
    def shows_bars(self) -> bool:
        """Whether standard error can show a progress bar."""
        return self.err_is_terminal and not self.json_wanted and not _is_dumb()

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer a question."""
        has_input = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]
        return has_input and self.err_is_terminal and not self.json_wanted

    @property
    def page(self) -> Page:
        """Where results are written: with colours on a terminal, plain otherwise."""
        if self._page is None:
            if self.out_is_terminal and not _is_dumb():
                from everyword.interfaces.cli.rich_page import RichPage  # importing rich takes time

                self._page = RichPage(self.out)
            else:
                self._page = Page(self.out, for_people=self.out_is_terminal)
        return self._page

    def document(self, content: object) -> None:
        """Write one JSON document."""
        self.out.write(self._json(content, indent=2 if self.out_is_terminal else None) + "\n")

    def document_of(self, name: str, members: Iterable[object]) -> None:
        """Write one JSON document with a list of any length, without holding it in memory."""
        self.out.write(f"{{{json.dumps(name)}: [")
        for number, member in enumerate(members):
            self.out.write((",\n" if number else "\n") + self._json(member))
        self.out.write("\n]}\n")

    def note(self, text: str) -> None:
        """Write a note to standard error."""
        if self.json_wanted:
            self._write_json_line({"note": text})
        else:
            self._write_line(f"note: {text}", style=_DIM)

    def say_piece(self, text: str) -> None:
        """Show the next piece of a text that is still being generated, on a terminal."""
        if self.err_is_terminal:
            self.err.write(escaped(text))
            self.err.flush()

    def progress(self, what: str, done: int, total: int) -> None:
        """Write a line of progress to standard error."""
        if self.json_wanted:
            self._write_json_line({"progress": {"what": what, "done": done, "total": total}})
        else:
            self._write_line(f"{what}: {done:,} of {max(done, total):,}", style=_DIM)

    def error(self, error: EverywordError) -> None:
        """Write an error and its fix to standard error."""
        if self.json_wanted:
            self._write_json_line({"error": {"type": type(error).__name__, "detail": error.detail, "fix": error.fix}})
        else:
            self._write_line(f"everyword: {error}", style=_RED)

    def ask(self, question: str) -> bool:
        """Ask a question; anything but yes means no."""
        self.out.flush()
        self.err.write(f"{escaped(question)} [y/N] ")
        self.err.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

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
        letters = self.out.encoding.lower().replace("-", "") == "utf8" and not self.out_is_terminal
        return escaped_json(json.dumps(content, ensure_ascii=not letters, indent=indent))

    def _write_json_line(self, content: dict[str, Any]) -> None:
        self.err.write(json.dumps(content) + "\n")
        self.err.flush()

    def _write_line(self, text: str, *, style: str) -> None:
        self.out.flush()  # keeps the order where both streams are shown together
        if self.err_is_terminal:
            text = escaped(text)
            if not _is_dumb() and not os.environ.get("NO_COLOR"):
                text = f"{style}{text}{_RESET}"
        self.err.write(text + "\n")
        self.err.flush()


# Progress


@contextmanager
def progress(terminal: Terminal, title: str) -> Generator[Report]:
    """Show progress on standard error during the block: a bar on a terminal, else a line every few seconds."""
    if terminal.shows_bars:
        from everyword.interfaces.cli.rich_page import progress_bar

        with progress_bar(terminal.err, title) as report:
            yield report
    else:
        yield _progress_lines(terminal, title)


def _progress_lines(terminal: Terminal, title: str) -> Report:
    due = time.monotonic() + _SECONDS_BETWEEN_LINES

    def report(what: str, done: int, total: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            terminal.progress(f"{title} {what}", done, total)
            due = now + _SECONDS_BETWEEN_LINES

    return report


def _tolerant(stream: TextIO | None) -> TextIO:
    """Make a stream escape characters that its encoding can't write; replace a closed stream."""
    if stream is None:  # closed by the parent process
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return stream


def _is_dumb() -> bool:
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")
