"""A process that forks beside a memory on a server: the child reaches none of its parent's sessions."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import psycopg
import pytest

from everyword import Memory
from everyword.settings import Settings
from everyword.storage.postgres import PostgresStore
from forked import in_child, refuses

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def test_parent_and_child_each_use_their_own_handle(location: str) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("Before the fork.")
        session = memory.scope.engine.store._pool._idle[-1].info.backend_pid

        def child() -> bool:
            with Memory.open(location, embedder="hashing") as own:
                own.add("In the child.")
            refused = refuses(lambda: memory.add("x")) and refuses(memory.stats)
            memory.close()
            return refused

        for _ in range(3):
            in_child(child)
        memory.add("After the fork.")
        assert memory.scope.engine.store._pool._idle[-1].info.backend_pid == session
        assert memory.stats().events == 5
        assert memory.admin.verify().ok


def test_a_fork_in_a_transaction_leaves_it_to_the_parent(location: str) -> None:
    store = PostgresStore(location, Settings())
    with contextlib.ExitStack() as block:
        writer = block.enter_context(store.file_writer())
        writer.set_fact("mine", "yes")

        def child() -> bool:
            refused = refuses(lambda: writer.set_fact("mine", "no"), psycopg.Error) and refuses(block.close)
            own = PostgresStore(location, Settings())
            with own.file_reader() as reader:
                return refused and reader.fact("mine") is None

        in_child(child)
        writer.set_fact("more", "yes")
    with store.file_reader() as reader:
        assert (reader.fact("mine"), reader.fact("more")) == ("yes", "yes")
        in_child(lambda: refuses(lambda: reader.fact("mine"), psycopg.Error))
        assert reader.fact("mine") == "yes"
    store.close()


def test_a_child_that_ends_as_interpreters_do_leaves_the_parents_session(location: str) -> None:
    script = (
        "import os, sys\n"
        "from everyword.settings import Settings\n"
        "from everyword.storage.postgres import PostgresStore\n"
        "store = PostgresStore(sys.argv[1], Settings())\n"
        "with store.file_writer() as writer:\n"
        "    writer.set_fact('mine', 'yes')\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        sys.exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "    writer.set_fact('more', 'yes')\n"
        "store.close()\n"
    )
    run = [sys.executable, "-c", script, location]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    store = PostgresStore(location, Settings())
    with store.file_reader() as reader:
        assert (reader.fact("mine"), reader.fact("more")) == ("yes", "yes")
    store.close()
