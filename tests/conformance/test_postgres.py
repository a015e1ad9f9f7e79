"""The suite on a real PostgreSQL, as a user whom the server's policies bind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from conformance.suite import StoreConformance
from everyword.settings import Settings
from everyword.storage.nearest import unit_of
from everyword.storage.postgres import PostgresStore
from everyword.storage.protocol import Store
from everyword.storage.sql import writer
from everyword.storage.sqlite import SqliteStore
from postgres_server import Server

SETTINGS = Settings(durability="normal")

_FIRST = "SELECT min(seq) FROM events"
_A_CHUNK = "SELECT term, first, chunk FROM postings ORDER BY term LIMIT 1"
_DAMAGE: dict[str, str] = {
    "changed text": f"UPDATE events SET text = 'tampered common words here' WHERE seq = ({_FIRST})",
    "changed speaker": f"UPDATE events SET speaker = 'Eve' WHERE seq = ({_FIRST})",
    "changed time": f"UPDATE events SET at = at + 1 WHERE seq = ({_FIRST})",
    "lost event": f"DELETE FROM events WHERE seq = ({_FIRST})",
    "missing tail row": "DELETE FROM word_tail WHERE seq = (SELECT max(seq) FROM word_tail)",
    "missing posting": "DELETE FROM postings WHERE term = (SELECT min(term) FROM postings)",
    "missing vector": "DELETE FROM vectors WHERE unit = (SELECT min(unit) FROM vectors)",
    "missing pooled vector": "DELETE FROM pooled_tail WHERE position = (SELECT max(position) FROM pooled_tail)",
    "missing pooled block": "DELETE FROM pooled_blocks WHERE block = (SELECT min(block) FROM pooled_blocks)",
    "wrong event counter": "UPDATE spaces SET events = events + 1",
    "wrong word counter": "UPDATE spaces SET words = words - 1",
    "wrong tail counter": "UPDATE spaces SET word_tail = word_tail + 1",
    "missing job": "DELETE FROM jobs WHERE id = (SELECT min(id) FROM jobs)",
}


def _damage(connection: psycopg.Connection[Any], damage: str) -> None:
    if damage == "stray vector":
        connection.execute(
            "INSERT INTO vectors (unit, space, start, stop, windows, tokens)"
            " SELECT %s, space, 0, 5, 1, '' FROM spaces WHERE name = 'home'",
            [unit_of(1, 99_999, 0)],
        )
        return
    if damage == "changed posting":
        term, first, chunk = connection.execute(_A_CHUNK).fetchall()[0]
        changed = bytes([*chunk[:-1], chunk[-1] ^ 1])
        connection.execute("UPDATE postings SET chunk = %s WHERE term = %s AND first = %s", (changed, term, first))
        return
    assert connection.execute(_DAMAGE[damage]).rowcount


class TestPostgres(StoreConformance):
    """A schema that is emptied after each test: making one takes longer than most tests."""

    schema = "conformance"

    @pytest.fixture(autouse=True)
    def _server(self, postgres: Server) -> Iterator[None]:
        self.server = postgres
        self.others: list[Store] = []
        yield
        for other in self.others:
            other.close()
        postgres.empty(self.schema)

    @property
    def location(self) -> str:
        return f"{self.server.location}?schema={self.schema}"

    def open(self, folder: Path) -> Store:
        return PostgresStore(self.location, SETTINGS)

    def another(self, store: Store) -> Store:
        other = PostgresStore(self.location, SETTINGS)
        self.others.append(other)
        return other

    def open_backup(self, path: Path) -> Store:
        return SqliteStore(path, SETTINGS, create=False)

    def seal_at(self, monkeypatch: pytest.MonkeyPatch, events: int) -> None:
        monkeypatch.setattr(writer, "SEAL_AT", events)

    def damage(self, store: Store, damage: str) -> None:
        with psycopg.connect(self.server.admin, dbname="memory", autocommit=True) as connection:
            connection.execute(f"SET search_path = {self.schema}")
            _damage(connection, damage)
