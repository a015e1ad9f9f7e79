"""Problems that a check finds: what to do about them, and how a check goes on where a row can't even be read."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.core.values import Problem

REBUILD = "recollect rebuild"
RESTORE = "restore a backup, or export what can be read into a new memory"
UNREADABLE = "rows"  # where a problem is that ended a check


def while_readable(problems: Iterator[Problem]) -> Iterator[Problem]:
    """Pass problems on until a row can't be read, which is one too."""
    try:
        yield from problems
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"one can't be read ({type(error).__name__}: {error}); what comes after it was not checked"
        yield Problem(where=UNREADABLE, what=what, fix=RESTORE)
