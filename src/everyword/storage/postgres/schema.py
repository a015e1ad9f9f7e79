"""Apply numbered migrations to a PostgreSQL schema, each in one transaction; begin transactions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from psycopg import sql

from everyword.errors import NewerSchema
from everyword.storage.postgres.connect import Connection, Place
from everyword.storage.postgres.snapshot import EVERYWHERE, ask, lock_number

# How many candidates a search in an index keeps: near.py asks for no more, and `make bench` tells what it misses.
EF_SEARCH = 400
# How far a search goes on where a filter leaves few. At pgvector's own 20,000 a filter that leaves a tenth costs .09 of
# the true nearest.
MAX_SCAN_TUPLES = 200_000
_NUMBERED = re.compile(r"(\d{4})_\w+\.postgres\.sql")


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Read the steps in order."""
    folder = files("everyword.storage").joinpath("migrations")
    found = [(match, entry) for entry in folder.iterdir() if (match := _NUMBERED.fullmatch(entry.name))]
    return tuple(sorted((int(match[1]), entry.read_text(encoding="utf-8")) for match, entry in found))


def newest() -> int:
    """Tell the schema that this version writes."""
    return migrations()[-1][0]


def begin(place: Place, vectors_in: str, *, read_only: bool, more: Sequence[sql.Composable] = ()) -> sql.Composed:
    """Write how a transaction begins: all that it needs is said in it, so that any pooler may stand in between."""
    # Readers see one moment; writers see what the turn before them left behind.
    how = "ISOLATION LEVEL REPEATABLE READ READ ONLY" if read_only else "ISOLATION LEVEL READ COMMITTED READ WRITE"
    said = sql.SQL("; SET LOCAL ").join(
        (
            sql.SQL("search_path = {}").format(search_path(place, vectors_in)),
            sql.SQL("standard_conforming_strings = on"),  # a database may say otherwise; our queries mean what they say
            sql.SQL("row_security = on"),
            sql.SQL("jit = off"),  # questions are short: compiling them would take longer than they do
            sql.SQL("hnsw.iterative_scan = strict_order"),
            sql.SQL("hnsw.ef_search = {}").format(sql.Literal(EF_SEARCH)),
            sql.SQL("hnsw.max_scan_tuples = {}").format(sql.Literal(MAX_SCAN_TUPLES)),
            sql.SQL("hnsw.scan_mem_multiplier = 4"),
            *more,
        )
    )
    return sql.SQL("BEGIN {}; SET LOCAL {}").format(sql.SQL(how), said)


def search_path(place: Place, vectors_in: str) -> sql.Composed:
    """Write where names are looked up: in the store's schema, then where pgvector is."""
    return sql.SQL(", ").join(sql.Identifier(name) for name in dict.fromkeys((place.schema, vectors_in)))


def version(connection: Connection) -> int:
    """Tell the schema of a store, within a transaction; 0 where there is none yet."""
    return int(ask(connection, "schema_version") or 0) if ask(connection, "steps_table") else 0


def migrate(connection: Connection, place: Place, begin_step: bytes) -> None:
    """Bring a store to the newest schema; a step that fails leaves all that was before it."""
    for number, text in migrations():
        connection.execute(begin_step)
        try:
            _step(connection, place, number, text)
            connection.execute("COMMIT")
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise


def _step(connection: Connection, place: Place, number: int, text: str) -> None:
    ask(connection, "one_migrates", (lock_number(place.schema, "migrate"),))
    if not ask(connection, "schema_is_there", (place.schema,)):
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(place.schema)))
    have = version(connection)
    if have > newest():
        raise NewerSchema(f"This memory has schema {have}; this Everyword knows {newest()}.", fix=NewerSchema.__doc__)
    if have >= number:
        return
    if have == 0:
        ask(connection, "add_steps_table")
    ask(connection, "go_to_space", (EVERYWHERE,))
    connection.execute(text.encode())
    ask(connection, "note_step", (number,))
