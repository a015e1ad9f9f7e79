"""The suite on SQLite: a file, and a store in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from conformance.layers import LayersConformance
from conformance.making import SPACE
from conformance.sources import SourcesConformance
from conformance.suite import StoreConformance
from conformance.upkeep import do_damage
from conformance.written import WrittenConformance
from everyword.settings import Settings
from everyword.storage.protocol import Store
from everyword.storage.sql import writer
from everyword.storage.sqlite import SqliteStore

SETTINGS = Settings(durability="normal")


class TestSqliteFile(StoreConformance):
    """A file."""

    @pytest.fixture(autouse=True)
    def _close_others(self):
        self.others: list[Store] = []
        yield
        for other in self.others:
            other.close()

    def open(self, folder: Path) -> Store:
        return SqliteStore(folder / "memory.db", SETTINGS)

    def another(self, store: Store) -> Store:
        other = SqliteStore(store.location, SETTINGS)
        self.others.append(other)
        return other

    def open_backup(self, path: Path) -> Store:
        return SqliteStore(path, SETTINGS, create=False)

    def seal_at(self, monkeypatch: pytest.MonkeyPatch, events: int) -> None:
        monkeypatch.setattr(writer, "SEAL_AT", events)

    def damage(self, store: Store, damage: str) -> None:
        connection = apsw.Connection(store.location)
        try:
            do_damage(connection.execute, damage, mark="?", space="id")
        finally:
            connection.close()


class TestSqliteMemory(SourcesConformance, LayersConformance, WrittenConformance):
    """In memory: the same code without a file, so a part of the suite is enough."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        opened = SqliteStore(":memory:", SETTINGS)
        yield opened
        opened.close()


def test_two_stores_in_memory_are_two() -> None:
    first, second = SqliteStore(":memory:", SETTINGS), SqliteStore(":memory:", SETTINGS)
    with first.file_writer() as one:
        one.set_fact("colour", "blue")
    with second.file_reader() as other:
        assert other.fact("colour") is None
    first.close()
    with second.file_reader() as other:
        assert other.spaces() == []
    second.close()


def test_removed_seqs_of_other_types_are_fine(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "m.db", SETTINGS)
    with store.writer(SPACE) as one:
        assert one.remove(np.array([], np.int64)) == {}
    store.close()
