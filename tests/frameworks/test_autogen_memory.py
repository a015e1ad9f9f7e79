"""AutoGen: the memory that an agent asks before each call of its model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage, SystemMessage, UserMessage

from everyword.errors import InvalidInput
from everyword.interfaces.adapters.autogen_memory import EverywordMemory


def text(content: Any, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=MemoryMimeType.TEXT, metadata=metadata)


def test_what_answers_the_newest_message_is_put_into_the_context(memory: Any) -> None:
    memory.add("I moved to Lisbon.", speaker="Ana")
    ours = EverywordMemory(memory)

    async def ask(*said: str) -> tuple[list[Any], list[MemoryContent]]:
        context = UnboundedChatCompletionContext()
        for one in said:
            await context.add_message(UserMessage(content=one, source="user"))
        updated = await ours.update_context(context)
        return await context.get_messages(), updated.memories.results

    messages, told = asyncio.run(ask("Hello.", "Who moved to Lisbon?"))
    assert isinstance(messages[-1], SystemMessage)
    assert "Ana: I moved to Lisbon." in messages[-1].content
    assert [one.content for one in told] == [messages[-1].content]
    assert asyncio.run(ask()) == ([], [])


class Says(ChatCompletionClient):
    """Answers with one sentence, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def create(self, messages: Any, **kwargs: Any) -> CreateResult:
        self.sent.append(str(messages))
        return CreateResult(finish_reason="stop", content="Ana.", usage=RequestUsage(0, 0), cached=False)

    def create_stream(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        return 0

    remaining_tokens = count_tokens

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> Any:
        return {
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "family": "unknown",
            "structured_output": False,
        }


def test_an_agent_is_told_what_was_said_before(memory: Any) -> None:
    memory.add("I moved to Lisbon.", speaker="Ana")
    client = Says()
    agent = AssistantAgent("clerk", client, memory=[EverywordMemory(memory)])
    asyncio.run(agent.run(task="Who moved to Lisbon?"))
    assert "Ana: I moved to Lisbon." in client.sent[0]


def test_what_is_added_is_found(memory: Any) -> None:
    ours = EverywordMemory(memory, wing="w", k=1)
    asyncio.run(ours.add(text("I moved to Lisbon.", speaker="Ana", at="2026-04-02T10:00Z", topic="home")))
    asyncio.run(ours.add(text({"boat": "red"})))
    (found,) = asyncio.run(ours.query("Who moved to Lisbon?")).results
    assert found.content == "I moved to Lisbon."
    assert found.metadata is not None
    assert {name: found.metadata[name] for name in ("speaker", "at", "topic")} == {
        "speaker": "Ana",
        "at": "2026-04-02T10:00:00+00:00",
        "topic": "home",
    }
    assert len(asyncio.run(ours.query(text("boat"), k=5)).results) == 2
    assert [event.wing for event in memory.events()] == ["w", "w"]
    assert asyncio.run(ours.query(" ")).results == []


def test_what_is_no_text_is_refused(memory: Any) -> None:
    with pytest.raises(InvalidInput, match="text, not bytes"):
        asyncio.run(EverywordMemory(memory).add(text(b"\x00")))


def test_clearing_forgets_what_was_added_and_leaves_the_rest(memory: Any) -> None:
    memory.add("I moved to Lisbon.")
    ours = EverywordMemory(memory)
    asyncio.run(ours.add(text("The boat is red.")))
    asyncio.run(ours.clear())
    asyncio.run(ours.close())
    assert [event.text for event in memory.events()] == ["I moved to Lisbon."]


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("autogen")
