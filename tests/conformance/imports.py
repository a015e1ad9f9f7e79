"""Imports: how far files were read is kept by space, replaced whole, and goes back with its transaction."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from everyword.storage.protocol import Store
from everyword.storage.rows import FileRead

FILE = FileRead(
    path="/home/ana/älles/talk.jsonl",
    reading='["claude-code", 1]',
    bytes=10,
    modified=1_700_000_000_000_000_123,
    hash=bytes(range(32)),
    position={"byte": 10},
    events=3,
    whole=False,
)


class ImportsConformance:
    """What a store must do for imports."""

    def test_what_was_noted_of_a_file_is_found_by_its_path(self, store: Store) -> None:
        with store.reader("default") as reader:
            assert reader.files_read([FILE.path]) == {}
        with store.writer("default") as writer:
            writer.put_files_read([FILE, replace(FILE, path="/b")])
        with store.file_reader() as reader:
            assert reader.reader("default").files_read([FILE.path, "/nowhere"]) == {FILE.path: FILE}
            assert reader.reader("default").files_read([]) == {}
            assert reader.reader("other").files_read([FILE.path]) == {}

    def test_a_later_note_replaces_an_earlier_one(self, store: Store) -> None:
        later = replace(FILE, bytes=20, events=5, whole=True, position={})
        with store.writer("default") as writer:
            writer.put_files_read([FILE])
        with store.writer("default") as writer:
            writer.put_files_read([later])
        with store.reader("default") as reader:
            assert reader.files_read([FILE.path]) == {FILE.path: later}

    def test_a_note_goes_back_with_its_transaction(self, store: Store) -> None:
        def broken() -> None:
            with store.writer("default") as writer:
                writer.put_files_read([FILE])
                raise KeyError

        with pytest.raises(KeyError):
            broken()
        with store.reader("default") as reader:
            assert reader.files_read([FILE.path]) == {}
