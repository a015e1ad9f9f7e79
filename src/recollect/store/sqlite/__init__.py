"""The embedded store: one SQLite file, many processes."""

from recollect.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
