"""How far files were read, in the file of the memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recollect.store.imports import FileRead
from recollect.store.sql.snapshot import Snapshot, words


class ImportRows(Snapshot):
    """Reads what imports noted."""

    def files_read(self, space: str, paths: Sequence[str]) -> dict[str, FileRead]:
        found = self.space(space)
        if found is None or not paths:
            return {}
        return {
            row[0]: FileRead(
                path=row[0],
                reading=row[1],
                bytes=row[2],
                modified=row[3],
                hash=row[4],
                position=json.loads(row[5]),
                events=row[6],
                whole=bool(row[7]),
            )
            for row in self.rows("files_read", (found.id, words(paths)))
        }


class ImportChanges(ImportRows):
    """Writes it."""

    def put_files_read(self, space: str, files: Sequence[FileRead]) -> None:
        if not files:
            return
        into = self.space_to_write(space)
        self.run_many(
            "put_file_read",
            (
                (into.id, one.path, one.reading, one.bytes, one.modified, one.hash, _json(one), one.events, one.whole)
                for one in files
            ),
        )


def _json(one: FileRead) -> str:
    return json.dumps(dict(one.position))
