"""Where output goes: standard output and standard error, what they can show, and how to write to them safely."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from recollect.core.errors import RecollectError
from recollect.core.rendering import escaped, escaped_json

if TYPE_CHECKING:
    from recollect.cli.page import Page

_RED = "\x1b[31m"
_DIM = "\x1b[2m"
_RESET = "\x1b[0m"


class Terminal:
    """Standard output and standard error."""

    def __init__(self, *, json_wanted: bool) -> None:
        self.json_wanted = json_wanted
        self.out = _safe(sys.stdout)
        self.err = _safe(sys.stderr)
        self._page: Page | None = None

    @property
    def out_is_terminal(self) -> bool:
        """Tell whether a person reads standard output."""
        return self.out.isatty()

    @property
    def err_is_terminal(self) -> bool:
        """Tell whether a person reads standard error."""
        return self.err.isatty()

    @property
    def shows_bars(self) -> bool:
        """Tell whether standard error can show a bar that moves."""
        return self.err_is_terminal and not self.json_wanted and not _dumb()

    @property
    def can_ask(self) -> bool:
        """Tell whether there is a person to ask."""
        there = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]
        return there and self.err_is_terminal and not self.json_wanted

    @property
    def page(self) -> Page:
        """Give what results are laid out on: with colours on a terminal, plain otherwise."""
        if self._page is None:
            if self.out_is_terminal and not _dumb():
                from recollect.cli.colour import ColourPage

                self._page = ColourPage(self.out)
            else:
                from recollect.cli.page import PlainPage

                self._page = PlainPage(self.out, for_people=self.out_is_terminal)
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
        """Say something beside the result."""
        if self.json_wanted:
            self._say_json({"note": text})
        else:
            self._say(f"note: {text}", style=_DIM)

    def say_piece(self, text: str) -> None:
        """Show a piece of a text that is still being written."""
        if self.err_is_terminal:
            self.err.write(escaped(text))
            self.err.flush()

    def progress(self, what: str, done: int, total: int) -> None:
        """Say how far long work is."""
        if self.json_wanted:
            self._say_json({"progress": {"what": what, "done": done, "total": total}})
        else:
            self._say(f"{what}: {done:,} of {max(done, total):,}", style=_DIM)

    def error(self, error: RecollectError) -> None:
        """Say what went wrong and what to do."""
        if self.json_wanted:
            from recollect.serial import error_to_json

            self._say_json(error_to_json(error))
        else:
            self._say(f"recollect: {error}", style=_RED)

    def ask(self, question: str) -> bool:
        """Ask a question; anything but a yes is a no."""
        self.out.flush()
        self.err.write(f"{escaped(question)} [y/N] ")
        self.err.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def flush(self) -> None:
        """Hand everything to whoever reads it; BrokenPipeError when nobody does."""
        self.out.flush()
        self.err.flush()

    def give_up(self) -> None:
        """Send what is still to be written nowhere: the reader has gone, and the interpreter would complain at exit."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (self.out, self.err):
            try:
                stream.flush()
            except (OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

    def _json(self, content: object, indent: int | None = None) -> str:
        # A reader of UTF-8 gets letters as they are; hidden characters, which a terminal or a model may obey, escaped.
        letters = self.out.encoding.lower().replace("-", "") == "utf8" and not self.out_is_terminal
        return escaped_json(json.dumps(content, ensure_ascii=not letters, indent=indent))

    def _say_json(self, content: dict[str, Any]) -> None:
        self.err.write(json.dumps(content) + "\n")
        self.err.flush()

    def _say(self, text: str, *, style: str) -> None:
        self.out.flush()  # so that both streams, shown in one place, keep their order
        if self.err_is_terminal:
            text = escaped(text)
            if not _dumb() and not os.environ.get("NO_COLOR"):
                text = f"{style}{text}{_RESET}"
        self.err.write(text + "\n")
        self.err.flush()


def _safe(stream: TextIO | None) -> TextIO:
    if stream is None:  # closed by whoever started us
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        # What the encoding can't write (a lone surrogate, a letter outside Latin-1) is escaped instead of failing.
        reconfigure(errors="backslashreplace")
    return stream


def _dumb() -> bool:
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")
