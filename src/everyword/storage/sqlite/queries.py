"""The queries of SQLite, by name."""

from __future__ import annotations

from functools import cache

from everyword.storage.sql.queries import queries_of


@cache
def queries() -> dict[str, str]:
    """Read every query once."""
    return queries_of("sqlite")


def query(name: str) -> str:
    """Give one query."""
    return queries()[name]
