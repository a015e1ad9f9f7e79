"""Apply numbered migrations to a file, each in one transaction. A released migration never changes."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import apsw

from everyword.errors import NewerSchema
from everyword.storage.sqlite.digests import renew
from everyword.storage.sqlite.queries import query

APPLICATION_ID = 0x45565744  # "EVWD" in the header of the file: tells a memory from any other SQLite file
_NUMBERED = re.compile(r"(\d{4})_\w+\.sqlite\.sql")


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Read the steps in order."""
    folder = files("everyword.storage").joinpath("migrations")
    found = [(match, entry) for entry in folder.iterdir() if (match := _NUMBERED.fullmatch(entry.name))]
    return tuple(sorted((int(match[1]), entry.read_text(encoding="utf-8")) for match, entry in found))


def newest() -> int:
    """Tell the schema that this version writes."""
    return migrations()[-1][0]


def version(connection: apsw.Connection) -> int:
    """Tell the schema of a file."""
    return int(connection.pragma("user_version"))


def migrate(connection: apsw.Connection) -> None:
    """Bring a file to the newest schema; the caller holds the turn to write."""
    have = version(connection)
    if have > newest():
        raise NewerSchema(f"This memory has schema {have}; this Everyword knows {newest()}.", fix=NewerSchema.__doc__)
    for number, sql in migrations():
        if number > have:
            with connection:
                connection.execute(sql)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", number)
                if number == newest():
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
    connection = apsw.Connection(":memory:")
    try:
        migrate(connection)
        return _parts(connection)
    finally:
        connection.close()


def _parts(connection: apsw.Connection) -> dict[tuple[str, str], str]:
    return {(kind, name): sql for kind, name, sql in connection.execute(query("all_of_schema"))}
