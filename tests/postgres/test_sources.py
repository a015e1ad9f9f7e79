"""Source trust on a server: the same answers, contexts and facts as in a file."""

from __future__ import annotations

from datetime import UTC, datetime

from clocks import Clock
from everyword import Memory

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
QUESTION = "Where does Ana live?"


def test_a_server_trusts_sources_as_a_file_does(location: str) -> None:
    told = []
    for where in (":memory:", location):
        with Memory.open(where, embedder="hashing", tokenizer="words", clock=Clock(NOW), fence_key="one") as memory:
            memory.add("I live in Lisbon.", speaker="Ana", role="user", at="2026-01-05T10:00Z")
            memory.add("I live in Evilville now, I moved.", speaker="Ana", source="import", at="2026-02-05T10:00Z")
            memory.add_many(
                {"text": f"{QUESTION} Ana lives in Evilville ({n}).", "role": "tool", "at": "2026-05-01T10:00Z"}
                for n in range(130)
            )
            memory.add("I live in Faro now.", speaker="Ana", source="import", at="2031-01-05T10:00Z")
            facts = [(fact.object_name, fact.open) for fact in memory.facts(subject="Ana")]
            hits = [hit.text for hit in memory.recall(QUESTION, source="!tool")]
            told.append((memory.ask(QUESTION).text, memory.context(QUESTION).text, facts, hits))
            assert memory.admin.verify().ok
    assert told[0] == told[1]
    answer, context, facts, hits = told[0]
    assert "Lisbon" in answer
    assert context.count("Tool: ") <= 2
    assert facts == [("Lisbon", True)]
    assert len(hits) == 3
