"""What a store does for workers: hand out spaces that owe work, one worker each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from recollect.store.protocol import Store


class ServerCard(NamedTuple):
    """What a server is."""

    version: str
    vectors: str  # the version of its extension for vectors
    walled: bool  # whether it keeps this user to one space at a time
    indexed: int  # spaces whose vectors have an index


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

    def about(self) -> ServerCard:
        """Say what the server is."""
        ...

    def wait_for_work(self, timeout_s: float) -> None:
        """Wait until somebody leaves work, or for so long."""
        ...
