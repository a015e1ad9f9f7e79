"""The arms of recall that follow the graph: what they find that words alone do not, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from recollect import Memory
from recollect.recall.recipes import GRAPH, Recipe

ARMS = Recipe(name="arms", words=GRAPH.words, vectors=None, topdown=GRAPH.topdown, pagerank=GRAPH.pagerank)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none", recipe=ARMS) as opened:
        said = (
            ("s1", "Ana", "My sister Mia is coming to the concert."),
            ("s2", "Ana", "Mia works at Siemens."),
            ("s3", "Bo", "Siemens closed its plant at the lake."),
            ("s4", "Bo", "The weather was fine."),
        )
        for day, (session, speaker, text) in enumerate(said, 1):
            opened.add(text, speaker=speaker, session=session, at=f"2026-04-0{day}T10:00Z")
        yield opened


def found(memory: Memory, question: str) -> dict[str, set[str]]:
    return {hit.text: {score.stage for score in hit.scores} for hit in memory.recall(question)}


def test_pagerank_reaches_what_shares_no_word_with_the_question(memory: Memory) -> None:
    hits = found(memory, "Who is coming to the concert?")
    assert "pagerank" in hits["Mia works at Siemens."]
    assert "The weather was fine." not in hits


def test_a_hop_further_is_reached_too_and_counts_less(memory: Memory) -> None:
    texts = [hit.text for hit in memory.recall("Who is coming to the concert?")]
    assert texts.index("Mia works at Siemens.") < texts.index("Siemens closed its plant at the lake.")


def test_top_down_finds_what_is_claimed_of_whom_the_question_names(memory: Memory) -> None:
    hits = found(memory, "At which company does Mia work?")
    assert "topdown" in hits["Mia works at Siemens."]
    assert "topdown" not in hits.get("My sister Mia is coming to the concert.", set())


def test_what_is_further_away_in_time_counts_less() -> None:
    assert GRAPH.topdown is not None
    how = replace(GRAPH.topdown, decay=0.5)
    recipe = Recipe(name="decay", words=GRAPH.words, vectors=None, topdown=how)
    with Memory.open(":memory:", embedder="none", recipe=recipe) as memory:
        memory.add("Mia visited Rome.", speaker="Ana", session="a", at="2024-04-01")
        memory.add("Mia visited Rome again.", speaker="Ana", session="b", at="2026-04-01")
        hits = memory.recall("When was Mia visiting Rome?", now="2026-04-02")
        said = {hit.event.session: score.score for hit in hits for score in hit.scores if score.stage == "topdown"}
        assert said["b"] == 1.0
        assert said["a"] < 0.5


def test_only_what_may_answer_is_reached(memory: Memory) -> None:
    hits = memory.recall("Who is coming to the concert?", until="2026-04-02")
    assert {hit.event.session for hit in hits} == {"s1"}


def test_a_name_that_everybody_says_leads_nowhere() -> None:
    assert GRAPH.pagerank is not None
    walk = replace(GRAPH.pagerank, least=0.01)
    recipe = Recipe(name="walk", words=GRAPH.words, vectors=None, pagerank=walk)
    with Memory.open(":memory:", embedder="none", recipe=recipe) as memory:
        memory.add_many(
            {"text": f"Mia said number {number}.", "speaker": "Ana", "session": f"s{number}", "at": "2026-04-01"}
            for number in range(120)
        )
        memory.add("Mia goes to the concert.", speaker="Ana", session="c", at="2026-04-02")
        hits = found(memory, "Who goes to the concert?")
        assert not any("pagerank" in stages for stages in hits.values())
