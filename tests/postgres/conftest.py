"""Stores and memories on the session's PostgreSQL, each test in a schema of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from postgres_server import Server

_numbers = itertools.count()


@pytest.fixture
def location(postgres: Server) -> Iterator[str]:
    """Give the location of an empty store."""
    schema = f"t{next(_numbers)}"
    yield f"{postgres.location}?schema={schema}"
    postgres.as_admin(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
