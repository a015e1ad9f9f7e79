"""Hooks of coding agents: what is said is kept, and what is known is given back, without the agent having to ask.

An agent starts a process for each hook and waits for it, so that nothing heavy is imported here or in what a hook runs
through (`entry`, `asking`, `settings`, `journal`). What takes long is handed to a resident process, or to one of its
own.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.hooks.installing import Change
    from recollect.hooks.measuring import Timing

__all__ = ["install", "main", "measure", "status", "switch", "uninstall"]


def main(argv: Sequence[str] | None = None, stdin: BinaryIO | None = None) -> int:
    """Run a hook or a command about hooks; give the exit code, which is 0 for every hook whatever happens."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] and arguments[0] in ("run", "codex", "save", "resident"):
        from recollect.hooks import entry

        # There is no standard input where who started us has closed it.
        given = stdin or getattr(sys.stdin, "buffer", None) or io.BytesIO()
        return entry.main(arguments, given)
    from recollect.hooks import commands

    return commands.main(arguments)


def install(settings_path: str | Path, *, memory: str, home: str | Path | None = None, **options: Any) -> Change:
    """Add the hooks to an agent's settings file; `dry_run=True` only shows the change. A backup is kept."""
    from recollect.hooks import installing

    return installing.install(settings_path, memory=memory, home=home, **options)


def uninstall(settings_path: str | Path, *, home: str | Path | None = None, dry_run: bool = False) -> Change:
    """Take the hooks out again: the file as it was, or, if it was changed since, without our entries."""
    from recollect.hooks import installing

    return installing.uninstall(settings_path, home=home, dry_run=dry_run)


def status(home: str | Path | None = None) -> dict[str, Any]:
    """Tell what is installed, what is switched on, who serves, and what went wrong last."""
    from recollect.hooks import installing

    return installing.status(home)


def switch(name: str, *, on: bool, home: str | Path | None = None) -> None:
    """Switch one hook, or one thing that hooks do, on or off."""
    from recollect.hooks import installing

    installing.switch(name, on=on, home=home)


def measure(home: str | Path | None = None, *, runs: int = 50) -> list[Timing]:
    """Time each hook as an agent would feel it, on the memory that is set up."""
    from recollect.hooks import measuring

    return measuring.measure(home, runs=runs)
