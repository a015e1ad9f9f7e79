"""The schema is the sum of its migrations, and can be read in one place."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import apsw
import apsw.ext
import pytest

from everyword.errors import StoreError
from everyword.settings import Settings
from everyword.storage.sql import queries
from everyword.storage.sqlite import SqliteStore, schema

DUMP = Path(str(files("everyword.storage"))) / "schema.sqlite.sql"
HEAD = """\
-- The schema of a SQLite memory as all migrations together make it, for reading.
-- Made from them: python tests/unit/test_store_schema.py writes it anew, a test compares it.
"""


def dumped(path: Path) -> str:
    """Write the schema of a file as SQL, tables first, each with its indexes."""
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        " ORDER BY tbl_name, type DESC, name"
    ).fetchall()
    version, application = connection.pragma("user_version"), connection.pragma("application_id")
    connection.close()
    body = "\n\n".join(f"{sql};" for (sql,) in rows)
    return f"{HEAD}\nPRAGMA application_id = {application:#x};\nPRAGMA user_version = {version};\n\n{body}\n"


def _fresh(folder: Path) -> Path:
    path = folder / "memory.db"
    SqliteStore(path, Settings()).close()
    return path


def test_the_schema_is_the_sum_of_the_migrations(tmp_path: Path) -> None:
    assert DUMP.read_text(encoding="utf-8") == dumped(_fresh(tmp_path)), (
        "run: .venv/bin/python tests/unit/test_store_schema.py"
    )


def test_the_dump_makes_a_file_that_opens(tmp_path: Path) -> None:
    path = tmp_path / "by_hand.db"
    connection = apsw.Connection(str(path))
    connection.execute(DUMP.read_text(encoding="utf-8"))
    connection.close()
    store = SqliteStore(path, Settings(), create=False)
    assert store.audit().problems == ()
    store.close()


def test_migrations_are_numbered_without_gaps() -> None:
    folder = Path(str(files("everyword.storage"))) / "migrations"
    names = sorted(path.name for path in folder.iterdir() if path.suffix == ".sql")
    assert all(re.fullmatch(r"\d{4}_[a-z0-9_]+\.(sqlite|postgres)\.sql", name) for name in names)
    numbers = [number for number, _ in schema.migrations("sqlite")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert schema.newest_schema("sqlite") == numbers[-1]


def test_a_migration_comes_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _fresh(tmp_path)
    before = dumped(path)
    broken = (schema.newest_schema("sqlite") + 1, "CREATE TABLE new_one (a); CREATE TABLE events (twice);")
    for module in (schema, queries):
        monkeypatch.setattr(module, "migrations", lambda _: ((1, ""), broken))
    with pytest.raises(StoreError, match="already exists"):
        SqliteStore(path, Settings())
    monkeypatch.undo()
    assert dumped(path) == before
    SqliteStore(path, Settings()).close()


def test_every_query_is_valid_and_used(tmp_path: Path) -> None:
    folder = Path(str(files("everyword.storage")))
    source = "".join(path.read_text() for part in (".", "sql", "sqlite") for path in (folder / part).glob("*.py"))
    connection = apsw.Connection(str(_fresh(tmp_path)))
    for name in queries.query_names("sqlite"):
        sql = queries.query_of("sqlite", name)
        used = f'"{name}"' in source or (name.startswith("where_") and "where_{" in source)
        assert used, f"{name} is not used"
        if name.startswith("where_") or sql.startswith("PRAGMA"):
            continue
        apsw.ext.query_info(connection, sql.replace("{where}", ""))  # compiles it, and runs nothing
    connection.close()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        DUMP.write_text(dumped(_fresh(Path(folder))), encoding="utf-8")
