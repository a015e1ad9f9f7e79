"""What a forked child does, said by its exit code."""

from __future__ import annotations

import os
from collections.abc import Callable

from everyword.errors import StoreForked


def in_child(work: Callable[[], bool]) -> None:
    """Fork, and let the child say by its exit code whether all was well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def refuses(use: Callable[[], object], kind: type[Exception] = StoreForked) -> bool:
    """Tell whether a use is refused, as by default everything of a parent is."""
    try:
        use()
    except kind:
        return True
    return False
