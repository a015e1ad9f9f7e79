"""Importing another memory: its events come as they are, once, and its file stays as it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import InvalidInput
from everyword.interfaces.cli import main


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Give a closed memory with two spaces."""
    path = tmp_path / "the öther one.db"
    with Memory.open(path, embedder="none") as theirs:
        theirs.add("I moved to Porto.", speaker="Ana", session="s1", at="2026-07-12T10:00+02:00", role="user")
        theirs.add("No cilantro, ever.", key="rule-1", meta={"of": ["Ana", 1]}, wing="kitchen")
        theirs.add("Half of a pair: \ud83d, and text.", at="2026-07-13")
        theirs.space("acme").add("Behind a wall.")
    return path


def _everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _events(memory: Memory) -> list[tuple[object, ...]]:
    return [
        (
            one.id,
            one.key,
            one.wing,
            one.session,
            one.speaker,
            one.role,
            one.at.isoformat(),
            one.recorded_at,
            one.meta,
            one.text,
        )
        for one in memory.events()
    ]


def test_events_come_as_they_are_and_the_file_stays_as_it_was(memory: Memory, other: Path) -> None:
    before = _everything(other.parent)
    done = memory.import_events(other)
    assert (done.format, done.read, done.added) == ("memory", 3, 3)
    assert done.skipped == {"space acme of that memory": 1}
    assert _everything(other.parent) == before
    with Memory.open(other, embedder="none") as theirs:
        assert _events(theirs) == _events(memory)
    assert memory.admin.verify().ok


def test_a_second_import_adds_nothing_and_a_later_one_what_is_new(memory: Memory, other: Path) -> None:
    memory.import_events(other)
    again = memory.import_events(other)
    assert (again.read, again.added, again.known, again.unchanged) == (0, 0, 3, 1)
    assert memory.import_events(other, again=True).known == 3
    with Memory.open(other, embedder="none") as theirs:
        theirs.add("And now to Faro.")
    assert memory.import_events(other).added == 1


def test_what_was_forgotten_here_does_not_come_back(memory: Memory, other: Path) -> None:
    memory.import_events(other)
    memory.forget(keys=["rule-1"])
    with Memory.open(other, embedder="none") as theirs:
        theirs.add("And now to Faro.")
    done = memory.import_events(other)
    assert (done.added, done.skipped["it was forgotten"]) == (1, 1)


def test_the_same_key_with_other_words_costs_nothing_else(memory: Memory, other: Path) -> None:
    memory.add("Cilantro is fine.", key="rule-1")
    done = memory.import_events(other)
    assert (done.added, done.differing) == (2, 1)
    assert memory.get(key="rule-1").text == "Cilantro is fine."


def test_the_space_of_the_same_name_is_read_or_the_only_one(memory: Memory, other: Path, tmp_path: Path) -> None:
    assert memory.space("acme").import_events(other).added == 1
    with pytest.raises(InvalidInput, match="2 spaces, and none is called mine"):
        memory.space("mine").import_events(other)
    with Memory.open(tmp_path / "one.db", embedder="none") as theirs:
        theirs.add("Just one.")
    assert memory.space("mine").import_events(tmp_path / "one.db").added == 1
    Memory.open(tmp_path / "empty.db", embedder="none").close()
    assert memory.import_events(tmp_path / "empty.db").read == 0


def test_one_that_another_process_is_writing_is_read_with_what_is_in_its_log(memory: Memory, other: Path) -> None:
    program = (
        "import sys; from everyword import Memory; memory = Memory.open(sys.argv[1], embedder='none');"
        "memory.add('Just now.'); print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, other], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writing:
        assert writing.stdout is not None
        assert writing.stdout.readline() == "ready\n"
        assert memory.import_events(other).added == 4
        writing.kill()  # which leaves its log behind
    assert Path(f"{other}-wal").exists()
    with Memory.open(":memory:", embedder="none") as third:
        assert third.import_events(other).added == 4
    Path(f"{other}-shm").unlink(missing_ok=True)
    Path(f"{other}-shm").symlink_to("nowhere/at all")  # as where nothing can be made beside it
    with Memory.open(":memory:", embedder="none") as third, pytest.raises(InvalidInput, match="has a log beside it"):
        third.import_events(other)


def test_one_that_is_open_here_or_is_this_one_is_refused(other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory.open(other, embedder="none") as theirs:
        with pytest.raises(InvalidInput, match="open here"):
            theirs.import_events(other)
        assert theirs.add("Still mine.").new
    assert main(["--memory", str(other), "--embedder", "none", "import", str(other)]) == 2
    assert "open here" in capsys.readouterr().err


def test_a_backup_is_read(memory: Memory, other: Path, tmp_path: Path) -> None:
    with Memory.open(other, embedder="none") as theirs:
        theirs.admin.backup(tmp_path / "backup.db")
    assert memory.import_events(tmp_path / "backup.db").added == 3


def test_what_is_not_what_was_stored_is_left_out_and_told(memory: Memory, other: Path) -> None:
    with closing(sqlite3.connect(other)) as file, file:
        file.execute("UPDATE events SET text = 'I moved to Paris.' WHERE speaker = 'Ana'")
        file.execute("UPDATE events SET meta = 'no json' WHERE key = 'rule-1'")
    done = memory.import_events(other)
    assert (done.added, done.skipped["altered content"]) == (1, 2)
    assert "event 1" in done.not_understood[0]


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 9999")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])


def _scrambled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[16_384:] = os.urandom(len(content) - 16_384)
    path.write_bytes(content)


def _with_views(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE events RENAME TO kept")
        file.execute("CREATE VIEW events AS SELECT * FROM kept, kept AS k2, kept AS k3")


def _in_the_making(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO facts_of_file VALUES ('copying', '{}')")


@pytest.mark.parametrize("change", [_newer, _cut, _scrambled, _with_views, _in_the_making])
def test_one_that_can_not_be_read_is_refused_in_our_words(memory: Memory, other: Path, change: object) -> None:
    assert callable(change)
    change(other)
    with pytest.raises(InvalidInput):
        memory.import_events(other)
    assert memory.stats().events == 0
    with pytest.raises(InvalidInput):
        memory.import_events(other, format="memory")


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3\x00"])
def test_what_is_no_memory_is_not_taken_for_one(memory: Memory, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    for format in (None, "memory"):
        with pytest.raises(InvalidInput):
            memory.import_events(path, format=format)
