"""Many workers share a server's work: each space by one at a time, and what a dead one held by the next."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from everyword import Memory
from everyword.errors import InvalidInput
from everyword.jobs import upkeep as working
from postgres_server import Server


def _owing(location: str, spaces: int, events: int = 3) -> Memory:
    """Open a memory whose spaces wait for vectors and statements."""
    memory = Memory.open(location, embedder="hashing", embed_on_write=False, extract=False)
    for number in range(spaces):
        memory.space(f"tenant {number}").add_many(
            [{"text": f"I moved to Lisbon {n} times.", "speaker": "Ana"} for n in range(events)]
        )
    return memory


def test_a_worker_does_all_that_waits(location: str) -> None:
    with _owing(location, 4) as memory:
        told: list[tuple[str, int]] = []
        done = memory.admin.work(once=True, on_done=lambda space, count: told.append((space, count)))
        assert done == sum(count for _, count in told) > 0
        assert sorted(space for space, _ in told) == [f"tenant {n}" for n in range(4)]
        for number in range(4):
            stats = memory.space(f"tenant {number}").stats()
            assert (stats.pending, stats.vectors) == (0, 3)
            assert stats.statements
        assert memory.admin.verify().ok
        assert memory.admin.work(once=True) == 0


def test_a_space_is_worked_on_by_one_at_a_time(location: str) -> None:
    with _owing(location, 6) as memory:
        held: set[str] = set()
        guard = threading.Lock()
        twice: list[str] = []
        told: list[str] = []
        settle = working.settle

        def watched(engine, progress) -> int:
            (space,) = _spaces(engine.store)
            with guard:
                if space in held:
                    twice.append(space)
                held.add(space)
            time.sleep(0.05)
            try:
                return settle(engine, progress)
            finally:
                with guard:
                    held.discard(space)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(working, "settle", watched)
            workers = [
                threading.Thread(
                    target=lambda: memory.admin.work(once=True, on_done=lambda space, _: told.append(space))
                )
                for _ in range(4)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(60)
        assert twice == []
        assert set(told) == {f"tenant {n}" for n in range(6)}
        assert [memory.space(f"tenant {n}").stats().vectors for n in range(6)] == [3] * 6
        assert memory.admin.verify().ok


def _spaces(store) -> list[str]:
    with store.file_reader() as reader:
        return reader.spaces()


def _jobs(postgres: Server, location: str) -> int:
    return postgres.as_admin(f"SELECT count(*) FROM {location.rpartition('=')[2]}.jobs")[0][0]


def test_what_a_worker_held_when_it_died_goes_to_the_next(location: str, postgres: Server) -> None:
    with _owing(location, 1) as memory, Memory.open(location, embedder="hashing") as other:
        store = memory.scope.engine.store
        with store.owed(now=1 << 60) as space:  # type: ignore[attr-defined]
            assert space == "tenant 0"
            assert other.admin.work(once=True) == 0  # held by somebody
            # The worker's machine goes away: the server ends its session.
            postgres.as_admin(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE usename = 'everyword' AND state = 'idle in transaction'"
            )
            assert other.admin.work(once=True) > 0
        assert other.space("tenant 0").stats().pending == 0


def test_a_waiting_worker_hears_of_new_work_at_once(location: str) -> None:
    with _owing(location, 0) as memory:
        stop, heard = threading.Event(), threading.Event()
        worker = threading.Thread(
            target=lambda: memory.admin.work(stop=stop, on_done=lambda _space, _done: (heard.set(), stop.set()))
        )
        worker.start()
        try:
            time.sleep(0.5)  # it is waiting now
            began = time.monotonic()
            memory.add("I moved to Lisbon.", speaker="Ana")
            assert heard.wait(10)
            assert time.monotonic() - began < working._POLL_S - 1
        finally:
            stop.set()
            worker.join(15)
        assert memory.stats().pending == 0


def test_jobs_are_taken_by_one(location: str) -> None:
    with _owing(location, 2) as memory:
        store = memory.scope.engine.store
        with store.file_writer() as one, store.file_writer() as two:
            mine = one.take_jobs("embed", now=1 << 60, until=1 << 61, limit=4)
            yours = two.take_jobs("embed", now=1 << 60, until=1 << 61, limit=4)
        assert len(mine) == 4
        assert len(yours) == 2
        assert not {job.id for job in mine} & {job.id for job in yours}


def test_a_file_has_no_workers() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory, pytest.raises(InvalidInput, match="everyword settle"):
        memory.admin.work(once=True)


def test_a_worker_lives_through_a_cut_connection(location: str, postgres: Server) -> None:
    with _owing(location, 3) as memory:
        stop = threading.Event()
        told: list[str] = []
        settle = working.settle

        def cut_once(engine, progress) -> int:
            if not told:
                told.append("cut")
                with psycopg.connect(postgres.admin, autocommit=True) as admin:
                    admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'everyword'")
            return settle(engine, progress)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(working, "settle", cut_once)
            patch.setattr(working, "_UNREACHABLE_S", 0.05)
            worker = threading.Thread(target=lambda: memory.admin.work(stop=stop))
            worker.start()
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                if _jobs(postgres, location) == 0:
                    break
                time.sleep(0.1)
            stop.set()
            worker.join(15)
        assert [memory.space(f"tenant {n}").stats().pending for n in range(3)] == [0, 0, 0]
        assert memory.admin.verify().ok
