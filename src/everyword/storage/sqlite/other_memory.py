"""Read the log of another memory's file without changing it, to import its events."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from everyword.errors import ForeignFile, InvalidInput
from everyword.settings import Settings
from everyword.storage.rows import COPYING
from everyword.storage.sql.queries import check_schema
from everyword.storage.sql.reader import event_of
from everyword.storage.sql.snapshot import Caches, Row
from everyword.storage.sqlite import schema
from everyword.storage.sqlite.connect import check_openable, in_use, inspect, is_idle, track, translated_errors
from everyword.storage.sqlite.schema import query
from everyword.storage.sqlite.snapshot import SqliteSnapshot
from everyword.types.events import Event, content_of, event_id, identity_of

_AT_ONCE = 200  # events read together


class AnotherLog:
    """The events of one snapshot of a file."""

    def __init__(self, sql: SqliteSnapshot) -> None:
        self._sql = sql

    def spaces(self) -> dict[str, int]:
        """Count the events of each space that has any."""
        found = {name: self._sql.space(name) for (name,) in self._sql.rows("space_names")}
        counts = {name: self._sql.one("count_events", (space.id,)) for name, space in found.items() if space}
        return {name: count for name, count in counts.items() if count}

    def events(self, name: str, *, after: int) -> Iterator[tuple[int, Event | None]]:
        """Go through a space in the order of arrival; None for what is not what was once stored."""
        space = self._sql.space(name)
        while space is not None:
            rows = self._sql.rows("log_after", (space.id, after, _AT_ONCE))
            contents = {row[0]: row[1] for row in self._sql.rows("contents_after", (space.id, after, _AT_ONCE))}
            for row in rows:
                yield row[1], _sound(name, row, contents[row[1]])
            if not rows:
                return
            after = rows[-1][1]


@contextmanager
def another_log(path: Path) -> Generator[AnotherLog]:
    """Open a memory's file for its events alone."""
    check_openable(path)
    with translated_errors(), in_use(None):
        inspect(path, create=False)
        with closing(_connected(path)) as connection:
            _check(path, connection)
            connection.execute("BEGIN")
            try:
                yield AnotherLog(SqliteSnapshot(connection, Caches()))
            finally:
                connection.execute("ROLLBACK")


def _connected(path: Path) -> apsw.Connection:
    # As if nobody wrote where nobody does: else SQLite would make a log beside it, and leave it there.
    how = "immutable=1" if is_idle(path) else "mode=ro"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = track(apsw.Connection(f"{path.resolve().as_uri()}?{how}", flags), path)
    connection.set_busy_timeout(int(Settings().busy_timeout_s * 1000))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)  # it comes from anywhere
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    return connection


def _check(path: Path, connection: apsw.Connection) -> None:
    try:
        have = schema.version(connection)
    except apsw.CantOpenError as error:  # SQLite reads a log by an index of it, which was not there and can't be made
        raise InvalidInput(
            f"{path} has a log beside it, {path.name}-wal, which can't be read in that folder.",
            fix="Copy both to a folder that can be written, and import it there.",
        ) from error
    check_schema(have, "sqlite", what=str(path))
    if connection.execute(query("tables_of_log")).get != 3:  # a view could be called so too, and never end
        raise ForeignFile(f"{path} lacks the tables of an Everyword memory.")
    if connection.execute(query("get_fact"), (COPYING,)).get:
        raise InvalidInput(f"{path} is an unfinished copy.", fix="Finish everyword migrate first.")


def _sound(space: str, row: Row, content: bytes) -> Event | None:
    try:
        event = event_of(space, row)
        as_stored = content_of(event)
        sound = as_stored == content and event_id(identity_of(event.key, as_stored)) == event.id
    except (ValueError, TypeError, OverflowError, AttributeError):
        return None
    return event if sound else None
