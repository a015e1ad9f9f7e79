"""Files that are not what they should be, and disks that are full: one typed error, and not a byte changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from crash_children import READ_ON, READ_ONLY, heard

from everyword import Memory
from everyword.errors import (
    BadLocation,
    EverywordError,
    ForeignFile,
    NewerSchema,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from everyword.storage.sqlite.connect import inspect

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a sound memory of a few hundred events, closed."""
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing", durability="normal") as memory:
        memory.add("I moved to Lisbon.", speaker="Ana", key="lisbon")
        memory.add_many([{"text": f"Event number {n} with some more words in it."} for n in range(300)])
    return path


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _page_size(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:18])


def _assert_refused(path: Path, error: type[EverywordError], **options: object) -> None:
    folder = sorted(path.parent.iterdir())
    before = _hash(path) if path.is_file() else ""
    with pytest.raises(error) as raised:
        Memory.open(path, embedder="hashing", **options)  # type: ignore[arg-type]
    assert type(raised.value) is error
    assert len(str(raised.value)) > 20
    if path.is_file():
        assert _hash(path) == before
    assert sorted(path.parent.iterdir()) == folder  # nothing was left beside it either


# Foreign and broken files


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 100, PNG, b"x", b"SQLite format 3\x00", b"\x00" * 8192])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    _assert_refused(path, ForeignFile)


def test_a_sqlite_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE events (id INTEGER)")
    other.commit()
    other.close()
    _assert_refused(path, ForeignFile)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(path: Path, keep: float) -> None:
    os.truncate(path, int(path.stat().st_size * keep) // _page_size(path) * _page_size(path))
    _assert_refused(path, StoreCorrupt)


def test_a_file_that_another_process_is_making_is_not_called_damaged(path: Path) -> None:
    os.truncate(path, _page_size(path))
    journal = Path(f"{path}-journal")
    journal.touch()
    assert inspect(path, create=True)
    journal.unlink()
    with pytest.raises(StoreCorrupt, match="cut short"):
        inspect(path, create=True)


def test_a_file_cut_in_its_header_is_refused(path: Path) -> None:
    os.truncate(path, 60)
    _assert_refused(path, ForeignFile)


def test_a_file_of_a_newer_schema_is_refused(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 999")
    raw.commit()
    raw.execute("PRAGMA journal_mode = delete")
    raw.close()
    _assert_refused(path, NewerSchema)
    _assert_refused(path, NewerSchema, read_only=True)


def test_an_empty_file_becomes_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Hello.")
        assert memory.admin.verify().ok


def test_a_damaged_page_is_reported_and_what_is_sound_stays_readable(path: Path, tmp_path: Path) -> None:
    size = _page_size(path)
    pages = path.stat().st_size // size
    reported = 0
    for page in range(1, pages, 3):
        bad = tmp_path / f"bad-{page}.db"
        shutil.copy(path, bad)
        with bad.open("r+b") as file:
            file.seek(page * size)
            file.write(b"\xa5" * size)
        before = _hash(bad)
        try:
            with Memory.open(bad, embedder="hashing", read_only=True) as memory:
                report = memory.admin.verify()
                assert not report.ok, page
                assert all(problem.fix for problem in report.problems)
                reported += 1
        except StoreCorrupt:
            pass  # so damaged that it can't be opened
        assert _hash(bad) == before
    assert reported >= pages // 3 - 3


# Places


def test_a_folder_is_refused(tmp_path: Path) -> None:
    _assert_refused(tmp_path, BadLocation)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadLocation):
        Memory.open(tmp_path / "no" / "such" / "memory.db", embedder="hashing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("location", ["", "   ", "a\x00b", "mysql://localhost/x", "x" * 5000, b"bytes.db", 5, None])
def test_what_is_no_location_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: object) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadLocation):
        Memory.open(location, embedder="hashing")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, start, kind: str) -> None:
    path = Path("/dev/null") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    child = start(
        """
        import sys
        from everyword import Memory
        from everyword.errors import BadLocation
        try:
            Memory.open(sys.argv[1], embedder="hashing")
        except BadLocation:
            print("refused")
        """,
        path,
    )
    stdout, stderr = child.communicate(timeout=60)
    assert stdout == "refused\n", stderr


def test_nothing_is_made_where_nothing_is_and_create_is_off(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(BadLocation):
            Memory.open(tmp_path / "memory.db", embedder="hashing", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_two_memories_in_memory_are_two() -> None:
    with Memory.open(":memory:", embedder="hashing") as first, Memory.open(":memory:", embedder="hashing") as second:
        first.add("Only here.")
        assert second.stats().events == 0


# Read only


def _assert_reads_and_does_not_write(memory: Memory) -> None:
    assert memory.recall("Lisbon")[0].text == "I moved to Lisbon."
    assert memory.get(key="lisbon").speaker == "Ana"
    assert memory.admin.verify().ok
    for write in (
        lambda: memory.add("More."),
        lambda: memory.forget(speaker="Ana"),
        lambda: memory.admin.rebuild(),
    ):
        with pytest.raises(StoreReadOnly):
            write()


def test_a_memory_opened_read_only_is_not_changed(path: Path) -> None:
    before = _hash(path)
    with Memory.open(path, embedder="hashing", read_only=True) as memory:
        _assert_reads_and_does_not_write(memory)
    assert _hash(path) == before


def test_a_read_only_memory_sees_what_others_write(path: Path) -> None:
    with (
        Memory.open(path, embedder="hashing", read_only=True) as reader,
        Memory.open(path, embedder="hashing") as writer,
    ):
        assert reader.stats().events == 301
        writer.add("News from Porto.")
        assert reader.recall("Porto")[0].text == "News from Porto."


@pytest.mark.skipif(os.name == "nt", reason="permissions are other there")
@pytest.mark.parametrize("folder_too", [False, True])
def test_a_file_that_may_not_be_written_is_read(path: Path, start, folder_too: bool) -> None:
    for extra in path.parent.iterdir():
        if extra != path:
            extra.unlink()
    before = _hash(path)
    path.chmod(0o444)
    path.parent.chmod(0o555 if folder_too else 0o777)
    # The folders of a test run are for one user alone. They stay open: another test may be passing through them.
    for parent in path.parents:
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o711)
    child = start(READ_ONLY, path)
    try:
        heard(child, "kept")
    finally:
        path.parent.chmod(0o755)
    assert _hash(path) == before


@pytest.mark.skipif(os.name == "nt", reason="permissions are other there")
def test_who_may_only_read_the_folder_sees_what_others_forget_and_write(path: Path, start) -> None:
    for parent in path.parents:
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o711)
    path.parent.chmod(0o755)
    if os.getuid():
        pytest.skip("only root can let somebody else read")
    path.chmod(0o644)  # new files are for their owner alone
    child = start(READ_ON, path)

    def again() -> None:
        child.stdin.write("\n")
        child.stdin.flush()

    heard(child, "301 1")
    with Memory.open(path, embedder="none") as memory:
        memory.forget(keys=["lisbon"])
    again()
    heard(child, "300 0")
    with Memory.open(path, embedder="none") as memory:
        memory.add_many([{"text": f"More of it, number {n}."} for n in range(200)])
        memory.add("I moved to Lisbon again.")
        again()
        heard(child, "501 1")
    again()
    heard(child, "501 1")


# Moved while open


@pytest.mark.skipif(os.name == "nt", reason="an open file stays where it is there")
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_file_that_is_gone_takes_no_more_writes(path: Path, tmp_path: Path, how: str) -> None:
    backup, moved = tmp_path / "backup.db", tmp_path / "moved.db"
    with Memory.open(path, embedder="none") as memory:
        memory.admin.backup(backup)
        memory.add("Before.")
        if how == "deleted":
            path.unlink()
        elif how == "moved":
            path.rename(moved)
        else:
            backup.replace(path)
        for use in (
            lambda: memory.add("After."),
            lambda: memory.forget(speaker="Ana"),
            lambda: memory.recall("Lisbon"),
            lambda: memory.stats(),
        ):
            with pytest.raises(StoreError, match="moved, deleted or replaced"):
                use()
        assert path.exists() == (how == "replaced")  # nothing new was made in its place
    if how == "replaced":
        for left in ("-wal", "-shm"):
            path.with_name(path.name + left).unlink(missing_ok=True)
        with Memory.open(path, embedder="none") as memory:
            assert memory.stats().events == 301
            assert memory.admin.verify().ok


# Other programs


def test_a_file_opened_twice_is_still_ours_to_another_program(path: Path) -> None:
    """Closing a file drops a process's locks on it: a program that found none would remove the log as left behind."""
    look = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM events').fetchall()"
    with Memory.open(path, embedder="none") as memory:
        memory.add("Before the other program.")
        Memory.open(path, embedder="none").close()
        subprocess.run([sys.executable, "-c", look, str(path)], check=True)
        memory.add("After the other program.")
        with Memory.open(path, embedder="none", read_only=True) as other:
            assert other.stats().events == memory.stats().events == 303


# Full disks


def test_a_full_disk_keeps_what_was_there_and_nothing_of_what_was_not(path: Path) -> None:
    with Memory.open(path, embedder="hashing") as memory:
        connection = memory.scope.engine.store._writing  # type: ignore[attr-defined]
        pages = connection.pragma("page_count")
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreFull):
            memory.add_many([{"text": f"Too much, {n}. " + "word " * 500} for n in range(200)])
        assert memory.stats().events == 301
        assert memory.recall("Lisbon")[0].text == "I moved to Lisbon."
        assert memory.recall("too much")[0].text.startswith("Event")
        assert memory.admin.verify().ok
        connection.execute("PRAGMA max_page_count = 1000000")
        assert memory.add("There is room again.").new
        assert memory.admin.verify().ok


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of four megabytes, where we may make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("a small file system can't be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_fills_up_loses_nothing_acknowledged(small_disk: Path) -> None:
    path = small_disk / "memory.db"
    written = 0
    memory = Memory.open(path, embedder="hashing")
    try:
        with pytest.raises(StoreFull):  # noqa: PT012
            for written in range(10_000):
                memory.add(f"Event {written} " + "and words " * 100)
        assert written > 5
        assert memory.stats().events == written
        assert memory.admin.verify().ok
        assert memory.recall("words")
        with pytest.raises(StoreFull):
            memory.add("x" * 3_000_000)
    finally:
        memory.close()
    with Memory.open(path, embedder="hashing") as again:
        assert again.stats().events == written
        assert again.admin.verify().ok
    with Memory.open(path, embedder="hashing", read_only=True) as again:
        assert again.stats().events == written


def test_a_file_that_may_not_grow_gives_one_typed_error(path: Path, start) -> None:
    child = start(
        """
        import resource, signal, sys
        from everyword import Memory
        from everyword.errors import StoreError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        memory = Memory.open(sys.argv[1], embedder="hashing")
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            memory.add_many([{"text": f"Too much {n} " + "word " * 300} for n in range(400)])
        except StoreError as error:
            assert memory.stats().events == 301
            assert memory.admin.verify().ok
            print("refused", flush=True)
        """,
        path,
    )
    stdout, stderr = child.communicate(timeout=90)
    assert stdout == "refused\n", stderr
    with Memory.open(path, embedder="hashing") as memory:
        assert memory.stats().events == 301
        assert memory.admin.verify().ok


def test_a_backup_to_a_full_disk_leaves_nothing_behind(small_disk: Path, path: Path) -> None:
    with Memory.open(path, embedder="none") as memory:
        memory.add_many([{"text": f"Bulk {n} " + "x" * 75_000} for n in range(100)])
        with pytest.raises(StoreError):
            memory.admin.backup(small_disk / "copy.db")
        assert list(small_disk.iterdir()) == []
        with pytest.raises(EverywordError):
            memory.admin.export(small_disk / "all.jsonl")
        assert list(small_disk.iterdir()) == []
        assert memory.admin.verify().ok
