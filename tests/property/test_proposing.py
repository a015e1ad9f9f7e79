"""Whatever an LLM proposes for the concepts: the graph stays whole, and a rebuild comes to the same."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import pytest

from effort import effort
from everyword import Memory
from everyword.types.concepts import Debt
from llm_memory import MovedClock, remembering
from llm_server import Asked, chat, serving

WORDS = "river stone garden letter music train ticket soup budget invoice roof ladder paint nurse clinic".split()
ROUNDS, EVENTS = 6, 9


class Guessing:
    """Proposes at random, a good part of it wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def __call__(self, asked: Asked):
        shown = json.loads(asked.prompt)
        if "turns" in shown:
            return chat('{"sentences": []}')(asked)
        events, concepts = shown["events"], shown["concepts"]
        answer = {
            "removes": [{"concept": self._one(concepts), "events": self._some(events)} for _ in self._few(1)],
            "merges": [
                {"one": self._one(concepts), "other": self._one(concepts), "events": self._some(events)}
                for _ in self._few(2)
            ],
            "concepts": [{**self._words(events), "events": self._some(events, 5)} for _ in self._few(3)],
            "members": [
                {"event": self._one(events), "concept": self._one(concepts), "belongs": self.rng.random() < 0.6}
                for _ in self._few(8)
            ],
            "words": [{**self._words(events), "concept": self._one(concepts)} for _ in self._few(3)],
            "links": [
                {
                    "from": self._one(concepts),
                    "to": self._one(concepts),
                    "kind": self.rng.choice(("causes", "related_to")),
                    "events": self._some(events),
                }
                for _ in self._few(3)
            ],
        }
        return chat(json.dumps(answer))(asked)

    def _few(self, most: int) -> range:
        return range(self.rng.randint(0, most))

    def _one(self, shown: list[dict[str, Any]]) -> int:
        return self.rng.randint(1, max(1, len(shown) + (self.rng.random() < 0.1)))

    def _some(self, shown: list[dict[str, Any]], most: int = 3) -> list[int]:
        return [self._one(shown) for _ in range(self.rng.randint(1, most))]

    def _words(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        event = self.rng.choice(events)
        said = event["text"].split(": ", 1)[1]
        return {
            "label": " ".join(self.rng.sample(WORDS, 2)),
            "description": said[:80],
            "quotes": [{"event": event["number"], "quote": said}],
        }


def everything(memory: Memory) -> list[Any]:
    views = [memory.concepts.get(one.id) for one in memory.concepts.list(limit=500)]
    journal = [(entry.id, entry.action, entry.debt, entry.undone) for entry in memory.concepts.journal(limit=5_000)]
    return [[(view.concept, view.grounds, view.edges) for view in views], journal]


@pytest.mark.parametrize("seed", range(effort(2, 8)))
def test_the_graph_stays_whole_and_is_the_same_anew(seed: int) -> None:
    rng, clock = random.Random(seed), MovedClock()
    with (
        warnings.catch_warnings(action="ignore"),
        serving(Guessing(seed)) as server,
        remembering(server, clock, embedder="hashing", llm_extract=False) as memory,
    ):
        ids: list[str] = []
        for _ in range(ROUNDS):
            for _ in range(EVENTS):
                clock.pass_by(hours=5)
                ids.append(memory.add(f"{' '.join(rng.sample(WORDS, 5))} {len(ids)}", speaker="Ana", at=clock()).id)
            memory.admin.settle()
            report = memory.admin.verify()
            assert report.ok, report.problems
        proposed = [one for one in memory.concepts.journal(limit=5_000) if one.debt is Debt.PROPOSAL]
        assert proposed  # or nothing was tried
        before = everything(memory)
        memory.admin.rebuild()
        assert everything(memory) == before
        memory.concepts.undo(rng.choice(proposed).id)
        memory.forget(ids=rng.sample(ids, 3))
        clock.pass_by(days=1)
        before = everything(memory)
        memory.admin.rebuild()
        assert everything(memory) == before
        assert memory.admin.verify().ok
