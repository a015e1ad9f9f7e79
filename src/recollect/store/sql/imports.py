"""How far files were read, by salted hashes of their paths, and which events must not come back by that."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence

from recollect.core.values import Event
from recollect.store.forgotten import SALT, Identity, hashed_path, tag_of, tags_of
from recollect.store.imports import FileRead
from recollect.store.sql.snapshot import Snapshot, array, words


class ImportRows(Snapshot):
    """Reads what imports noted."""

    def files_read(self, space: str, paths: Sequence[str]) -> dict[str, FileRead]:
        found, salt = self.space(space), self._salt()
        if found is None or salt is None or not paths:
            return {}
        by_hash = {hashed_path(salt, space, path): path for path in paths}
        return {
            by_hash[row[0]]: FileRead(
                path=by_hash[row[0]],
                reading=row[1],
                bytes=row[2],
                modified=row[3],
                hash=row[4],
                position=json.loads(row[5]),
                events=row[6],
                whole=bool(row[7]),
            )
            for row in self.rows("files_read", (found.id, words(list(by_hash))))
        }

    def forgotten(self, space: str, identities: Collection[Identity]) -> set[Identity]:
        found, salt = self.space(space), self._salt()
        if found is None or salt is None or not identities:
            return set()
        tags = {identity: tag_of(salt, space, identity) for identity in identities}
        there = {row[0] for row in self.rows("forgotten_tags", (found.id, array(sorted(set(tags.values())))))}
        return {identity for identity, tag in tags.items() if tag in there}

    def _salt(self) -> bytes | None:
        kept = self.one("get_fact", (SALT,))
        return None if kept is None else bytes.fromhex(kept)


class ImportChanges(ImportRows):
    """Writes it."""

    def put_files_read(self, space: str, files: Sequence[FileRead]) -> None:
        if not files:
            return
        into, salt = self.space_to_write(space), self._salt_to_write()
        self.run_many(
            "put_file_read",
            (
                (
                    into.id,
                    hashed_path(salt, space, one.path),
                    one.reading,
                    one.bytes,
                    one.modified,
                    one.hash,
                    json.dumps(dict(one.position)),
                    one.events,
                    one.whole,
                )
                for one in files
            ),
        )

    def put_forgotten(self, space: str, events: Collection[Event]) -> None:
        into, salt = self.space_to_write(space), self._salt_to_write()
        self.run_many("insert_forgotten_tag", ((into.id, tag) for tag in sorted(tags_of(salt, space, events))))
        # The hash of a whole file is a hash of each of its lines to whoever knows the others.
        self.run("clear_file_hashes", (into.id,))

    def _salt_to_write(self) -> bytes:
        # Another space's writer may be making it at the same moment: the first one stands.
        kept = self._salt()
        if kept is None:
            self.run("add_fact", (SALT, secrets.token_hex(16)))
            kept = self._salt()
        assert kept is not None
        return kept
