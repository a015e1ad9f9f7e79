"""Open the store that a location names: a file, memory, or a PostgreSQL server."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from everyword.errors import BadLocation, StoreError
from everyword.extras import need
from everyword.settings import Settings
from everyword.storage.protocol import Store
from everyword.storage.rows import COPYING, IN_MEMORY

if TYPE_CHECKING:
    from everyword.storage.sqlite.other_memory import AnotherLog

_WHOSE = slice(68, 72)  # of a file's head: whose it is


def open_store(
    location: str | os.PathLike[str], settings: Settings, *, create: bool = True, unfinished: bool = False
) -> Store:
    """Open the store at a location; a copy in the making only for who goes on with it (`unfinished`)."""
    store = _opened(location, settings, create=create)
    try:
        if not unfinished:
            _check_whole(store)
    except BaseException:
        store.close()
        raise
    return store


def open_scratch() -> Store:
    """Open an empty store that nobody else sees and that is gone when it is closed, however large it becomes."""
    from everyword.storage.sqlite import SqliteStore

    return SqliteStore(IN_MEMORY, Settings(durability="normal"), spills=True)


def open_log(path: Path) -> AbstractContextManager[AnotherLog]:
    """Open another memory's file for its events alone, and change nothing of it."""
    from everyword.storage.sqlite.other_memory import another_log

    return another_log(path)


def is_memory(head: bytes) -> bool:
    """Tell a memory's file by how it begins."""
    from everyword.storage.sqlite.schema import APPLICATION_ID

    return head[_WHOSE] == APPLICATION_ID.to_bytes(4, "big")


def _check_whole(store: Store) -> None:
    """Refuse what an interrupted copy left: it lacks rows, and what is written there would not fit those to come."""
    with store.file_reader() as reader:
        copying = reader.fact(COPYING)
    if copying:
        raise StoreError(
            f"{store.location} is an unfinished copy.",
            fix="Run the same everyword migrate again; it continues where it stopped.",
        )


def _opened(location: str | os.PathLike[str], settings: Settings, *, create: bool) -> Store:
    text = os.fspath(location) if isinstance(location, str | os.PathLike) else ""
    if not isinstance(text, str) or not text.strip() or "\x00" in text:
        raise BadLocation(f"{location!r} is not a location; give the path of a file, or ':memory:'.")
    scheme = text.partition("://")[0] if "://" in text else ""
    if scheme in ("postgresql", "postgres"):
        need("psycopg", extra="postgres")
        from everyword.storage.postgres import PostgresStore

        return PostgresStore(text, settings, create=create)
    if scheme:
        raise BadLocation(
            f"Everyword can't open {scheme}:// locations; give the path of a file, ':memory:', or postgresql://..."
        )
    from everyword.storage.sqlite import SqliteStore

    return SqliteStore(text, settings, create=create)
