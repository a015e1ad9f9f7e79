"""Damaged files: whatever is called, what fails fails as StoreCorrupt, which says what to do."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from effort import effort
from everyword import Memory
from everyword.errors import ForeignFile, NewerSchema, StoreCorrupt, StoreError

TRIES = effort(6, 50)

CALLS: tuple[Callable[[Memory], Any], ...] = (
    lambda memory: memory.recall("Where does Ana live?"),
    lambda memory: memory.context("chess", budget=200),
    lambda memory: list(memory.events()),
    lambda memory: memory.statements(),
    lambda memory: memory.facts(),
    lambda memory: memory.graph.entities(),
    lambda memory: memory.concepts.list(),
    lambda memory: memory.intents.list(),
    lambda memory: memory.sessions(),
    lambda memory: memory.wake_up(),
    lambda memory: memory.stats(),
    lambda memory: memory.admin.api_keys(),
    lambda memory: memory.admin.verify(),
    lambda memory: memory.admin.verify(deep=True),
    lambda memory: memory.add("I moved to Rome. My sister Mia wants to learn chess.", speaker="Ana", session="s1"),
    lambda memory: memory.admin.settle(),
    lambda memory: memory.forget(session="s0"),
)
# Errors that tell what is wrong with a file as well: its head is another program's, its schema is none of ours.
SAID_OTHERWISE = (ForeignFile, NewerSchema)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "memory.db"
    with Memory.open(path, embedder="hashing", durability="normal") as memory:
        for number in range(24):
            memory.add(
                f"I moved to Lisbon {number}. My sister Mia lives in Porto. I want to learn chess. I paid a bill.",
                speaker=("Ana", "Bo")[number % 2],
                session=f"s{number % 3}",
                meta={"number": number},
            )
        memory.admin.create_key("reader")
        memory.admin.settle()  # so that there are derived rows to damage
    return path


@pytest.mark.parametrize("seed", range(TRIES))
def test_a_damaged_file_fails_as_a_damaged_file(sound: Path, tmp_path: Path, seed: int) -> None:
    path = Path(shutil.copy(sound, tmp_path / "memory.db"))
    pick = random.Random(seed)
    told = (_flip_bytes, _zero_a_page, _garbage_in_a_column, _garbage_in_a_column)[seed % 4](path, pick)
    leaks = [f"{told}: {error!r}" for call in CALLS if (error := _failure(path, call)) is not None]
    assert leaks == []


def _failure(path: Path, call: Callable[[Memory], Any]) -> Exception | None:
    """Call something; give what it fails with, unless that tells of a damaged file."""
    try:
        with Memory.open(path) as memory:
            call(memory)
    except Exception as error:
        told = isinstance(error, (StoreCorrupt, *SAID_OTHERWISE)) or type(error) is StoreError
        return None if told else error
    return None


def test_garbage_in_json_is_told_with_what_to_do(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sound, tmp_path / "memory.db"))
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE events SET meta = '{garbage'")
    connection.close()
    with Memory.open(path) as memory, pytest.raises(StoreCorrupt, match=r"restore a backup.*table events"):
        list(memory.events())


def _flip_bytes(path: Path, pick: random.Random) -> str:
    data = bytearray(path.read_bytes())
    places = [pick.randrange(100, len(data)) for _ in range(pick.choice((1, 8, 200)))]
    for place in places:
        data[place] ^= 1 << pick.randrange(8)
    path.write_bytes(data)
    return f"bytes flipped at {places[:3]}"


def _zero_a_page(path: Path, pick: random.Random) -> str:
    data = bytearray(path.read_bytes())
    page = pick.randrange(1, len(data) // 16384)
    data[page * 16384 : (page + 1) * 16384] = bytes(16384)
    path.write_bytes(data)
    return f"page {page} is zero"


def _garbage_in_a_column(path: Path, pick: random.Random) -> str:
    connection = apsw.Connection(str(path))
    while True:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = pick.choice(sorted(tables))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[2] in ("TEXT", "BLOB")]
        if not columns or not connection.execute(f"SELECT count(*) FROM {table}").get:
            continue
        column = pick.choice(columns)
        garbage = pick.choice(("'{garbage'", "''", "'[1]'", "'{}'", "CAST(x'ff00fe' AS TEXT)", "x'ff'", "'null'"))
        try:
            connection.execute(f"UPDATE {table} SET {column} = {garbage}")
        except apsw.Error:
            continue
        connection.close()
        return f"{garbage} in {table}.{column}"
