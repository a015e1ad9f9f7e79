"""What a store must do for imports: remember how far each file was read, and what must not come back by reading it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from recollect.core.values import Event, Json
from recollect.store.forgotten import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """How far a file was read, and what it was like then."""

    path: str
    reading: str  # how it was read: what was read in another way is read again
    bytes: int
    modified: int  # nanoseconds since 1970; 0: only its content tells whether it changed
    hash: bytes  # SHA-256 of its first `bytes`; empty where something of it was forgotten: then it is read anew
    position: Mapping[str, Json]  # understood by the format alone; empty: at the beginning
    events: int
    whole: bool


class ImportReader(Protocol):
    """What a snapshot knows of imports."""

    def files_read(self, space: str, paths: Sequence[str]) -> dict[str, FileRead]:
        """Look up how far some files were read, by path."""
        ...

    def forgotten(self, space: str, identities: Collection[Identity]) -> set[Identity]:
        """Tell which of these were forgotten; of others at the same place, one in 64 is taken for forgotten too."""
        ...


class ImportWriter(ImportReader, Protocol):
    """Changes to that, within the transaction of the events that were read."""

    def put_files_read(self, space: str, files: Sequence[FileRead]) -> None:
        """Note how far files were read; what was noted of them before is replaced."""
        ...

    def put_forgotten(self, space: str, events: Collection[Event]) -> None:
        """Keep what is needed to recognise forgotten events, and drop the hashes of files that may have held them."""
        ...
