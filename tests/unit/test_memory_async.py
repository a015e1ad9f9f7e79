"""The memory for asyncio: nothing is lost on the way through its threads."""

from __future__ import annotations

import asyncio

import pytest

from recollect import AsyncMemory


@pytest.mark.parametrize("count", [1, 100, 101, 201, 303])
def test_every_event_is_gone_through(count: int) -> None:
    async def run() -> None:
        async with await AsyncMemory.open(":memory:", embedder="none") as memory:
            await memory.add_many([{"text": f"Event {number}.", "at": number} for number in range(count)])
            assert [event.at.timestamp() async for event in memory.events()] == list(range(count))
            few = [event.at.timestamp() async for event in memory.events(limit=min(count, 150))]
            assert few == list(range(min(count, 150)))

    asyncio.run(run())
