"""verify finds rows that were deleted or changed behind the memory's back, and rebuild mends what is derived."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import apsw
import pytest

from effort import effort
from everyword import Memory
from everyword.errors import StoreError
from everyword.storage.sqlite import schema as digests

TRIES = effort(4, 50)
IMMATERIAL: frozenset[str] = frozenset()  # tables that may change without anybody being told: none

SAID = (
    ("Ana", "I moved to Lisbon in March. My sister Mia lives in Porto."),
    ("Bo", "I need to pay the gas bill before Friday."),
    ("Ana", "I work at Acme Labs. I want to learn chess."),
    ("Ana", "Actually, I live in Porto now, not in Lisbon."),
    ("Bo", "We decided to use PostgreSQL for the billing service."),
    ("Ana", "The chess lessons start on Tuesday. I paid for the chess book."),
    ("Bo", "Chess is fun. I prefer tea over coffee."),
)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a memory with something in nearly every table."""
    path = tmp_path_factory.mktemp("verify") / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        for number, (speaker, text) in enumerate(SAID * 2):
            memory.add(f"{text} ({number})", speaker=speaker, session=f"s{number % 3}", wing="w", meta={"n": number})
        memory.forget(session="s2")
        memory.retract(memory.statements()[0].id)
        memory.recall("Where does Ana live?")
        for day in ("Monday", "Tuesday", "Thursday"):
            memory.add(f"The boiler in the cellar of our house broke down on {day}.", speaker="Bo")
        assert memory.concepts.list()
        memory.add("Mia called.", speaker="Bo", key="k")
        memory.admin.create_key("reader")
        assert memory.admin.verify(deep=True).problems == ()
    return path


@pytest.fixture
def memory_at(healthy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(healthy, tmp_path / "memory.db"))


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM statements",
        "DELETE FROM facts",
        "UPDATE pooled_tail SET pooled = zeroblob(length(pooled))",
        "UPDATE statements SET status = 'retracted', body = body || ' '",
        "UPDATE facts SET body = '{garbage' WHERE number = (SELECT min(number) FROM facts)",
        "UPDATE events SET wing = 'another' WHERE seq = (SELECT max(seq) FROM events)",
        "DELETE FROM receipts",
        "UPDATE api_keys SET permission = 'admin'",
        "DROP INDEX events_at",
    ],
)
def test_what_is_changed_behind_its_back_is_found(memory_at: Path, change: str) -> None:
    _change(memory_at, change)
    with Memory.open(memory_at) as memory:
        assert not memory.admin.verify().ok
        assert not memory.admin.verify(deep=True).ok


@pytest.mark.parametrize(
    "change",
    ["DELETE FROM statements", "DELETE FROM facts", "UPDATE pooled_tail SET pooled = zeroblob(length(pooled))"],
)
def test_rebuild_mends_what_is_derived(memory_at: Path, change: str) -> None:
    _change(memory_at, change)
    with Memory.open(memory_at) as memory:
        memory.admin.rebuild()
        assert memory.admin.verify(deep=True).problems == ()


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("facts", "DELETE FROM facts WHERE number = (SELECT max(number) FROM facts)"),
        ("mentions", "UPDATE mentions SET votes = votes + 1"),
        ("fold_edges", "UPDATE fold_edges SET weight = weight + 0.5"),
        ("fold_work", "UPDATE fold_work SET size = size + 1"),
        ("pooled_tail", "UPDATE pooled_tail SET pooled = zeroblob(length(pooled)) WHERE position = 2"),
    ],
)
def test_deep_finds_what_the_log_does_not_give_even_where_the_digest_agrees(
    memory_at: Path, table: str, change: str
) -> None:
    _change(memory_at, change)
    connection = apsw.Connection(str(memory_at))
    digests.renew(connection, [table])
    connection.close()
    with Memory.open(memory_at) as memory:
        assert memory.admin.verify().problems == ()
        assert not memory.admin.verify(deep=True).ok


def test_any_change_of_one_column_is_found(memory_at: Path) -> None:
    found = 0
    changes: list[str] = []
    for seed in range(TRIES):
        path = Path(shutil.copy(memory_at, memory_at.with_name(f"{seed}.db")))
        changes.append(_change_one_column(path, random.Random(seed)))
        try:
            with Memory.open(path) as memory:
                found += not memory.admin.verify(deep=True).ok
        except Exception as error:  # it does not even open
            found += isinstance(error, StoreError)
        path.unlink()
    assert found >= TRIES * 0.95, changes


def test_progress_is_told(healthy: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with Memory.open(healthy) as memory:
        memory.admin.verify(deep=True, progress=lambda *one: told.append(one))
    assert {what for what, _, _ in told} >= {"log", "rows", "vectors"}


def test_the_hash_of_a_row_stays_as_files_have_it() -> None:
    assert digests.row_hash((1, "é", None, 2.5, b"\x00", 1 << 40)) == 9992908874016712823


def _change(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


def _change_one_column(path: Path, pick: random.Random) -> str:
    """Give one column of one row another value of its type; tell which."""
    connection = apsw.Connection(str(path))
    tables = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if name not in IMMATERIAL and connection.execute(f"SELECT count(*) FROM {name}").get
    ]
    while True:
        table = pick.choice(sorted(tables))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        row, place = pick.choice(rows), pick.randrange(len(columns))
        value = row[place]
        if value is None:
            value = 1 if table not in ("events", "imports") else "x"
        elif isinstance(value, int):
            value += pick.choice((-1, 1, 1000))
        elif isinstance(value, float):
            value += 0.5
        elif isinstance(value, bytes):
            value = (bytes([value[0] ^ 1]) + value[1:]) if value else b"x"
        else:
            value = value[:-1] + ("x" if value[-1:] != "x" else "y")
        where = " AND ".join(f"{name} IS ?" for name in columns)
        try:
            connection.execute(f"UPDATE {table} SET {columns[place]} = ? WHERE {where}", (value, *row))
        except apsw.Error:
            continue  # the schema does not let it be: another
        if connection.changes():
            connection.close()
            return f"{table}.{columns[place]}"
