"""The memory for asyncio: nothing is lost on the way through its threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from everyword import AsyncMemory, EverywordNotice


@pytest.mark.parametrize("count", [1, 100, 101, 201, 303])
def test_every_event_is_gone_through(count: int) -> None:
    async def run() -> None:
        async with AsyncMemory.open(":memory:", embedder="none") as memory:
            await memory.add_many([{"text": f"Event {number}.", "at": number} for number in range(count)])
            assert [event.at.timestamp() async for event in memory.events()] == list(range(count))
            few = [event.at.timestamp() async for event in memory.events(limit=min(count, 150))]
            assert few == list(range(min(count, 150)))

    asyncio.run(run())


def test_those_who_watch_do_not_hold_up_those_who_write(tmp_path: Path) -> None:
    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        async with await AsyncMemory.open(tmp_path / "m.db", embedder="none") as memory:
            heard: list[str] = []
            (tmp_path / "folder").mkdir()
            stop = threading.Event()

            async def watch() -> None:
                async for _, event in memory.watch(kinds=["event"], every=0.05):
                    heard.append(event.text)
                    return

            async def follow() -> None:
                async for _ in memory.admin.follow(tmp_path / "folder", every_s=0.05, stop=stop):
                    pass

            waiting = [asyncio.create_task(one()) for one in (watch, watch, watch, follow, follow)]
            await asyncio.sleep(0.3)
            await asyncio.wait_for(memory.add("Somebody writes."), 60)
            await asyncio.wait_for(asyncio.gather(*waiting[:3]), 60)
            stop.set()
            await asyncio.wait_for(asyncio.gather(*waiting), 60)
            assert heard == ["Somebody writes."] * 3

    asyncio.run(run())


def test_a_watch_ends_with_the_loop_that_it_looks_for(tmp_path: Path) -> None:
    async def run() -> None:
        async with await AsyncMemory.open(tmp_path / "m.db", embedder="none") as memory:

            async def watch() -> None:
                async for _ in memory.watch(every=60):
                    pass

            watching = asyncio.create_task(watch())
            await asyncio.sleep(0.2)
            watching.cancel()
            await asyncio.wait([watching])

    asyncio.run(run())
    for thread in threading.enumerate():
        if thread.name.startswith("everyword-async"):
            thread.join(20)
            assert not thread.is_alive()


def test_a_listener_may_be_a_coroutine() -> None:
    async def run() -> None:
        async with AsyncMemory.open(":memory:", embedder="none") as memory:
            heard: asyncio.Queue[str] = asyncio.Queue()

            async def told(where: str, event: object) -> None:
                await asyncio.sleep(0)
                heard.put_nowait(f"{where}: {event.text}")  # type: ignore[attr-defined]

            ends = [await memory.on("event", partial(told, "coroutine"))]
            ends.append(await memory.on("event", lambda event: None))
            await memory.add("News.")
            assert await asyncio.wait_for(heard.get(), 60) == "coroutine: News."
            for end in ends:
                end()
            await memory.add("More.")
            await asyncio.sleep(0.1)
            assert heard.empty()

            failed = asyncio.Event()

            async def fails(_: object) -> None:
                failed.set()
                raise ValueError("no")

            async def write() -> None:
                assert (await memory.add("Written all the same.")).new
                await asyncio.wait_for(failed.wait(), 60)
                await asyncio.sleep(0.05)

            await memory.on("event", fails)
            with pytest.warns(EverywordNotice, match="no"):
                await write()
            assert any("A listener failed" in notice for notice in memory.notices)

    asyncio.run(run())
