"""Many at once: processes, threads, a fork."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from benchmarks.survival import storm

from effort import effort
from everyword import Memory
from everyword.errors import Closed
from forked import in_child, refuses

pytestmark = pytest.mark.usefixtures("no_reader")
MOST_WAIT_S = effort(10, 2)  # of any writer, for its turn and its write; the long form runs on a quiet machine
MOST_ROUNDS = 6  # of everybody's turn, on a machine so busy that those take longer: waiting is fair, starving is not
WRITERS, READERS, SECONDS = effort(4, 8), effort(2, 4), 3.0


def test_writers_and_readers_of_many_processes_share_a_file(tmp_path: Path) -> None:
    waits: list[float] = []
    for attempt in range(2):  # many processes on a machine that is busy with other things may be slow once
        report = storm(tmp_path / f"memory-{attempt}.db", writers=WRITERS, readers=READERS, seconds=SECONDS)
        assert report.errors == ()
        assert report.ok, report
        assert report.added > 16
        assert report.reads > 20
        assert report.fewest > 0
        waits.append(report.longest_wait_s)
        if waits[-1] < max(MOST_WAIT_S, MOST_ROUNDS * WRITERS * SECONDS / report.added):
            return
    raise AssertionError(f"a writer waited for {waits} s")


@pytest.mark.parametrize("location", ["memory.db", ":memory:"])
def test_eight_threads_share_a_memory(tmp_path: Path, location: str) -> None:
    each = effort(6, 15)
    errors: list[BaseException] = []
    with Memory.open(
        location if location == ":memory:" else tmp_path / location, embedder="hashing", durability="normal"
    ) as memory:

        def work(number: int) -> None:
            try:
                for n in range(each):
                    memory.add(f"thread{number} says word{number}x{n}", session=f"s{number}")
                    assert any(f"word{number}x{n}" in hit.text for hit in memory.recall(f"word{number}x{n}", k=3))
                    memory.wing("w").add(f"wing words of {number} {n}")
                    list(memory.events(session=f"s{number}", limit=3))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert memory.stats().pending == 0  # nobody's vectors wait because another named the file's model first
        assert memory.stats().events == 8 * each * 2
        assert memory.admin.verify().ok


def test_a_thread_may_close_while_others_work(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "memory.db", embedder="hashing", durability="normal")
    memory.add("first")
    unexpected: list[BaseException] = []

    def work() -> None:
        try:
            for n in range(10_000):
                memory.add(f"event {threading.get_ident()} {n}")
                memory.recall("event")
        except Closed:
            pass
        except BaseException as error:
            unexpected.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    memory.close()
    for thread in threads:
        thread.join(20)
    assert unexpected == []
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as again:
        assert again.admin.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("location", ["memory.db", ":memory:"])
def test_a_memory_from_before_a_fork_is_closed_in_the_child(tmp_path: Path, location: str) -> None:
    with Memory.open(location if location == ":memory:" else tmp_path / location, embedder="hashing") as memory:
        memory.add("Before the fork.")

        def refused() -> bool:
            used = (lambda: memory.add("x"), lambda: memory.recall("fork"), memory.stats, memory.admin.verify)
            told = all(refuses(use) for use in used)
            memory.close()
            return told

        in_child(refused)
        memory.add("After the fork.")
        assert memory.stats().events == 2
        assert memory.admin.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_may_open_the_file_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Before the fork.")

        def child() -> bool:
            with Memory.open(path, embedder="hashing") as own:
                return own.add("In the child.").new

        in_child(child)
        memory.add("In the parent.")
        assert memory.stats().events == 3
        assert memory.admin.verify().ok


def test_a_slow_reader_does_not_make_writers_wait_while_something_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    slow = Memory.open(path, embedder="hashing")
    memory = Memory.open(path, embedder="hashing")
    writer = Memory.open(path, embedder="hashing")
    gone = memory.add("To be forgotten.").id
    waits: list[float] = []
    forgotten = threading.Event()

    def forget() -> None:
        try:
            with pytest.warns(match="not yet erased from disk"):
                memory.forget(ids=[gone])
        finally:
            forgotten.set()

    with slow.scope.engine.store.file_reader() as reader:  # as a long verify() does
        reader.total_events()
        thread = threading.Thread(target=forget)
        thread.start()
        while not forgotten.wait(0.1):
            began = time.monotonic()
            writer.add(f"Meanwhile {len(waits)}.")
            waits.append(time.monotonic() - began)
    thread.join()
    assert waits
    assert max(waits) < 2
    assert not memory.admin.verify().ok  # a scrub is owed, and said so
    assert memory.admin.settle() == 1
    assert memory.admin.verify().ok
    for one in (slow, memory, writer):
        one.close()
