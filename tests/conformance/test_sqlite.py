"""The suite on SQLite: a file, and a store in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from conformance.layers import LayersConformance
from conformance.making import SPACE
from conformance.sources import SourcesConformance
from conformance.suite import StoreConformance
from conformance.written import WrittenConformance
from everyword.settings import Settings
from everyword.storage.nearest import unit_of
from everyword.storage.protocol import Store
from everyword.storage.sql import writer
from everyword.storage.sqlite import SqliteStore

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


def _damage(connection: apsw.Connection, damage: str) -> None:
    if damage == "stray vector":
        values: tuple[Any, ...] = (unit_of(1, 99_999, 0), 0, 5, 1, b"")
        connection.execute(
            "INSERT INTO vectors (unit, space, start, stop, windows, tokens)"
            " SELECT ?, id, ?, ?, ?, ? FROM spaces WHERE name = 'home'",
            values,
        )
        return
    if damage == "changed posting":
        term, first, chunk = connection.execute(_A_CHUNK).fetchall()[0]
        changed = bytes([*chunk[:-1], chunk[-1] ^ 1])
        connection.execute("UPDATE postings SET chunk = ? WHERE term = ? AND first = ?", (changed, term, first))
        return
    connection.execute(_DAMAGE[damage])
    assert connection.changes()


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
            _damage(connection, damage)
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
