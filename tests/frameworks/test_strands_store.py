"""Strands: an agent whose memory manager uses our store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

from everyword.interfaces.adapters.strands_store import EverywordMemoryStore


class Says(Model):
    """Answers with one sentence, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def update_config(self, **model_config: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterable[Any]:
        self.sent.append(str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Noted."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def test_an_agent_is_told_what_was_said_before(memory: Any) -> None:
    memory.add("I moved to Lisbon.", speaker="Ana")
    model = Says()
    manager = MemoryManager(stores=[EverywordMemoryStore(memory)])
    agent = Agent(model=model, memory_manager=manager, callback_handler=None)
    agent("Who moved to Lisbon?")
    assert "I moved to Lisbon." in model.sent[0]
    assert "search_memory" in agent.tool_names


def test_what_is_said_to_an_agent_is_kept(memory: Any) -> None:
    manager = MemoryManager(stores=[EverywordMemoryStore(memory, session="s1", user="Ana", agent="Clerk")])
    agent = Agent(model=Says(), memory_manager=manager, callback_handler=None)

    async def talk() -> None:
        await agent.invoke_async("I prefer tea over coffee.")
        await manager.flush()
        await manager.flush()

    asyncio.run(talk())
    said = [(event.text, event.speaker, event.role) for event in memory.events(session="s1")]
    assert said == [("I prefer tea over coffee.", "Ana", "user"), ("Noted.", "Clerk", "assistant")]


def test_messages_that_are_handed_over_again_are_kept_once(memory: Any) -> None:
    store = EverywordMemoryStore(memory, wing="w")
    messages: list[Any] = [
        {"role": "user", "content": [{"text": "Yes."}], "tracking_id": "1"},
        {"role": "user", "content": [{"text": "Yes."}], "tracking_id": "2"},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [], "status": "success"}}]},
    ]
    assert [asyncio.run(store.add_messages(messages)) for _ in range(2)] == [2, 0]
    assert [event.wing for event in memory.events()] == ["w", "w"]


def test_the_manager_s_tools_search_and_add(memory: Any) -> None:
    store = EverywordMemoryStore(memory, filters={"speaker": "Ana"}, max_search_results=3)
    manager = MemoryManager(stores=[store], add_tool_config=True)
    asyncio.run(manager.add("The boat is red.", {"metadata": {"topic": "boat"}}))
    (event,) = memory.events()
    assert (event.text, event.source, event.meta) == ("The boat is red.", "assistant", {"topic": "boat"})
    for number in range(5):
        memory.add(f"Boat {number} is blue.", speaker="Ana")
    found = asyncio.run(manager.search("Which boat is blue?"))
    assert len(found) == 3
    assert {str((one.metadata or {})["speaker"]) for one in found} == {"Ana"}
    assert asyncio.run(store.search(" ")) == []


def test_a_store_that_is_only_read_takes_no_messages(memory: Any) -> None:
    manager = MemoryManager(stores=[EverywordMemoryStore(memory, writable=False)])
    agent = Agent(model=Says(), memory_manager=manager, callback_handler=None)
    agent("I prefer tea.")
    asyncio.run(manager.flush())
    assert list(memory.events()) == []


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("strands")
