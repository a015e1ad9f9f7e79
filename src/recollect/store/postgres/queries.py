"""The queries of `queries.sql`, by name."""

from __future__ import annotations

from functools import cache

from recollect.store.sql.queries import named_queries


@cache
def queries() -> dict[str, str]:
    """Read every query once."""
    return named_queries("recollect.store.postgres")


def query(name: str) -> str:
    """Give one query."""
    return queries()[name]


def statement(name: str) -> bytes:
    """Give one query as the driver takes it: a text that came from a file it takes for a mistake."""
    return queries()[name].encode()
