"""Importing again: what has not changed is not opened, what has grown is read on, and nothing is stored twice."""

from __future__ import annotations

import json
import os
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from everyword import Memory
from everyword.errors import EverywordError, InvalidInput
from everyword.ingest.importers.sources import Source
from everyword.types.events import Imported

LONG_AGO = 1_700_000_000  # a file's time that no file system could still be counting

SAMPLES = Path(__file__).parent.parent / "data" / "imports"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the files that were opened to be read."""
    names: list[str] = []
    genuine = Source.open

    def noting(self: Source, name: str) -> Any:
        names.append(name)
        return genuine(self, name)

    monkeypatch.setattr(Source, "open", noting)
    return names


def turn(number: int, session: str = "s1") -> str:
    line = {
        "type": "user",
        "uuid": f"{session}-{number}",
        "parentUuid": None,
        "isSidechain": False,
        "sessionId": session,
        "cwd": "/home/ana/boat",
        "timestamp": f"2026-03-01T10:{number // 60:02}:{number % 60:02}Z",
        "message": {"role": "user", "content": f"Turn {number} of {session} about the boat."},
    }
    return json.dumps(line) + "\n"


def session(path: Path, first: int, last: int, *, add: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if add else "w") as file:
        file.writelines(turn(number, path.stem) for number in range(first, last))
    os.utime(path, (LONG_AGO + last, LONG_AGO + last))
    return path


def counts(done: Imported) -> tuple[int, int, int]:
    return done.read, done.added, done.known


def test_an_unchanged_file_is_not_opened(memory: Memory, tmp_path: Path, opened: list[str]) -> None:
    session(tmp_path / "s1.jsonl", 0, 30)
    session(tmp_path / "s2.jsonl", 0, 20)
    assert counts(memory.import_events(tmp_path, format="claude-code")) == (50, 50, 0)
    opened.clear()
    done = memory.import_events(tmp_path, format="claude-code")
    assert counts(done) == (0, 0, 50)
    assert (done.files, done.unchanged) == (2, 2)
    assert opened == []
    session(tmp_path / "s3.jsonl", 0, 5)
    done = memory.import_events(tmp_path, format="claude-code")
    assert (counts(done), done.files, done.unchanged) == ((5, 5, 50), 3, 2)
    assert set(opened) == {"s3.jsonl"}


def test_a_grown_file_is_read_from_where_reading_stopped(memory: Memory, tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 300)
    memory.import_events(path)
    with path.open("a") as file:
        file.write(turn(300)[:40])  # the agent is just writing
    assert memory.import_events(path).read == 0
    with path.open("a") as file:
        file.write(turn(300)[40:])
    session(path, 301, 320, add=True)
    assert counts(memory.import_events(path)) == (20, 20, 0)
    assert [event.text for event in memory.events()] == [f"Turn {n} of s1 about the boat." for n in range(320)]


@pytest.mark.parametrize(
    ("sample", "format"),
    [("claude-code", "claude-code"), ("codex", "codex"), ("codex-early", "codex"), ("gemini-jsonl", "gemini-cli")],
)
def test_wherever_a_growing_file_ends_it_comes_to_the_same_events(
    memory: Memory, tmp_path: Path, sample: str, format: str
) -> None:
    file = next(path for path in (SAMPLES / sample).rglob("*.jsonl"))
    whole, copy = file.read_bytes(), tmp_path / file.name
    ends = [place + step for place, byte in enumerate(whole) if byte == 10 for step in (0, 1)]
    for end in (*ends, len(whole)):
        copy.write_bytes(whole[:end])
        memory.import_events(copy, format=format)
    found = {(event.key, event.text) for event in memory.events()}
    with Memory.open(":memory:", embedder="none") as other:
        other.import_events(file, format=format)
        assert found == {(event.key, event.text) for event in other.events()}


def test_a_file_that_was_only_touched_or_moved_on_disk_is_known_by_its_content(memory: Memory, tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 10)
    memory.import_events(path)
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert memory.import_events(path).unchanged == 1
    moved = path.rename(tmp_path / "elsewhere.jsonl")
    assert counts(memory.import_events(moved)) == (10, 0, 10)


def test_a_rewritten_file_is_read_anew_and_stored_once(memory: Memory, tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 10)
    memory.import_events(path)
    session(path, 5, 30)  # longer than before, and begins otherwise
    assert counts(memory.import_events(path)) == (25, 20, 5)
    assert memory.stats().events == 30


def test_a_change_within_the_clock_of_the_file_system_is_seen(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("Ana: my boat is blue\nBo: I see\nAna: yes\n")
    memory.import_events(path, format="transcript")
    before = path.stat()
    path.write_text("Ana: my boat is grey\nBo: I see\nAna: yes\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # same size, same time
    assert memory.import_events(path, format="transcript").added > 0


def test_another_way_of_reading_reads_again(memory: Memory, tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 10)
    memory.import_events(path)
    assert memory.import_events(path, redact="none").read == 10
    assert memory.import_events(path, redact="none").unchanged == 1
    assert memory.import_events(path, redact="none", again=True).read == 10
    assert memory.wing("sailing").import_events(path, redact="none").read == 10
    assert memory.space("other").import_events(path).added == 10


def test_what_was_forgotten_does_not_come_back_by_itself(memory: Memory, tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 10)
    memory.import_events(path)
    memory.forget(session="s1")
    session(path, 10, 12, add=True)
    assert memory.import_events(path).added == 2
    assert memory.import_events(path, again=True).added == 10  # unless it is asked for


def test_what_was_forgotten_stays_out_however_its_file_is_read_again(memory: Memory, tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 10)
    memory.import_events(path)
    memory.forget(session="s1")
    elsewhere = session(tmp_path / "moved" / "s1.jsonl", 0, 12)
    done = memory.import_events(elsewhere)
    assert (done.read, done.added, done.known, done.skipped) == (12, 2, 0, {"it was forgotten": 10})
    done = memory.import_events(path, redact="none")
    assert (done.added, done.skipped) == (0, {"it was forgotten": 10})
    assert memory.space("other").import_events(path).added == 10
    assert memory.import_events(elsewhere, again=True).added == 10
    assert memory.import_events(path, redact="none", again=True).known == 10


def test_an_export_does_not_bring_back_what_was_forgotten_but_what_was_added_since_stays(
    memory: Memory, tmp_path: Path
) -> None:
    at = "2026-03-01T10:00:00Z"
    for text, key in (("The boat is red.", None), ("The boat is old.", "k1"), ("The boat is slow.", "k2")):
        memory.add(text, key=key, at=at)
    memory.admin.export(tmp_path / "all.jsonl")
    memory.forget(before="2026-04-01")
    asked = [{"text": "x", "key": key, "at": at} for key in ("k1", "k2")] + [{"text": "x", "key": "k1", "session": "s"}]
    assert memory.admin.forgotten(asked) == [True, True, False]
    memory.add("The boat is slow.", key="k2", at=at)
    assert memory.admin.forgotten(asked) == [True, False, False]
    done = memory.import_events(tmp_path / "all.jsonl")
    assert (done.added, done.known, done.skipped) == (0, 1, {"it was forgotten": 2})
    assert [event.text for event in memory.events()] == ["The boat is slow."]


def test_a_line_before_a_transcript_makes_no_other_turn_new(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    turns = [f"Ana: turn {number}\nBo: yes\n" for number in range(6)]
    path.write_text("".join(turns))
    assert memory.import_events(path).added == 12
    path.write_text("Bo: hello there\n" + "".join(turns))
    assert counts(memory.import_events(path)) == (13, 1, 12)


def test_transcripts_of_one_name_are_two_conversations(memory: Memory, tmp_path: Path) -> None:
    for folder in ("may", "june"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "talk.txt").write_text(f"Ana: hello\nBo: hello from {folder}\nAna: good\nBo: bye\n")
    assert memory.import_events(tmp_path, format="transcript").added == 8
    assert {event.session for event in memory.events()} == {"may/talk", "june/talk"}


@pytest.mark.parametrize("format", ["markdown", "transcript"])
def test_what_was_not_changed_in_an_undated_file_is_known(memory: Memory, tmp_path: Path, format: str) -> None:
    path = tmp_path / "boat.md"
    parts = ["# Hull\n\nAna: red.\n", "# Sail\n\nBo: white.\n", "# Mast\n\nAna: tall.\n"]
    path.write_text("".join(parts))
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert memory.import_events(path, format=format).added == 3
    path.write_text("".join([*parts[:2], "# Mast\n\nAna: short.\n"]))
    done = memory.import_events(path, format=format)
    assert (done.added, done.known, done.differing) == (1, 2, 0)


def test_files_of_a_zip_are_known_too(memory: Memory, tmp_path: Path) -> None:
    session(tmp_path / "in" / "s1.jsonl", 0, 10)
    packed = tmp_path / "all.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(tmp_path / "in" / "s1.jsonl", "s1.jsonl")
    os.utime(packed, (LONG_AGO, LONG_AGO))
    assert memory.import_events(packed, format="claude-code").added == 10
    assert memory.import_events(packed, format="claude-code").unchanged == 1
    with zipfile.ZipFile(packed, "a") as archive:
        archive.write(session(tmp_path / "in" / "s2.jsonl", 0, 5), "s2.jsonl")
    done = memory.import_events(packed, format="claude-code")
    assert (done.added, done.unchanged) == (5, 1)


def test_a_file_that_can_not_be_read_is_reported_and_costs_no_other(memory: Memory, tmp_path: Path) -> None:
    session(tmp_path / "a.jsonl", 0, 3)
    session(tmp_path / "c.jsonl", 0, 3)
    packed = tmp_path / "all.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
            archive.writestr(name, (tmp_path / ("a.jsonl" if name == "b.jsonl" else name)).read_text())
    raw = bytearray(packed.read_bytes())
    second = raw.index(b"b.jsonl") + len(b"b.jsonl")
    raw[second : second + 8] = b"\x00" * 8  # its check sum does not fit any more
    packed.write_bytes(raw)
    done = memory.import_events(packed, format="claude-code")
    assert done.added == 6
    assert sum(done.skipped.values()) >= 1
    assert "b.jsonl" in "".join(done.not_understood)


@pytest.mark.slow
def test_deferred_work_is_searchable_by_words_at_once(tmp_path: Path) -> None:
    path = session(tmp_path / "s1.jsonl", 0, 40)
    with Memory.open(":memory:", embedder="hashing", reader="none", background=False) as memory:
        memory.import_events(path)
        hits = memory.recall("turn 7 boat")
        assert (hits[0].event.session, hits.pending) == ("s1", 40)
        assert (memory.stats().vectors, memory.stats().pending) == (0, 40)
        memory.admin.settle()
        assert (memory.stats().vectors, memory.stats().pending) == (40, 0)
        assert memory.recall("turn 7 boat").pending == 0
        assert memory.admin.verify().ok


class Following:
    """A memory that follows a folder in a thread, and what it gave."""

    def __init__(self, memory: Memory, path: Path, **options: Any) -> None:
        self.given: list[Imported | EverywordError] = []
        self.stop = threading.Event()
        self._memory, self._path, self._options = memory, path, options
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.given.extend(self._memory.admin.follow(self._path, every_s=0.02, stop=self.stop, **self._options))

    def __enter__(self) -> Following:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def until(self, events: int) -> None:
        deadline = time.monotonic() + 60
        while self._memory.stats().events < events and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self._memory.stats().events == events


def test_a_followed_folder_brings_new_and_growing_files(tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    with Memory.open(tmp_path / "m.db", embedder="none") as memory, Following(memory, folder) as following:
        session(folder / "a" / "s1.jsonl", 0, 3)
        following.until(3)
        session(folder / "a" / "s1.jsonl", 3, 7, add=True)
        following.until(7)
        session(folder / "b" / "s2.jsonl", 0, 5)
        following.until(12)
        (folder / "a" / "s1.jsonl").unlink()
        session(folder / "b" / "s2.jsonl", 5, 6, add=True)
        following.until(13)
    assert sum(one.added for one in following.given if isinstance(one, Imported)) == 13


def test_a_file_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    note = tmp_path / "vault" / "boat.md"
    note.parent.mkdir()
    note.write_text("# Boat\n\nThe keel is half written")
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        with Following(memory, note.parent, format="markdown"):
            time.sleep(0.1)
            assert memory.stats().events == 0
            os.utime(note, (LONG_AGO, LONG_AGO))
            deadline = time.monotonic() + 60
            while not memory.stats().events and time.monotonic() < deadline:
                time.sleep(0.01)
        assert memory.stats().events > 0


def test_a_folder_that_holds_the_memory_alone_is_waited_for_and_told_of_once(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="none") as memory:
        memory.add("We meet at noon.")
        for path in tmp_path.iterdir():
            os.utime(path, (LONG_AGO, LONG_AGO))
        stop, told = threading.Event(), list[Imported | EverywordError]()

        def follow() -> None:
            told.extend(memory.admin.follow(tmp_path, every_s=0.05, stop=stop))

        following = threading.Thread(target=follow)
        following.start()
        time.sleep(0.3)
        (tmp_path / "bad\nname.txt").write_text("Ana: no")
        (tmp_path / "talk.txt").write_text("Ana: one\nBen: two\nAna: three\nBen: four\n")
        os.utime(tmp_path / "talk.txt", (LONG_AGO, LONG_AGO))
        deadline = time.monotonic() + 60
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)  # a few more rounds, which must tell nothing more
        stop.set()
        following.join(60)
    assert [(done.read, done.skipped) for done in told if isinstance(done, Imported)] == [
        (4, {"a file whose name has control characters": 1})
    ]


def test_following_what_nobody_knows_is_refused_at_once(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "thing.bin").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(InvalidInput):
        next(memory.admin.follow(tmp_path))
