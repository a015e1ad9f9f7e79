"""The suite on a real PostgreSQL, as a user whom the server's policies bind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from conformance.suite import StoreConformance
from conformance.upkeep import do_damage
from everyword.settings import Settings
from everyword.storage.postgres import PostgresStore
from everyword.storage.protocol import Store
from everyword.storage.sql import writer
from everyword.storage.sqlite import SqliteStore
from postgres_server import Server

SETTINGS = Settings(durability="normal")


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
            do_damage(connection.execute, damage, mark="%s", space="space")
