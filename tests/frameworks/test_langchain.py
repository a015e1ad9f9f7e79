"""LangChain: a chat message history behind a chain, and the retriever in one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from everyword.interfaces.adapters.langchain import EverywordChatMessageHistory, EverywordRetriever

MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "http://x"}}]),
    AIMessage("", tool_calls=[{"name": "look", "args": {"at": "boat"}, "id": "c"}]),
    ToolMessage("red", tool_call_id="c", name="look"),
    AIMessage("It is red.", name="Clerk"),
    ChatMessage(role="narrator", content="Night falls."),
]


def test_a_chain_continues_a_conversation(memory: Any) -> None:
    seen: list[int] = []

    def answer(messages: list[BaseMessage]) -> AIMessage:
        seen.append(len(messages))
        return AIMessage("Noted.")

    chain = RunnableWithMessageHistory(
        RunnableLambda(answer), lambda session: EverywordChatMessageHistory(session, memory, user="Ana", agent="Clerk")
    )
    for said in ("I prefer tea over coffee.", "Do you remember?"):
        chain.invoke([HumanMessage(said)], {"configurable": {"session_id": "s1"}})
    assert seen == [1, 3]
    events = [(event.text, event.speaker, event.role) for event in memory.events(session="s1")]
    assert events[:2] == [("I prefer tea over coffee.", "Ana", "user"), ("Noted.", "Clerk", "assistant")]


def test_every_kind_of_message_comes_back_as_it_was(memory: Any) -> None:
    history = EverywordChatMessageHistory("s1", memory)
    history.add_messages(MESSAGES)
    assert history.messages == asyncio.run(history.aget_messages()) == MESSAGES
    assert EverywordChatMessageHistory("s1", memory, limit=2).messages == MESSAGES[-2:]
    assert EverywordChatMessageHistory("s2", memory).messages == []
    said = [(event.role, event.speaker) for event in memory.events()]
    assert said == [
        ("system", "system"),
        ("user", "user"),
        ("tool", "tool"),
        ("tool", "look"),
        ("assistant", "Clerk"),
        ("narrator", "narrator"),
    ]
    asyncio.run(history.aclear())
    history.add_user_message("Again.")
    assert [one.content for one in history.messages] == ["Again."]


def test_histories_of_two_wings_stay_apart(memory: Any) -> None:
    ana, bo = (EverywordChatMessageHistory("s1", memory, wing=wing) for wing in ("ana", "bo"))
    ana.add_user_message("I moved to Lisbon.")
    assert bo.messages == []
    bo.add_user_message("I moved to Porto.")
    assert [one.content for one in ana.messages] == ["I moved to Lisbon."]


def test_secrets_are_taken_out(memory: Any) -> None:
    history = EverywordChatMessageHistory("s1", memory)
    history.add_user_message("My token is ghp_" + "a1B2c3D4" * 4 + "e5F6")
    assert "ghp_" not in str(history.messages)
    assert "ghp_" not in " ".join(f"{event.text} {event.meta}" for event in memory.events())


def test_a_retriever_finds_what_a_history_keeps(memory: Any) -> None:
    EverywordChatMessageHistory("s1", memory, user="Ana").add_user_message("I moved to Lisbon.")
    (found,) = EverywordRetriever(memory=memory, k=1, filters={"speaker": "Ana"}).invoke("Who moved?")
    assert found.page_content == "I moved to Lisbon."
    assert found.metadata["session"] == "s1"


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("langchain")
