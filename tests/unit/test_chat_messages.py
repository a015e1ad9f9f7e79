"""Chat messages as the SDKs have them: what becomes an event, in which order, and what is refused."""

from __future__ import annotations

import pytest

from everyword import Memory
from everyword.errors import InvalidInput

AT = "2026-04-02T10:00Z"
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "name": "Ana", "content": [{"type": "text", "text": "Look:"}, {"type": "image_url"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look it up."},
            {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "cat"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "A cat."}]},
    {"role": "assistant", "content": "ok"},
    {"role": "user", "content": "ok", "timestamp": AT},
]


def test_a_message_alone_is_refused_with_what_to_do() -> None:
    alone = {"role": "user", "content": "Hello."}
    with Memory.open(":memory:", embedder="none") as memory, pytest.raises(InvalidInput, match="message in a list"):
        memory.add(alone)  # type: ignore[call-overload]


def test_messages_are_kept_in_their_order() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        written = memory.add(MESSAGES, session="s", at=AT)
        assert written.added == 7
        told = [(one.event.role, one.event.speaker, one.event.text) for one in written]
        assert told == [
            ("system", None, "Be brief."),
            ("user", "Ana", "Look:\n[image]"),
            ("assistant", None, "I look it up."),
            ("tool", "search", 'search({"q": "cat"})'),
            ("tool", "search", "A cat."),
            ("assistant", None, "ok"),
            ("user", None, "ok"),
        ]
        assert [one.id for one in memory.events()] == written.ids
        assert written[2].event.meta == {"left_out": {"thinking": 1}}
        assert written[3].event.source == "tool"
        assert memory.add(MESSAGES, session="s", at=AT).added == 0


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        {"content": "no role"},
        {"role": "user", "content": [{"type": "hologram"}]},
        {"role": "user", "content": 7},
        {"role": "user", "content": "x", "mood": "good"},
        {"role": "assistant", "content": "", "tool_calls": ["x"]},
        {"role": "assistant", "content": "", "tool_calls": 5},
        {"role": "assistant", "content": "", "tool_calls": [{"function": "x"}]},
        {"role": "assistant", "content": "", "function_call": "f"},
    ],
)
def test_what_is_not_understood_is_refused(message: object) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        with pytest.raises(InvalidInput, match="Message 0"):
            memory.add([message])  # type: ignore[list-item]
        assert memory.stats().events == 0


def test_a_time_is_that_of_the_member_that_has_one() -> None:
    late = {"role": "user", "content": "Hello.", "at": None, "timestamp": "9999-12-31T23:59:59.999999Z"}
    with Memory.open(":memory:", embedder="none") as memory:
        assert memory.add([late])[0].event.at.year == 9999
        with pytest.raises(InvalidInput, match="Message 1: the same words were said before"):
            memory.add([late, late])
