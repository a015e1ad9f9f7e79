"""The queries of `queries.sql`, by name."""

from __future__ import annotations

from functools import cache

from everyword.storage.sql.snapshot import named_queries


@cache
def queries() -> dict[str, str]:
    """Read every query once."""
    return named_queries("everyword.storage.sqlite")


def query(name: str) -> str:
    """Give one query."""
    return queries()[name]
