"""A memory that is open in this process: nothing that is imported takes SQLite's locks on it away."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import EverywordError, InvalidInput
from everyword.storage import open_files
from everyword.storage.open_files import is_held, read_beside

pytest.importorskip("fcntl")  # on Windows, a lock belongs to the handle that took it

# What SQLite locks for as long as a memory is open: bytes of the file that stand for its readers, one of its index of
# the log that says that somebody uses it, and, within a transaction, the one that says who writes.
TRY_TO_LOCK = """
import fcntl, sys
for ending, start, count in (("", 0x40000002, 510), ("-shm", 128, 1), ("-shm", 120, 1)):
    with open(sys.argv[1] + ending, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, count, start)
        except OSError:
            print("held")
        else:
            print("free")
"""


def _locks(path: Path) -> list[str]:
    asked = subprocess.run([sys.executable, "-c", TRY_TO_LOCK, path], capture_output=True, text=True, check=True)
    return asked.stdout.split()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a memory in a folder with a transcript."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "talk.txt").write_text("Ana: one\nBen: two\nAna: three\nBen: four\n")
    return folder / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory.open(path, embedder="none") as opened:
        opened.add("We meet at noon.")
        yield opened


def _linked(path: Path) -> Path:
    link = path.with_name("linked.db")
    link.symlink_to(path.name)
    return link


def _linked_hard(path: Path) -> Path:
    link = path.with_name("history.db")
    os.link(path, link)
    return link


def _index_linked_hard(path: Path) -> Path:
    link = path.with_name("notes.md")
    os.link(f"{path}-shm", link)
    return link


NAMES: dict[str, Callable[[Path], Path]] = {
    "itself": lambda path: path,
    "a link": _linked,
    "a hard link": _linked_hard,
    "its log": lambda path: Path(f"{path}-wal"),
    "its index": lambda path: Path(f"{path}-shm"),
    "its index by another name": _index_linked_hard,
    "its lock": lambda path: Path(f"{path}-lock"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("format", [None, "mem0", "everyword", "markdown"])
def test_an_open_memory_is_never_read_as_a_file(memory: Memory, path: Path, name: str, format: str | None) -> None:
    file = NAMES[name](path)
    with memory.scope.engine.store.file_writer():
        with Memory.open(":memory:", embedder="none") as other, pytest.raises(InvalidInput, match="open here"):
            other.import_events(file, format=format)
        assert _locks(path) == ["held", "held", "held"]
    assert memory.add("We met.").new


@pytest.mark.parametrize("format", [None, "mem0", "mempalace", "transcript"])
def test_a_folder_with_the_memory_in_it_is_imported_without_that(
    memory: Memory, path: Path, format: str | None
) -> None:
    _linked(path), _linked_hard(path), _index_linked_hard(path)
    if format in (None, "transcript"):
        assert memory.import_events(path.parent, format=format).added == 4
    else:
        with pytest.raises(InvalidInput, match="holds no files that the format"):
            memory.import_events(path.parent, format=format)
    assert _locks(path)[:2] == ["held", "held"]


def test_a_followed_folder_may_hold_the_memory(memory: Memory, path: Path) -> None:
    _linked_hard(path)
    stop = threading.Event()
    for found in memory.admin.follow(path.parent, every_s=0.01, stop=stop):
        assert not isinstance(found, EverywordError)
        assert _locks(path)[:2] == ["held", "held"]
        stop.set()


def test_an_open_memory_that_was_moved_is_known_where_it_is(memory: Memory, path: Path) -> None:
    moved = path.parent.rename(path.parent.with_name("elsewhere"))
    for ending in ("", "-wal", "-shm", "-lock"):
        with pytest.raises(InvalidInput, match="open here"):
            memory.import_events(moved / f"{path.name}{ending}")


def test_a_memory_that_is_closed_or_gone_is_a_file_like_any_other(path: Path) -> None:
    with Memory.open(path, embedder="none"), Memory.open(path, embedder="none"):
        assert is_held(path)
    assert not is_held(path)
    dropped = Memory.open(path, embedder="none")
    assert is_held(path)
    del dropped
    assert not is_held(path)


def test_a_forked_child_holds_what_it_opens_itself(memory: Memory, path: Path) -> None:
    child = os.fork()
    if child == 0:
        fine = not is_held(path)
        with read_beside(path):
            memory.close()
        with Memory.open(path, embedder="none"):
            fine = fine and is_held(path)
        os._exit(0 if fine and not is_held(path) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert is_held(path)


def test_a_memory_that_can_not_be_opened_is_not_held(path: Path) -> None:
    path.write_text("no memory")
    with pytest.raises(EverywordError):
        Memory.open(path, embedder="none")
    assert not is_held(path)


def test_files_that_were_read_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "one").touch()
    before = dict(open_files._read)
    with read_beside(tmp_path / "one"):
        assert open_files._read != before
    assert open_files._read == before


def test_opening_a_memory_waits_for_whoever_reads_its_file(path: Path) -> None:
    Memory.open(path, embedder="none").close()
    opened = threading.Event()

    def open_it() -> None:
        with Memory.open(path, embedder="none"):
            opened.set()

    with read_beside(path):
        opening = threading.Thread(target=open_it)
        opening.start()
        assert not opened.wait(0.2)
    opening.join(10)
    assert opened.is_set()


# Databases of other programs, open in this process by the standard library

LOCKED = {
    "delete": [0x40000001, 511],
    "wal": [120, 1],
}  # where a writer's locks lie: in the file, or in its log's index


def _is_locked(path: Path, journal: str) -> bool:
    program = TRY_TO_LOCK.replace('(("", 0x40000002, 510), ("-shm", 128, 1), ("-shm", 120, 1))', "(eval(sys.argv[2]),)")
    what = ("-shm" if journal == "wal" else "", *LOCKED[journal])
    asked = subprocess.run(
        [sys.executable, "-c", program, path, repr(what)], capture_output=True, text=True, check=True
    )
    return asked.stdout.strip() == "held"


@pytest.fixture
def mem0(tmp_path: Path) -> Path:
    """Make what mem0 keeps of a memory."""
    history = tmp_path / "mem0" / "history.db"
    history.parent.mkdir()
    with closing(sqlite3.connect(history)) as file, file:
        names = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id, role"
        file.execute(f"CREATE TABLE history ({names})")
        file.execute(
            "INSERT INTO history VALUES ('1', 'm', NULL, 'Ana likes tea', 'ADD', '2024-01-01', NULL, 0, '', '')"
        )
    return history


@pytest.mark.parametrize("journal", LOCKED)
def test_a_database_that_another_library_has_open_here_is_imported_and_keeps_its_locks(
    mem0: Path, journal: str, tmp_path: Path
) -> None:
    before = len(os.listdir("/dev/fd"))
    with closing(sqlite3.connect(mem0, isolation_level=None)) as theirs:
        theirs.execute(f"PRAGMA journal_mode = {journal}")
        theirs.execute("BEGIN IMMEDIATE")
        theirs.execute("UPDATE history SET new_memory = 'Ana likes coffee'")
        assert _is_locked(mem0, journal)
        with Memory.open(":memory:", embedder="none") as memory:
            assert memory.import_events(mem0).added == 1
            assert memory.import_events(mem0.parent, again=True).known == 1
            assert _is_locked(mem0, journal)
            held = len(os.listdir("/dev/fd"))
            for _ in range(5):
                memory.import_events(mem0, again=True)
            assert len(os.listdir("/dev/fd")) <= held  # looking often keeps no more of it open
        theirs.execute("COMMIT")
    (tmp_path / "talk.txt").write_text("Ana: one\nBen: two\n")
    with Memory.open(":memory:", embedder="none") as memory:
        memory.import_events(tmp_path / "talk.txt")
    assert len(os.listdir("/dev/fd")) <= before  # starting a process closes idle connections of earlier tests


def test_a_database_whose_log_can_not_be_read_is_refused_and_not_read_without_it(mem0: Path) -> None:
    program = (
        "import os, sqlite3, sys; file = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "file.execute('PRAGMA journal_mode = wal');"
        "file.execute(\"UPDATE history SET new_memory = 'Ana likes coffee'\"); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, mem0], check=True)
    Path(f"{mem0}-shm").unlink()
    Path(f"{mem0}-shm").symlink_to("nowhere/at all")  # as where nothing can be made beside it
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(InvalidInput, match="its log can't be read"):
            memory.import_events(mem0, format="mem0")
        Path(f"{mem0}-shm").unlink()
        memory.import_events(mem0)
        assert [event.text for event in memory.events()] == ["Ana likes coffee"]
