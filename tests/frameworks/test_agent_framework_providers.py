"""Agent Framework: an agent with our providers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, Message

from everyword.interfaces.adapters.agent_framework_providers import EverywordContextProvider, EverywordHistoryProvider


class Says(BaseChatClient):
    """Answers with one sentence, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[str]] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        self.sent.append([message.text for message in messages])

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", ["Noted."])])

        return answer()


def test_a_session_continues_and_an_earlier_one_is_told(memory: Any) -> None:
    memory.add("I moved to Lisbon.", speaker="Bo")
    client = Says()
    providers = [EverywordHistoryProvider(memory, user="Ana", agent="Clerk"), EverywordContextProvider(memory)]
    agent = Agent(client=client, context_providers=providers)

    async def talk() -> None:
        session = agent.create_session(session_id="s1")
        await agent.run("I prefer tea over coffee.", session=session)
        await agent.run("Who moved to Lisbon?", session=session)

    asyncio.run(talk())
    first, second = client.sent
    assert first[-1] == "I prefer tea over coffee."
    assert second[:2] == ["I prefer tea over coffee.", "Noted."]
    assert "Bo: I moved to Lisbon." in second[2]
    assert second[3] == "Who moved to Lisbon?"
    said = [(event.text, event.speaker, event.role) for event in memory.events(session="s1")]
    assert said[:2] == [("I prefer tea over coffee.", "Ana", "user"), ("Noted.", "Clerk", "assistant")]
    assert len(said) == 4  # what was told is not said again


def test_every_kind_of_message_comes_back_as_it_was(memory: Any) -> None:
    messages = [
        Message("user", ["Look:", Content.from_uri("https://example.org/a.png", media_type="image/png")]),
        Message("assistant", [Content.from_function_call("c", "look", arguments={"at": "boat"})]),
        Message("tool", [Content.from_function_result("c", result="red")]),
        Message("assistant", ["It is red."], author_name="Clerk"),
    ]
    provider = EverywordHistoryProvider(memory)
    asyncio.run(provider.save_messages("s1", messages))
    back = asyncio.run(provider.get_messages("s1"))
    assert [one.to_dict() for one in back] == [one.to_dict() for one in messages]
    assert [event.role for event in memory.events()] == ["user", "tool", "tool", "assistant"]
    few = EverywordHistoryProvider(memory, limit=1)
    assert [one.text for one in asyncio.run(few.get_messages("s1"))] == ["It is red."]
    assert asyncio.run(provider.get_messages("s2")) == asyncio.run(provider.get_messages(None)) == []


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("agent-framework")
