"""Files are their owner's alone, whatever the umask; what somebody has shared stays shared."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import BadLocation
from everyword.private_files import make_private_folder, new_file, open_private

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no modes here")

UMASKS = [0o000, 0o022, 0o077, 0o277]


@contextmanager
def _umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def _modes(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): f"{one.stat().st_mode & 0o777:o}" for one in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_WRONLY | os.O_CREAT])
def test_a_link_to_nothing_is_an_error(tmp_path: Path, flags: int) -> None:
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(FileNotFoundError):
        open_private(tmp_path / "link", flags)
    assert not (tmp_path / "nothing").exists()


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    with ExitStack() as writing:
        writing.enter_context(new_file(tmp_path / "new")).write(b"mine")
        (tmp_path / "new").write_bytes(b"another's")
        with pytest.raises(BadLocation, match="exists already"):
            writing.close()
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("new", b"another's")]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    with new_file(tmp_path / "new") as file:
        file.write(b"mine")
    assert [one.name for one in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("umask", UMASKS)
def test_what_a_memory_makes_is_private(tmp_path: Path, umask: int) -> None:
    with _umask(umask), Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        memory.add("Ana Lopez lives in Lisbon.", speaker="Ana")
        assert set(_modes(tmp_path)) == {"memory.db", "memory.db-lock", "memory.db-shm", "memory.db-wal"}
        memory.admin.backup(tmp_path / "backup.db")
        memory.admin.export(tmp_path / "events.jsonl")
        memory.admin.export(graph=tmp_path / "graph.json")
        memory.admin.export(wiki=tmp_path / "wiki" / "notes")
        modes = _modes(tmp_path)
    folders = {name for name in modes if (tmp_path / name).is_dir()}
    assert {"wiki", "wiki/notes"} <= folders
    assert len(modes) >= 9
    assert {name: mode for name, mode in modes.items() if mode != ("700" if name in folders else "600")} == {}


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_what_the_command_line_makes_is_private(tmp_path: Path, umask: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("EVERYWORD_", "XDG_"))}
    run = [sys.executable, "-m", "everyword", "add", "Ana lives in Lisbon."]
    with _umask(umask):
        subprocess.run(run, env={**env, "HOME": str(home)}, check=True, capture_output=True, timeout=60)
    modes = _modes(home)
    assert any(name.endswith("memory.db") for name in modes)
    assert {name: mode for name, mode in modes.items() if mode not in ("600", "700")} == {}
    assert {mode for name, mode in modes.items() if (home / name).is_dir()} == {"700"}


def test_what_is_shared_stays_shared(tmp_path: Path) -> None:
    path, notes = tmp_path / "memory.db", tmp_path / "wiki"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Ana Lopez lives in Lisbon.", speaker="Ana")
        memory.admin.export(wiki=notes)
    note = next(notes.rglob("*.md"))
    note.chmod(0o644)
    notes.chmod(0o755)
    path.chmod(0o660)
    Path(f"{path}-lock").unlink()
    with _umask(0o077), Memory.open(path, embedder="hashing") as memory:
        memory.add("Ana Lopez moved to Porto.", speaker="Ana")
        # What stands beside a shared memory is open to the same people, who could not write otherwise.
        assert set(_modes(tmp_path).values()) >= {"660"}
        for beside in ("", "-wal", "-shm", "-lock"):
            assert Path(f"{path}{beside}").stat().st_mode & 0o777 == 0o660
        memory.admin.export(wiki=notes)
    assert note.stat().st_mode & 0o777 == 0o644
    assert notes.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("umask", UMASKS)
def test_folders_and_files_by_themselves(tmp_path: Path, umask: int) -> None:
    with _umask(umask):
        make_private_folder(tmp_path / "a" / "b" / "c")
        make_private_folder(tmp_path / "a" / "b" / "c")
        os.close(open_private(tmp_path / "a" / "file", os.O_WRONLY))
        os.close(open_private(tmp_path / "a" / "file", os.O_WRONLY))
    assert _modes(tmp_path) == {"a": "700", "a/b": "700", "a/b/c": "700", "a/file": "600"}
    with pytest.raises(FileExistsError):
        open_private(tmp_path / "a" / "file", os.O_WRONLY | os.O_EXCL)
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "a" / "file")
