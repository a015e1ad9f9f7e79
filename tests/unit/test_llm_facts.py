"""Facts that an LLM reads: by the names of the turn, in its words, and closed or opened like all others."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from effort import effort
from everyword import Memory
from everyword.knowledge.llm.grounding import GLEAN, prompt
from everyword.models.protocol import Reply
from llm_memory import MONDAY, MovedClock, remembering
from llm_server import Asked, LLMServer, Step, chat, serving

PORTO = "Boxes everywhere! Oh Porto, since March, what a river, what hills!"
SIEMENS = "Big news from Maria: Siemens took her on last week."


def fact(quote: str, subject: str, relation: str, object: str, **more: Any) -> dict[str, Any]:
    given = {
        "quote": quote,
        "subject": subject,
        "relation": relation,
        "object": object,
        "course": "holds",
        "from": None,
        "to": None,
        "confidence": 0.9,
    }
    return given | more


MOVED = fact("Porto, since March", "Ana", "lives_in", "Porto", **{"course": "began", "from": "since March"})
HIRED = fact(
    "Siemens took her on last week", "Maria", "works_at", "Siemens", **{"course": "began", "from": "last week"}
)


def claiming(found: Mapping[str, Sequence[dict[str, Any]]]) -> Step:
    """Answer each text with facts; the second pass finds nothing."""

    def step(asked: Asked):
        text = json.loads(asked.prompt)["turn"]["text"]
        facts = [] if asked.system == prompt(GLEAN) else list(found.get(text, ()))
        return chat(json.dumps({"statements": [], "facts": facts}))(asked)

    return step


def of_llm(memory: Memory) -> list[tuple[str, str, str]]:
    return [
        (one.subject_name, one.relation, one.object_name)
        for one in memory.facts()
        if any(source.extractor.startswith("llm/") for source in one.sources)
    ]


def refusals(memory: Memory) -> int:
    with memory.scope.engine.store.reader("default") as reader:
        return reader.change_counts().get("reject", 0)


def everything(memory: Memory) -> list[Any]:
    return [(one.id, one.valid_from, one.valid_to, one.conflicts, len(one.sources)) for one in memory.facts()]


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving(claiming({PORTO: [MOVED], SIEMENS: [HIRED]})) as server:
        yield server


def test_it_finds_a_fact_that_the_reader_does_not_and_dates_it_by_the_words_that_were_said(
    server: LLMServer, clock: MovedClock
) -> None:
    with remembering(server, clock) as memory:
        memory.add("I live in Lisbon.", speaker="Ana", at="2025-11-02T10:00Z")
        memory.add(PORTO, speaker="Ana", at=MONDAY)
        memory.admin.settle()
        assert of_llm(memory) == [("Ana", "lives_in", "Porto")]
        lisbon, porto = memory.facts("Ana", "lives_in")
        assert (lisbon.object_name, porto.object_name) == ("Lisbon", "Porto")
        assert porto.valid_from is not None
        assert (porto.valid_from.year, porto.valid_from.month) == (2026, 3)
        assert lisbon.valid_to == porto.valid_from  # one home at a time: the new one closes the old
        assert porto.open
        assert porto.sources[0].quote == "Porto, since March"
        assert porto.sources[0].confidence <= 0.8
        assert memory.admin.verify().ok


def test_a_name_of_the_table_leads_to_the_name_in_the_turn(clock: MovedClock) -> None:
    by_full_name = HIRED | {"subject": "Maria Silva"}
    with serving(claiming({SIEMENS: [by_full_name]})) as server, remembering(server, clock) as memory:
        memory.add("Maria Silva is my oldest friend.", speaker="Ana")
        memory.add(SIEMENS, speaker="Ana")
        memory.admin.settle()
        shown = next(
            entities
            for asked in server.asked
            if (told := json.loads(asked.prompt))["turn"]["text"] == SIEMENS and (entities := told["entities"])
        )
        (maria,) = [one for one in shown if "Maria" in one["name"]]
        assert {maria["name"], *maria["also_called"]} == {"Maria Silva", "Maria"}
        assert of_llm(memory) == [("Maria Silva", "works_at", "Siemens")]


def test_what_the_reader_found_already_stays_its_own(clock: MovedClock) -> None:
    same = fact("I live in Lisbon", "Ana", "lives_in", "Lisbon")
    with serving(claiming({"I live in Lisbon.": [same]})) as server, remembering(server, clock) as memory:
        memory.add("I live in Lisbon.", speaker="Ana")
        before = everything(memory)
        memory.admin.settle()
        assert everything(memory) == before
        assert "Ana lives in Lisbon" in json.loads(server.asked[0].prompt)["noted"]


INVENTED = {
    "a quote that nobody said": MOVED | {"quote": "Porto, since April"},
    "a quote with a letter changed": MOVED | {"quote": "Porto, since march"},
    "an object outside the quote": MOVED | {"quote": "no regrets so far"},
    "somebody whom the turn does not name": MOVED | {"subject": "Maria"},
    "a place that the turn does not name": MOVED | {"object": "Madrid"},
    "words that the quote does not have": MOVED | {"relation": "likes", "object": "sailing"},
    "a person as a home": fact("Porto, since March", "Ana", "married_to", "Porto"),
    "itself": fact("Porto, since March", "Porto", "located_in", "Porto"),
    "a quote that shows nothing": MOVED | {"quote": "Por"},
}


@pytest.mark.parametrize("what", INVENTED)
def test_nothing_that_it_makes_up_gets_in_and_each_is_counted(what: str, clock: MovedClock) -> None:
    with serving(claiming({PORTO: [INVENTED[what]]})) as server, remembering(server, clock) as memory:
        memory.add(PORTO, speaker="Ana", at=MONDAY)
        memory.admin.settle()
        assert of_llm(memory) == []
        assert refusals(memory) == 1
        memory.admin.rebuild()
        assert refusals(memory) == 1


def test_what_is_still_to_come_is_no_fact_yet(clock: MovedClock) -> None:
    text = "Porto from next month on, at last."
    soon = fact("Porto from next month on", "Ana", "lives_in", "Porto", **{"course": "began", "from": "next month"})
    with serving(claiming({text: [soon]})) as server, remembering(server, clock) as memory:
        memory.add(text, speaker="Ana", at=MONDAY)
        memory.admin.settle()
        assert (of_llm(memory), refusals(memory)) == ([], 1)


def test_a_relation_that_is_not_of_the_vocabulary_is_garbage_and_the_job_waits(clock: MovedClock) -> None:
    with serving(claiming({PORTO: [MOVED | {"relation": "haunts"}]})) as server, remembering(server, clock) as memory:
        memory.add(PORTO, speaker="Ana", at=MONDAY)
        with pytest.warns(UserWarning, match="is postponed"):
            memory.admin.settle()
        assert of_llm(memory) == []
        assert memory.stats().pending == 1


def test_two_homes_of_one_moment_are_a_conflict_and_never_two_open_facts(clock: MovedClock) -> None:
    text = "Porto or Lisbon, people ask; Porto it is, and Lisbon it is."
    both = [
        fact("Porto it is", "Ana", "lives_in", "Porto"),
        fact("Lisbon it is", "Ana", "lives_in", "Lisbon"),
    ]
    with serving(claiming({text: both})) as server, remembering(server, clock) as memory:
        memory.add(text, speaker="Ana", at=MONDAY)
        memory.admin.settle()
        homes = [one for one in memory.facts("Ana", "lives_in") if one.open]
        assert len(homes) <= 1 or all(one.conflicts for one in homes)
        assert memory.admin.verify().ok


def test_rebuild_comes_to_the_same_facts_and_asks_nobody(server: LLMServer, clock: MovedClock) -> None:
    with remembering(server, clock) as memory:
        memory.add("I live in Lisbon.", speaker="Ana", at="2025-11-02T10:00Z")
        memory.add(PORTO, speaker="Ana", at=MONDAY)
        memory.add(SIEMENS, speaker="Ana", at=MONDAY)
        memory.admin.settle()
        before, asked = everything(memory), len(server.asked)
        assert len(of_llm(memory)) == 2
        memory.admin.rebuild()
        assert everything(memory) == before
        assert len(server.asked) == asked


def test_forgetting_the_turn_takes_its_facts_along(server: LLMServer, clock: MovedClock) -> None:
    with remembering(server, clock) as memory:
        memory.add("I live in Lisbon.", speaker="Ana", at="2025-11-02T10:00Z")
        said = memory.add(PORTO, speaker="Ana", at=MONDAY)
        memory.admin.settle()
        memory.forget(ids=[said.id])
        (lisbon,) = memory.facts("Ana", "lives_in")
        assert (lisbon.object_name, lisbon.open) == ("Lisbon", True)
        assert memory.admin.verify().ok


def test_the_window_is_in_the_prompt_and_nothing_of_it_that_came_later(clock: MovedClock) -> None:
    with serving(claiming({})) as server, remembering(server, clock) as memory:
        memory.add("I have to send the grant report to Tomas by Friday.", speaker="Ana", session="work", at=MONDAY)
        clock.pass_by(hours=1)
        memory.add(PORTO, speaker="Ana", session="home", at=clock())
        clock.pass_by(hours=1)
        memory.add("The cellar is flooded again, what a mess.", speaker="Ana", session="home", at=clock())
        memory.admin.settle()
        shown = {(told := json.loads(asked.prompt))["turn"]["text"]: told["window"] for asked in server.asked}
        assert any("grant report" in line for line in shown[PORTO])
        assert not any("cellar" in line or "Boxes" in line for line in shown[PORTO])


class Guessing:
    """An LLM of the caller's own that reads homes and friends into whatever names it sees, right or wrong."""

    name = "guessing"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def complete(self, *, system: str, prompt: str, **_: Any) -> Reply:
        text = json.loads(prompt)["turn"]["text"]
        dice = random.Random(f"{self.seed} {text} {system[:40]}")  # the same text gets the same answer
        return Reply(
            text=json.dumps({"statements": [], "facts": [self._fact(dice, text) for _ in range(dice.randrange(4))]}),
            tokens_in=9,
            tokens_out=9,
            model="g",
        )

    def stream(self, **_: Any) -> Iterator[str]:
        return iter(())

    def _fact(self, dice: random.Random, text: str) -> dict[str, Any]:
        relation, objects = dice.choice((("lives_in", TOWNS), ("friend_of", PEOPLE), ("likes", ("jazz", "rain"))))
        return fact(
            dice.choice((text, text[: len(text) // 2], text + "!")),
            dice.choice(("I", *PEOPLE)),
            relation,
            dice.choice(objects),
            course=dice.choice(("holds", "began", "ended", "happened")),
            **{"from": dice.choice((None, "last week", "in March")), "to": dice.choice((None, "yesterday"))},
        )


TOWNS, PEOPLE = ("Lisbon", "Porto", "Oslo"), ("Maria", "Bruno", "Maria Silva")
SAID = (
    "{town} again, with {person}, since last week",
    "{person}, {town}, jazz: what more",
    "Rain in {town} in March, says {person}",
    "I live in {town}",
    "{person} lives in {town}",
    "So much jazz, {person}",
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(effort(1, 3)))
def test_read_late_early_or_in_bits_the_facts_are_the_same_as_rebuilt(seed: int) -> None:
    dice = random.Random(seed)
    said = [
        {
            "text": dice.choice(SAID).format(town=dice.choice(TOWNS), person=dice.choice(PEOPLE)) + f" ({number}).",
            "speaker": dice.choice(("Ana", "Bruno")),
            "session": "s",
            "at": MONDAY + timedelta(days=number + dice.randrange(-2, 3)),
        }
        for number in range(10)
    ]
    told: list[Any] = []
    for batch in (10, 3, 1):
        opened = Memory.open(":memory:", embedder="none", llm=Guessing(seed), clock=MovedClock(), llm_fold=False)
        with opened as memory:
            for start in range(0, len(said), batch):
                memory.add_many(said[start : start + batch])
                memory.admin.settle()
            told.append(everything(memory))
            assert of_llm(memory)
            memory.admin.rebuild()
            assert everything(memory) == told[-1]
            memory.forget(ids=[event.id for event in list(memory.events())[:: dice.randrange(2, 5)]])
            assert memory.admin.verify().ok
            memory.admin.settle()
            left = everything(memory)
            memory.admin.rebuild()
            assert everything(memory) == left
            assert memory.admin.verify().ok
    assert told[0] == told[1] == told[2]
