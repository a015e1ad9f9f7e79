"""The tables of a SQLite file: numbered migrations, each in one transaction, and digests of what the tables hold.

A digest is the number of a table's rows and the sum of their hashes. SQLite reports every row that the writing
connection inserts, changes or deletes (its preupdate hook), so that the sums are kept in step with any change of any
table, and no code that writes has to know of them. They are written in the transaction of the changes. A change that
comes another way (another program, a failing disk, a bug in SQLite) leaves a table that does not add up to its digest.

This finds damage, not forgery: whoever can write the file can write the digests too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import cache, partial
from hashlib import blake2b
from marshal import dumps
from typing import Any

import apsw

from everyword.storage.sql.queries import check_schema, filled, migrations, named_queries, newest_schema, query_of
from everyword.storage.sql.tables import Sum

query = partial(query_of, "sqlite")
APPLICATION_ID = 0x45565744  # "EVWD" in the header of the file: tells a memory from any other SQLite file


def version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def migrate(connection: apsw.Connection) -> None:
    """Bring a file to the newest schema; the caller holds the turn to write."""
    have = version(connection)
    check_schema(have, "sqlite")
    for number, sql in migrations("sqlite"):
        if number > have:
            with connection:
                connection.execute(sql)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", number)
                if number == newest_schema("sqlite"):
                    renew(connection)  # a step that changes tables as a whole is reported by no hook


def differences(connection: apsw.Connection) -> list[str]:
    """List the tables and indexes that are missing, unknown, or others than the migrations make."""
    found, expected = _parts(connection), _expected()
    return [
        f"the {kind} {name} {'is missing' if (kind, name) not in found else 'is not as the migrations made it'}"
        for kind, name in sorted(found.keys() | expected.keys())
        if found.get((kind, name)) != expected.get((kind, name))
    ]


@cache
def _expected() -> dict[tuple[str, str], str]:
    with closing(apsw.Connection(":memory:")) as connection:
        migrate(connection)
        return _parts(connection)


def _parts(connection: apsw.Connection) -> dict[tuple[str, str], str]:
    return {(kind, name): sql for kind, name, sql in connection.execute(query("all_of_schema"))}


_BITS = (1 << 62) - 1  # two such numbers can be added in SQLite's 64 bits with a sign
_OWN = "digests"
_COUNTERS = "sqlite_sequence"  # the last number given in each table; SQLite keeps it, and does not report its changes
_MARSHAL = 2  # the last version that writes equal values as equal bytes, whoever else refers to them


class Digests:
    """Follows what one connection changes, and adds it to the digests before each commit."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._changes: dict[str, list[int]] = {}  # by table: rows, total
        connection.preupdate_hook(self._note, id="everyword.digests")

    def begin(self) -> None:
        """Forget the changes of a transaction that was rolled back."""
        self._changes.clear()

    def write(self) -> None:
        """Write the changes of this transaction; called just before it commits."""
        changes, self._changes = self._changes, {}
        if changes:  # in one statement: this is part of every write
            changed = [(name, rows, total & _BITS) for name, (rows, total) in changes.items()]
            counters = digest_of(self._connection, _COUNTERS)
            changed.append((_COUNTERS, counters.rows, counters.total))
            self._connection.execute(query("change_digests"), (json.dumps(changed), _COUNTERS))
        self._changes.clear()  # what the hook noted of the digests themselves

    def _note(self, change: apsw.PreUpdate) -> None:
        name = change.table_name
        if name == _OWN or change.database_name != "main":
            return
        noted = self._changes.setdefault(name, [0, 0])
        if change.op != "INSERT":
            noted[0] -= 1
            # A damaged text can't be read: the table does not add up anyway, and it must be possible to remove the row.
            with suppress(UnicodeDecodeError):
                noted[1] -= row_hash(change.old or ())
        if change.op != "DELETE":
            noted[0] += 1
            noted[1] += row_hash(change.new or ())


def row_hash(row: tuple[Any, ...]) -> int:
    """Hash the values of a row, in the order of its columns."""
    return int.from_bytes(blake2b(dumps(row, _MARSHAL), digest_size=8).digest(), "little")


def digest_of(connection: apsw.Connection, table: str) -> Sum:
    if table == _COUNTERS:  # read at every commit: hashed as a whole
        counters = tuple(connection.execute(query("counters")).fetchall())
        return Sum(len(counters), row_hash(counters) & _BITS if counters else 0)
    rows = total = 0
    for row in connection.execute(
        filled(named_queries("everyword.storage.sqlite.copying")["all_rows"], {"table": table})
    ):
        rows += 1
        total += row_hash(row)
    return Sum(rows, total & _BITS)


def renew(connection: apsw.Connection, tables: Iterable[str] | None = None) -> None:
    """Take tables as they are now; all of them where none are named."""
    for name in _tables(connection) if tables is None else tables:
        connection.execute(query("set_digest"), (name, *digest_of(connection, name)))


def differing(connection: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Find the tables that do not add up to their digests: each with what is wrong."""
    kept = {name: Sum(rows, total) for name, rows, total in connection.execute(query("all_digests"))}
    tables = _tables(connection)
    for name in sorted(kept.keys() - set(tables)):
        yield name, "it has a digest, and there is no such table"
    for name in tables:
        try:
            now = digest_of(connection, name)
        except UnicodeDecodeError as error:
            yield name, f"a text can't be read ({error})"
            continue
        then = kept.get(name, Sum(0, 0))  # as of an empty table
        if now.rows != then.rows:
            yield name, f"it has {now.rows} rows where {then.rows} were written"
        elif now.total != then.total:
            yield name, f"its {now.rows} rows are not those that were written: at least one was changed"


def _tables(connection: apsw.Connection) -> list[str]:
    return [str(row[0]) for row in connection.execute(query("tables_with_digests"))]
