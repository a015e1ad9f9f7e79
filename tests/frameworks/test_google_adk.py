"""Google ADK: sessions go into a memory, and an agent's tool finds them there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory
from google.genai.types import Content, FunctionCall, Part

from everyword.interfaces.adapters.google_adk import EverywordMemoryService


def said(text: str, author: str = "user", **options: Any) -> Event:
    return Event(
        author=author,
        content=Content(role="user" if author == "user" else "model", parts=[Part(text=text)]),
        timestamp=1_775_000_000.0,
        **options,
    )


def session(*events: Event, user: str = "ana", id: str = "s1") -> Session:
    return Session(id=id, app_name="desk", user_id=user, events=list(events))


def found(service: EverywordMemoryService, query: str, user: str = "ana") -> list[MemoryEntry]:
    return asyncio.run(service.search_memory(app_name="desk", user_id=user, query=query)).memories


def texts(entries: list[MemoryEntry]) -> list[str]:
    return [str((entry.content.parts or [])[0].text) for entry in entries]


def test_a_user_finds_what_they_said_and_nobody_else_does(memory: Any) -> None:
    service = EverywordMemoryService(memory)
    asyncio.run(service.add_session_to_memory(session(said("I moved to Lisbon."), said("Noted.", "clerk"))))
    asyncio.run(service.add_session_to_memory(session(said("I moved to Porto."), user="bo")))
    (first, *_) = found(service, "Who moved?")
    assert texts([first]) == ["I moved to Lisbon."]
    assert (first.author, first.content.role) == ("ana", "user")
    assert first.timestamp == "2026-03-31T23:33:20+00:00"
    assert texts(found(service, "Who moved?", user="bo")) == ["I moved to Porto."]
    assert found(service, "Who moved?", user="cy") == found(service, " ") == []
    answers = [event for event in memory.events() if event.role == "assistant"]
    assert [(event.text, event.speaker) for event in answers] == [("Noted.", "clerk")]


def test_adding_a_session_again_adds_what_is_new(memory: Any) -> None:
    service = EverywordMemoryService(memory)
    first, second = said("Yes.", id="e1"), said("Yes.", id="e2")
    asyncio.run(service.add_session_to_memory(session(first)))
    asyncio.run(service.add_session_to_memory(session(first, second)))
    assert [event.text for event in memory.events()] == ["Yes.", "Yes."]


def test_events_without_text_and_thoughts_are_left_out(memory: Any) -> None:
    service = EverywordMemoryService(memory)
    thought = Content(role="model", parts=[Part(text="Hm.", thought=True), Part(text="The boat is red.")])
    call = Content(role="model", parts=[Part(function_call=FunctionCall(name="look", args={}))])
    events = [Event(author="clerk", content=one) for one in (thought, call, None)]
    asyncio.run(service.add_session_to_memory(session(*events)))
    assert [event.text for event in memory.events()] == ["The boat is red."]


def test_a_deleted_memory_stays_deleted(memory: Any) -> None:
    service = EverywordMemoryService(memory)
    talk = session(said("I moved to Lisbon.", id="e1"), said("The boat is red.", id="e2"))
    asyncio.run(service.add_session_to_memory(talk))
    (entry,) = [one for one in found(service, "Who moved?") if "Lisbon" in texts([one])[0]]
    delete = {"app_name": "desk", "memory_id": entry.id}
    asyncio.run(service.delete_memory(user_id="bo", **delete))  # not theirs
    assert len(found(service, "Lisbon boat")) == 2
    asyncio.run(service.delete_memory(user_id="ana", **delete))
    asyncio.run(service.add_session_to_memory(talk))
    assert texts(found(service, "Lisbon boat deleted memory")) == ["The boat is red."]
    assert "Lisbon" not in " ".join(event.text for event in memory.events())


def test_entries_and_events_are_added_as_they_are(memory: Any) -> None:
    service = EverywordMemoryService(memory)
    scope: dict[str, Any] = {"app_name": "desk", "user_id": "ana"}
    entry = MemoryEntry(
        content=Content(parts=[Part(text="My token is ghp_" + "a1B2c3D4" * 4 + "e5F6")]),
        author="Ana",
        timestamp="2026-04-02T10:00:00+00:00",
        custom_metadata={"topic": "keys"},
    )
    asyncio.run(service.add_memory(memories=[entry], **scope))
    asyncio.run(service.add_events_to_memory(events=[said("The boat is red.")], **scope))
    (kept, _) = sorted(memory.events(), key=lambda event: event.text != "The boat is red.", reverse=True)
    assert "ghp_" not in kept.text
    assert (kept.speaker, kept.meta) == ("Ana", {"topic": "keys"})
    assert kept.at.isoformat() == "2026-04-02T10:00:00+00:00"
    assert texts(found(service, "red boat"))[0] == "The boat is red."


class Model(BaseLlm):
    """Calls `load_memory`, then repeats what it returned."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [])[0]
        if last.function_response:
            part = Part(text=str(last.function_response.response))
        else:
            part = Part(function_call=FunctionCall(name="load_memory", args={"query": "Who moved to Lisbon?"}))
        yield LlmResponse(content=Content(role="model", parts=[part]))


def test_an_agent_finds_an_earlier_session(memory: Any) -> None:
    service = EverywordMemoryService(memory)
    asyncio.run(service.add_session_to_memory(session(said("I moved to Lisbon."))))
    agent = LlmAgent(name="clerk", model=Model(model="test"), tools=[load_memory])
    sessions = InMemorySessionService()
    runner = Runner(agent=agent, app_name="desk", session_service=sessions, memory_service=service)

    async def run() -> str:
        await sessions.create_session(app_name="desk", user_id="ana", session_id="s2")
        question = Content(role="user", parts=[Part(text="Who moved?")])
        answers = [
            str((event.content.parts or [])[0].text)
            async for event in runner.run_async(user_id="ana", session_id="s2", new_message=question)
            if event.content and event.is_final_response()
        ]
        return answers[-1]

    assert "I moved to Lisbon." in asyncio.run(run())


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("google-adk")
