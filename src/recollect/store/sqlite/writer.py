"""One transaction on the file."""

from __future__ import annotations

from recollect.store.sql.writer import SqlWriter
from recollect.store.sqlite.reader import SqliteReader


class SqliteWriter(SqliteReader, SqlWriter):
    """Writes within one transaction of the writing connection."""

    def take_seqs(self, count: int) -> list[int]:
        """Give the next numbers: under the turn nobody else can take them."""
        last: int = self.one("last_seq") or 0
        return list(range(last + 1, last + count + 1))
