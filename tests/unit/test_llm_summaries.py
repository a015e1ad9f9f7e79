"""Summaries that an LLM writes: each sentence cites who said it, none gets in that nobody said, and none is needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from everyword import Memory, WrittenSentence
from everyword.interfaces.cli import main
from everyword.knowledge.llm import plans
from llm_memory import MISBEHAVING, MovedClock, remembering
from llm_server import Asked, LLMServer, Step, chat, serving

TALK = (
    "We decided to move the radar to the new mast in June.",
    "Tomas will order the cable by Friday.",
    "The old mast is not safe any more.",
    "Lunch was great, by the way.",
)
MAST = {"text": "They decided to move the radar to the new mast in June.", "turns": [1]}
CABLE = {"text": "Tomas will order the cable by Friday.", "turns": [2]}


def writing(*sentences: dict[str, Any]) -> Step:
    """Answer what is shown as turns with these sentences, and leave concepts as they are."""

    def step(asked: Asked):
        nothing = {part: [] for part in plans.SCHEMA["properties"]}
        answer = {"sentences": list(sentences)} if is_of_a_session(asked) else nothing
        return chat(json.dumps(answer))(asked)

    return step


def is_of_a_session(asked: Asked) -> bool:
    return '"turns"' in asked.prompt


def times_asked(server: LLMServer) -> int:
    """Count the summaries that were asked for; concepts have tests of their own."""
    return sum(is_of_a_session(asked) for asked in server.asked)


def hold(memory: Memory, texts: Sequence[str] = TALK, session: str = "mast") -> list[str]:
    return [memory.add(text, speaker="Ana", session=session).id for text in texts]


def written(memory: Memory, session: str = "mast") -> tuple[WrittenSentence, ...]:
    return next(one.written for one in memory.sessions() if one.name == session)


def offline(memory: Memory) -> list[str]:
    return [theme.text for one in memory.sessions() for theme in one.summary]


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


def test_it_is_written_when_the_session_is_quiet_and_each_sentence_names_its_events(clock: MovedClock) -> None:
    with serving(writing(MAST, CABLE)) as server, remembering(server, clock, llm_extract=False) as memory:
        ids = hold(memory)
        before = offline(memory)
        memory.admin.settle()
        assert (written(memory), times_asked(server)) == ((), 0)  # it may go on
        clock.pass_by(minutes=11)
        assert memory.admin.settle() == 1
        assert written(memory) == (
            WrittenSentence(text=MAST["text"], event_ids=(ids[0],)),
            WrittenSentence(text=CABLE["text"], event_ids=(ids[1],)),
        )
        assert offline(memory) == before  # what rules made stays beside it
        shown = json.loads(next(filter(is_of_a_session, server.asked)).prompt)
        assert [turn["text"] for turn in shown["turns"]] == list(TALK)
        assert memory.stats().pending == 0
        assert memory.admin.settle() == 0
        assert memory.admin.verify().ok


WRONG = {
    "no citation": MAST | {"turns": []},
    "a turn that is not there": MAST | {"turns": [99, 0, -1]},
    "a turn that says something else": MAST | {"turns": [4]},
    "a number that nobody said": {"text": "They decided to move the radar to 3 masts in June.", "turns": [1]},
    "a name that nobody said": {"text": "They and Beatriz decided to move the radar to the new mast.", "turns": [1]},
    "nothing": {"text": "  ", "turns": [1]},
    "what is no text": {"text": "They decided to move the radar\x00 to the new mast \ud800.", "turns": [1]},
    "a number beyond all": {"text": MAST["text"], "turns": [10**30]},
    "a page": {"text": "mast " * 200, "turns": [1]},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_sentence_without_a_citation_that_says_it_is_dropped_and_counted(what: str, clock: MovedClock) -> None:
    with serving(writing(WRONG[what], CABLE)) as server, remembering(server, clock, llm_extract=False) as memory:
        hold(memory)
        clock.pass_by(minutes=11)
        memory.admin.settle()
        assert [one.text for one in written(memory)] == [CABLE["text"]]
        with memory.scope.engine.store.reader("default") as reader:
            assert reader.refusals() == 1


def test_it_is_stale_when_the_session_grows_and_written_anew_after_so_many_events(clock: MovedClock) -> None:
    with serving(writing(MAST)) as server, remembering(server, clock, llm_extract=False) as memory:
        hold(memory)
        clock.pass_by(minutes=11)
        memory.admin.settle()
        assert written(memory)
        hold(memory, ["One more thing about the crane."])
        assert written(memory) == ()
        assert offline(memory)
        clock.pass_by(minutes=11)
        memory.admin.settle()
        assert times_asked(server) == 1  # one event more is not worth another page of tokens yet
        hold(memory, [f"The crane number {n} was late again." for n in range(20)])
        memory.admin.settle()
        assert times_asked(server) == 2
        assert written(memory)
        hold(memory, ["And that was the last word."])
        clock.pass_by(hours=7)
        memory.admin.settle()
        assert times_asked(server) == 3
        assert written(memory)


def test_short_sessions_and_identities_are_not_sent(clock: MovedClock) -> None:
    with serving(writing(MAST)) as server, remembering(server, clock, llm_extract=False) as memory:
        hold(memory, TALK[:3])
        for n in range(5):
            memory.identity(f"I am Ana, and this is who I am for the {n}. time.")
        clock.pass_by(days=1)
        memory.admin.settle()
        assert times_asked(server) == 0


@pytest.mark.parametrize("how", MISBEHAVING)
def test_whatever_the_model_does_the_rules_summary_stays_and_the_job_waits(how: str, clock: MovedClock) -> None:
    with serving(MISBEHAVING[how]) as server, remembering(server, clock, llm_extract=False) as memory:
        hold(memory)
        before = offline(memory)
        clock.pass_by(minutes=11)
        with pytest.warns(UserWarning, match="is postponed"):
            memory.admin.settle()
        assert (written(memory), offline(memory)) == ((), before)
        (job,) = memory.admin.jobs()
        assert (job.kind, job.attempts) == ("summarise", 1)
        server.script = [writing(MAST)]
        clock.pass_by(hours=2)
        memory.admin.settle()
        assert written(memory)
        assert memory.admin.jobs() == []


def test_doctor_says_what_waits_and_why(tmp_path: Any, clock: MovedClock, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(MISBEHAVING["down"]) as server:
        with remembering(server, clock, tmp_path / "m.db", llm_extract=False) as memory:
            hold(memory)
            clock.pass_by(minutes=11)
            with pytest.warns(UserWarning, match="is postponed"):
                memory.admin.settle()
        main(["--memory", str(tmp_path / "m.db"), "--embedder", "none", "doctor"])
    told = " ".join(capsys.readouterr().out.split())
    assert "1 session not yet summarised by an LLM" in told


def test_rebuild_keeps_it_and_asks_nobody(clock: MovedClock) -> None:
    with serving(writing(MAST)) as server, remembering(server, clock, llm_extract=False) as memory:
        hold(memory)
        clock.pass_by(minutes=11)
        memory.admin.settle()
        before = written(memory)
        memory.admin.rebuild()
        assert written(memory) == before
        assert times_asked(server) == 1


def test_forgetting_an_event_takes_what_was_written_of_its_session_along(tmp_path: Any, clock: MovedClock) -> None:
    secret = {"text": "Ana paid Nakamura for the mast.", "turns": [1]}
    with serving(writing(secret)) as server:
        with remembering(server, clock, tmp_path / "m.db", llm_extract=False) as memory:
            ids = hold(memory, ["I paid Nakamura for the mast.", *TALK])
            clock.pass_by(minutes=11)
            memory.admin.settle()
            assert [one.text for one in written(memory)] == [secret["text"]]
            server.script = [writing(MAST)]
            memory.forget(ids=[ids[0]])
            assert written(memory) == ()
            assert memory.admin.verify().ok
            assert memory.stats().pending == 1
            memory.admin.settle()
            assert [one.text for one in written(memory)] == [MAST["text"]]
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"Nakamura" not in stored


def test_forgetting_the_first_event_of_a_session_leaves_its_summary_to_be_written(clock: MovedClock) -> None:
    with serving(writing(MAST)) as server, remembering(server, clock, llm_extract=False) as memory:
        ids = hold(memory, ["I paid Nakamura for the mast.", *TALK])
        memory.forget(ids=[ids[0]])
        clock.pass_by(minutes=11)
        memory.admin.settle()
        assert [one.text for one in written(memory)] == [MAST["text"]]


def test_no_llm_no_job(clock: MovedClock) -> None:
    with Memory.open(":memory:", embedder="none", clock=clock) as memory:
        hold(memory)
        assert memory.stats().pending == 0
    with serving(writing(MAST)) as server, remembering(server, clock, llm_extract=False, llm_fold=False) as memory:
        hold(memory)
        clock.pass_by(days=1)
        assert (memory.admin.settle(), server.asked) == (0, [])


@pytest.mark.slow
def test_a_very_long_session_is_shown_in_part_from_its_first_turn_to_its_last(clock: MovedClock) -> None:
    texts = [f"Turn number {n} about the mast and the crane. " + "It was long. " * 30 for n in range(150)]
    short = {"text": "It was about the mast.", "turns": [1]}
    without = {"llm_extract": False, "fold": False, "reader": "none"}
    with serving(writing(short)) as server, remembering(server, clock, **without) as memory:
        memory.add_many([{"text": text, "speaker": "Ana", "session": "mast"} for text in texts])
        memory.admin.settle()
        asked = next(one for one in server.asked if is_of_a_session(one))
        turns = json.loads(asked.prompt)["turns"]
        assert turns[0]["text"].startswith("Turn number 0 ")
        assert turns[-1]["text"].startswith("Turn number 149 ")
        assert len(asked.prompt) < 40_000
        assert written(memory)
