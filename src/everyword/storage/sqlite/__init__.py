"""The embedded store: one SQLite file, many processes."""

from everyword.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
