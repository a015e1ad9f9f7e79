"""CrewAI: a crew whose memory is ours, without an LLM or an embedder for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from crewai import Agent, BaseLLM, Crew, Task

from everyword.interfaces.adapters.crewai_memory import EverywordMemory


class Says(BaseLLM):
    """Answers with one sentence, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(model="test")

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        SENT.append(str(messages))
        return "Thought: I know it.\nFinal Answer: Ana lives in Lisbon."


SENT: list[str] = []


@pytest.fixture
def ours(memory: Any) -> EverywordMemory:
    return EverywordMemory(memory)


def contents(found: list[Any]) -> list[str]:
    return [one.record.content for one in found]


def test_what_is_remembered_is_found(ours: EverywordMemory, memory: Any) -> None:
    record = ours.remember("Ana moved to Lisbon.", scope="/people", categories=["home"], metadata={"n": 1})
    assert record is not None
    ours.remember_many(["The boat is red.", "The boat is old."], scope="/things")
    (first, *_) = ours.recall("Who moved to Lisbon?")
    assert first.record.content == "Ana moved to Lisbon."
    assert (first.record.id, first.record.scope, first.record.categories) == (record.id, "/people", ["home"])
    assert first.record.metadata == {"n": 1}
    assert first.record.created_at == record.created_at
    assert set(contents(ours.recall("boat", scope="/things"))) == {"The boat is red.", "The boat is old."}
    assert contents(ours.recall("boat", categories=["home"])) == ["Ana moved to Lisbon."]
    assert len(ours.recall("boat", limit=1)) == 1
    assert ours.recall(" ") == []
    assert "Ana moved to Lisbon." in [hit.text for hit in memory.recall("Who moved to Lisbon?")]


def test_what_is_private_is_found_by_its_source_alone(ours: EverywordMemory) -> None:
    ours.remember("Ana moved to Lisbon.", source="ana", private=True)
    assert ours.recall("Who moved?") == ours.recall("Who moved?", source="bo") == []
    assert len(ours.recall("Who moved?", source="ana")) == len(ours.recall("Who moved?", include_private=True)) == 1


def test_scopes_are_listed_and_reset(memory: Any) -> None:
    ours = EverywordMemory(memory, root_scope="/crew")
    ours.remember("Ana moved.", scope="/people/ana", categories=["home"])
    ours.remember("Bo sails.", scope="people/bo")
    EverywordMemory(memory).remember("Elsewhere.")
    assert ours.list_scopes() == ["/crew/people"]
    assert ours.list_scopes("/people") == ["/crew/people/ana", "/crew/people/bo"]
    assert (ours.info().record_count, ours.list_categories()) == (2, {"home": 1})
    assert ours.tree().splitlines()[0] == "/crew (2 records)"
    assert [one.content for one in ours.list_records()] == ["Bo sails.", "Ana moved."]
    assert contents(ours.scope("/people/bo").recall("sails")) == ["Bo sails."]
    ours.reset()
    assert [one.content for one in EverywordMemory(memory).list_records()] == ["Elsewhere."]


def test_update_and_forget(ours: EverywordMemory) -> None:
    record = ours.remember("Ana moved to Porto.")
    assert record is not None
    ours.update(record.id, content="Ana moved to Lisbon.", importance=0.9)
    (found,) = ours.recall("Who moved?")
    assert (found.record.content, found.record.importance) == ("Ana moved to Lisbon.", 0.9)
    assert ours.forget(older_than=datetime.now(UTC).replace(tzinfo=None) - timedelta(days=1)) == 0
    assert ours.forget(record_ids=[record.id]) == 1
    assert ours.recall("Who moved?") == []


def test_a_memory_that_is_only_read_stores_nothing(memory: Any) -> None:
    ours = EverywordMemory(memory, read_only=True)
    assert ours.remember("Ana moved.") is None
    assert ours.remember_many(["Ana moved."]) == list(memory.events()) == []


def test_secrets_are_taken_out(ours: EverywordMemory, memory: Any) -> None:
    secret = "My token is ghp_" + "a1B2c3D4" * 4 + "e5F6"
    ours.remember(secret, metadata={"note": secret})
    assert "ghp_" not in " ".join(f"{event.text} {event.meta}" for event in memory.events())


def test_a_crew_uses_it(ours: EverywordMemory, memory: Any) -> None:
    SENT.clear()
    ours.remember("Ana moved to Lisbon.")
    agent = Agent(role="Clerk", goal="Answer.", backstory="A clerk.", llm=Says())
    task = Task(description="Who moved to Lisbon?", expected_output="A name.", agent=agent)
    crew = Crew(agents=[agent], tasks=[task], memory=ours)
    assert "Ana lives in Lisbon." in str(crew.kickoff())
    assert "Ana moved to Lisbon." in SENT[0]
    ours.drain_writes()
    assert any("Ana lives in Lisbon." in event.text for event in memory.events())


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("crewai")
