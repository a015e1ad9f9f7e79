"""One snapshot of the file."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from recollect.store.sql.caches import Caches
from recollect.store.sql.reader import SqlReader
from recollect.store.sqlite import schema
from recollect.store.sqlite.digests import differing
from recollect.store.sqlite.queries import query
from recollect.store.sqlite.snapshot import SqliteSnapshot


class SqliteReader(SqliteSnapshot, SqlReader):
    """Reads within one transaction of one connection."""

    def __init__(self, connection: apsw.Connection, caches: Caches) -> None:
        super().__init__(connection)
        self._caches = caches

    def own_problems(self, *, deep: bool) -> Iterator[str]:
        """Let SQLite check its own pages."""
        try:
            # One by one: what was said before the check gave up counts.
            for (line,) in self._connection.execute(query("integrity_check" if deep else "quick_check")):
                if line != "ok":
                    yield str(line)
            yield from schema.differences(self._connection)
        except (apsw.CorruptError, apsw.SQLError) as error:
            yield str(error)

    def changed_tables(self) -> Iterator[tuple[str, str]]:
        """Find the tables that were changed other than by a transaction of ours."""
        return differing(self._connection)

    def own_parts(self) -> dict[str, int]:
        """Count the pages of the file."""
        return {"pages": int(self._connection.pragma("page_count"))}
