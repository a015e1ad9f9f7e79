"""What an LLM reads and writes, on a server as in a file: kept, rebuilt without it, and forgotten with its events."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from everyword import Memory
from llm_memory import MONDAY, MovedClock, remembering
from llm_server import Asked, chat, serving

TALK = (
    "The boiler broke down again.",
    "The boiler lost pressure this morning.",
    "There is no hot water, the boiler failed for the third time.",
    "The boiler stopped working in the night. Porto since March!",
)
EXTRACTED = {
    "quote": "Porto since March",
    "subject": "Ana",
    "relation": "lives_in",
    "object": "Porto",
    "course": "began",
    "from": "since March",
    "to": None,
    "confidence": 0.9,
}


def _answer(asked: Asked):
    """Find a fact, summarise by the first turn, and word the concept of the first event."""
    shown = json.loads(asked.prompt)
    answer: dict[str, Any] = {"statements": [], "facts": []}
    if "turns" in shown:
        answer = {"sentences": [{"text": "The boiler broke down again.", "turns": [1]}]}
    elif "concepts" in shown:
        event = next(one for one in shown["events"] if "broke down" in one["text"])
        words = {
            "concept": event["concepts"][0],
            "label": "boiler repairs",
            "description": "The boiler broke down again",
            "quotes": [{"event": event["number"], "quote": "The boiler broke down"}],
        }
        answer = {"words": [words], **{part: [] for part in ("removes", "merges", "concepts", "members", "links")}}
    elif "Porto" in shown["turn"]["text"]:
        answer["facts"] = [EXTRACTED]
    return chat(json.dumps(answer))(asked)


def _told(memory: Memory) -> Any:
    return (
        [(one.object_name, one.valid_from) for one in memory.facts("Ana", "lives_in")],
        [(one.name, one.written) for one in memory.sessions()],
        [(one.id, one.label, one.written_by, one.events) for one in memory.concepts.list()],
    )


@pytest.mark.parametrize("where", ["file", "server"])
def test_it_is_kept_rebuilt_and_forgotten(where: str, location: str, tmp_path: Any) -> None:
    clock = MovedClock()
    place = location if where == "server" else tmp_path / "m.db"
    with serving(_answer) as server, remembering(server, clock, place, embedder=None) as memory:
        ids = [
            memory.add(text, speaker="Ana", session="s", at=MONDAY - timedelta(days=9 - day)).id
            for day, text in enumerate(TALK)
        ]
        clock.pass_by(minutes=11)
        memory.admin.settle()
        facts, sessions, concepts = before = _told(memory)
        assert [name for name, _ in facts] == ["Porto"]
        assert [one.event_ids for one in sessions[0][1]] == [(ids[0],)]
        assert ("boiler repairs", "llm/plan.v3 served-model") in [one[1:3] for one in concepts]
        assert memory.admin.jobs() == []
        memory.admin.rebuild()
        assert _told(memory) == before
        memory.forget(ids=[ids[0]])
        _, sessions, concepts = _told(memory)
        assert sessions[0][1] == ()
        assert "boiler repairs" not in [one[1] for one in concepts]
        assert memory.admin.verify().ok
