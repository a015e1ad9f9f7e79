"""What a file's store has, the server's has too: a query of the same name, a migration of the same number."""

from __future__ import annotations

import re
from importlib.resources import files

# Only a file needs these: pages, digests of tables, another file's log, turns around one turn.
OF_FILES = {
    "tables_of_log",
    "integrity_check",
    "quick_check",
    "said_before",
    "said_after",
    "all_digests",
    "append_after",  # the server appends in one statement
    "all_of_schema",
    "change_digests",
    "counters",
    "set_digest",
    "tables_with_digests",
}


def _names(package: str) -> set[str]:
    folder = files(f"everyword.storage.{package}")
    texts = [entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return {name for text in texts for name in re.findall(r"^-- name: (\w+)$", text, re.MULTILINE)}


def test_every_query_has_its_twin() -> None:
    missing = _names("sqlite") - OF_FILES - _names("postgres")
    assert not missing, f"write {sorted(missing)} in store/postgres/*.sql, with values in the same order"


def test_every_migration_has_its_twin() -> None:
    names = [entry.name for entry in files("everyword.storage").joinpath("migrations").iterdir()]
    ours = {name.removesuffix(".sqlite.sql") for name in names if name.endswith(".sqlite.sql")}
    theirs = {name.removesuffix(".postgres.sql") for name in names if name.endswith(".postgres.sql")}
    assert ours <= theirs, f"write the twins of {sorted(ours - theirs)}"
