"""The command line, called in the test's own process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from everyword.interfaces.cli import main


class Done(NamedTuple):
    """What a command left: its exit code and all that it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Read what was printed as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """Read the error that was printed as JSON."""
        return json.loads(self.err)["error"]


Run = Callable[..., Done]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give what calls the command line and catches what it prints."""

    def run(*arguments: str) -> Done:
        return Done(main(arguments), *capsys.readouterr())

    return run
