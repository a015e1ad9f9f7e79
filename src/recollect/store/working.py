"""What a store does for workers: hand out spaces that owe work, one worker each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from recollect.store.protocol import Store


@runtime_checkable
class Workplace(Protocol):
    """A store whose work any number of processes may share."""

    def owed(self, *, now: int, but: Sequence[str] = ()) -> AbstractContextManager[str | None]:
        """Take a space that owes work, the longest waiting first; nobody else gets it during the `with` block.

        None where none owes any. `but`: spaces to leave out. A worker that dies gives its space back.
        """
        ...

    def only(self, space: str) -> Store:
        """Give the same store as if it held one space alone."""
        ...

    def wait_for_work(self, timeout_s: float) -> None:
        """Wait until somebody leaves work, or for so long."""
        ...
