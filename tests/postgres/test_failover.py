"""The server goes away under load and comes back: nothing acknowledged is lost, and nobody has to do anything."""

from __future__ import annotations

import threading
import time

import pytest

from everyword import Memory
from postgres_server import Server


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_under_load_loses_nothing_and_heals_by_itself(location: str, postgres: Server, mode: str) -> None:
    if postgres.folder is None:
        pytest.fail("This test restarts its server: run it with one that the tests start themselves.")
    with Memory.open(location, embedder="hashing") as memory:
        acknowledged: list[list[str]] = [[] for _ in range(4)]
        failed: list[Exception] = []
        asked = [0]
        stop = threading.Event()

        def write(number: int) -> None:
            space = memory.space(f"tenant {number % 2}")
            while not stop.is_set():
                try:
                    text = f"writer {number} says {len(acknowledged[number])} {time.monotonic()}"
                    acknowledged[number].append(space.add(text, session="s").event.id)
                except Exception as error:
                    failed.append(error)
                    return

        def ask() -> None:
            while not stop.is_set():
                try:
                    memory.space("tenant 0").recall("writer")
                    asked[0] += 1
                except Exception as error:
                    failed.append(error)
                    return

        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)] + [threading.Thread(target=ask)]
        for thread in threads:
            thread.start()
        time.sleep(0.7)
        before = [len(ids) for ids in acknowledged]
        postgres.restart(mode)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and any(
            len(ids) <= count + 2 for ids, count in zip(acknowledged, before, strict=True)
        ):
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join(40)
        assert failed == []
        assert all(len(ids) > count + 2 for ids, count in zip(acknowledged, before, strict=True)), "it did not heal"
        assert asked[0] > 0
        for number, ids in enumerate(acknowledged):
            stored = {event.id for event in memory.space(f"tenant {number % 2}").events()}
            assert set(ids) <= stored
        total = sum(memory.space(f"tenant {n}").stats().events for n in range(2))
        assert total == sum(map(len, acknowledged))  # and nothing twice
        assert memory.admin.verify().ok
