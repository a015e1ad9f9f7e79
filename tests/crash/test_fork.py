"""Fork, forkserver and spawn beside an open memory: nothing acknowledged is lost, and no child harms its parent."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fork_children import NOTES, write_once, write_twice

from effort import effort
from everyword import Memory
from everyword import fork_safety as forking
from everyword.settings import Settings
from everyword.storage.sqlite import SqliteStore
from forked import in_child, refuses

ROUNDS = effort(1, 20)
MOST_WAIT_S = 20.0  # for a child's first notes, on a busy machine; the busy timeout is 30

pytestmark = [
    pytest.mark.usefixtures("no_reader"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@contextlib.contextmanager
def _busy(memory: Memory, threads: int, sent: list[str]) -> Iterator[None]:
    """Write and read in threads of the parent."""
    stop = threading.Event()

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            sent.append(memory.add(f"{name} {number}").id)
            memory.recall("note")
            number += 1

    running = [threading.Thread(target=write, args=(f"thread {one}",)) for one in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in running:
            thread.join()


@pytest.mark.parametrize(
    ("method", "threads"),
    # Processes that begin from nothing take seconds to start: all of it where many rounds are asked for.
    [(method, n) for method in ("fork", "forkserver", "spawn") for n in (0, 2) if n or method == "fork" or ROUNDS > 1],
)
def test_nothing_acknowledged_is_lost(tmp_path: Path, method: str, threads: int) -> None:
    processes = multiprocessing.get_context(method)
    for number in range(ROUNDS):
        path = tmp_path / f"{number}.db"
        ready, go, acknowledged = processes.Semaphore(0), processes.Event(), processes.Queue()
        sent: list[str] = []
        with Memory.open(path, embedder="hashing") as memory:
            sent.append(memory.add("Before the fork.").id)
            with _busy(memory, threads, sent):
                workers = [
                    processes.Process(target=write_twice, args=(path, f"worker {one}", ready, go, acknowledged))
                    for one in range(2)
                ]
                for worker in workers:
                    worker.start()
                for _ in workers:
                    assert ready.acquire(timeout=60)
        other = processes.Process(target=write_once, args=(path, "other", acknowledged))
        other.start()
        from_other, _ = acknowledged.get(timeout=60)
        go.set()
        reports = [acknowledged.get(timeout=60) for _ in workers]
        for process in (*workers, other):
            process.join(60)
            assert process.exitcode == 0
        sent += [*from_other, *(one for ids, _ in reports for one in ids)]
        assert len(sent) >= 1 + 5 * NOTES
        with Memory.open(path, embedder="hashing") as memory:
            kept = {event.id for event in memory.events()}
            assert len([one for one in sent if one not in kept]) == 0
            assert memory.admin.verify().ok
        if method == "fork":  # others begin with imports, which take as long as the machine is busy
            assert max(took for _, took in reports) < MOST_WAIT_S
        assert not Path(f"{path}-wal").exists()


def test_the_parent_goes_on_after_a_fork(path: Path) -> None:
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Ana lives in Lisbon.")
        in_child(lambda: refuses(memory.stats))
        assert [hit.text for hit in memory.recall("Where does Ana live?")] == ["Ana lives in Lisbon."]
        in_child(lambda: refuses(memory.stats))
        memory.add("Ben lives in Porto.")
        in_child(lambda: refuses(memory.stats))
        assert memory.stats().events == 2
        assert memory.admin.verify().ok
        in_child(lambda: refuses(memory.stats))
    assert sorted(one.name for one in path.parent.iterdir()) == ["memory.db", "memory.db-lock"]


def test_a_read_only_handle_survives_a_fork(path: Path) -> None:
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Ana lives in Lisbon.")
    with Memory.open(path, embedder="hashing", read_only=True) as memory:
        assert memory.stats().events == 1
        in_child(lambda: refuses(memory.stats))
        assert memory.stats().events == 1


def test_what_is_in_memory_survives_a_fork() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("Ana lives in Lisbon.")

        def own() -> bool:
            with Memory.open(":memory:", embedder="hashing") as other:
                return other.stats().events == 0 and refuses(memory.stats)

        in_child(own)
        assert memory.stats().events == 1


def test_a_fork_in_a_transaction_leaves_it_to_the_parent(path: Path) -> None:
    store = SqliteStore(path, Settings(busy_timeout_s=0.2))
    beside = path.with_name("other.db")

    def child(leave: Callable[[], object], use: Callable[[], object]) -> bool:
        # Neither a statement nor the end of the block reaches the file, and it can't be opened here any more.
        refused = refuses(use) and refuses(leave) and refuses(lambda: SqliteStore(path, Settings()))
        other = SqliteStore(beside, Settings())
        with other.file_writer() as writer:
            writer.set_fact("other", "yes")
        other.close()
        return refused

    with contextlib.ExitStack() as block:
        writer = block.enter_context(store.file_writer())
        writer.set_fact("mine", "yes")
        in_child(lambda: child(block.close, lambda: writer.set_fact("mine", "no")))
        # The child had left the block: the turn is still the parent's.
        assert _writes_elsewhere(path) == "StoreBusy"
    with store.file_reader() as reader:
        assert reader.fact("mine") == "yes"
        in_child(lambda: refuses(lambda: reader.fact("mine")))
        assert reader.fact("mine") == "yes"
    store.close()


def _writes_elsewhere(path: Path) -> str:
    """Write in another process; give the error's name, if any."""
    script = (
        "import sys; from everyword.settings import Settings\n"
        "from everyword.storage.sqlite import SqliteStore\n"
        "try:\n"
        "    with SqliteStore(sys.argv[1], Settings(busy_timeout_s=0.5)).file_writer() as writer:\n"
        "        writer.set_fact('theirs', 'yes')\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    run = [sys.executable, "-c", script, str(path)]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()


def test_a_thread_that_does_not_finish_makes_the_child_refuse(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_FORK_WAITS_S", 0.2)
    store = SqliteStore(path, Settings())
    reading, enough = threading.Event(), threading.Event()

    def read() -> None:
        with store.file_reader() as reader:
            reading.set()
            enough.wait(30)
            assert reader.fact("x") is None

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait(30)
    in_child(
        lambda: (
            refuses(lambda: SqliteStore(path, Settings()))
            and refuses(lambda: SqliteStore(path.with_name("other.db"), Settings()))
            and refuses(lambda: Memory.open(":memory:", embedder="hashing"))
        )
    )
    enough.set()
    thread.join()
    with store.file_writer() as writer:
        writer.set_fact("x", "1")
    in_child(lambda: not refuses(SqliteStore(path, Settings()).close))
    store.close()


def test_a_fork_that_python_was_not_told_of(path: Path) -> None:
    # Without the background thread: CPython hangs in the child if another thread waits for the GIL at such a fork.
    with Memory.open(path, settings=Settings(background=False), embedder="hashing") as memory:
        memory.add("Ana lives in Lisbon.")
        child = ctypes.PyDLL(None).fork()
        if child == 0:
            status = 1
            faulthandler.dump_traceback_later(30, exit=True, file=sys.__stderr__)
            try:
                refused = refuses(memory.stats) and refuses(lambda: Memory.open(path, embedder="hashing"))
                status = 0 if refused else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        memory.add("Ben lives in Porto.")
        assert memory.admin.verify().ok


def test_a_child_that_ends_as_interpreters_do_leaves_the_parents_locks(path: Path) -> None:
    script = (
        "import os, sys\n"
        "from everyword.settings import Settings\n"
        "from everyword.storage.sqlite import SqliteStore\n"
        "store = SqliteStore(sys.argv[1], Settings())\n"
        "block = store.file_writer(); writer = block.__enter__(); writer.set_fact('mine', 'yes')\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "print('ended', flush=True); sys.stdin.readline()\n"
        "block.__exit__(None, None, None); store.close()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ended\n"
        # Without the lock file, so that SQLite's own locks have to hold.
        Path(f"{path}-lock").unlink()
        assert _writes_elsewhere(path) == "StoreBusy"
        _, told = parent.communicate("\n", timeout=30)
        assert (parent.returncode, told) == (0, "")
    store = SqliteStore(path, Settings())
    with store.file_reader() as reader:
        assert (reader.fact("mine"), reader.fact("theirs")) == ("yes", None)
    store.close()


def test_forks_of_several_threads_do_not_wait_for_each_other_for_ever(path: Path) -> None:
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Ana lives in Lisbon.")
        begun = time.monotonic()
        threads = [threading.Thread(target=in_child, args=(lambda: refuses(memory.stats),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - begun < MOST_WAIT_S
        assert memory.stats().events == 1


def test_a_model_embeds_in_a_child_and_lets_it_end(tmp_path: Path) -> None:
    # In an interpreter of its own, which the child ends as any program would: destructors run.
    script = (
        "import os, sys\n"
        "from everyword import Memory\n"
        "memory = Memory.open(sys.argv[1] + '/memory.db')\n"
        "memory.add('Ana lives in Lisbon.')\n"
        "embedder = memory.scope.engine.models.wanted(None)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    for name, own in (('own', None), ('shared', embedder)):\n"
        "        with Memory.open(f'{sys.argv[1]}/{name}.db', own) as other:\n"
        "            other.add('Ben lives in Porto.')\n"
        "            assert other.recall('Where does Ben live?')\n"
        "    sys.exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    run = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
