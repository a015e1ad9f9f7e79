"""What events state helps to find them: by statements, and the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from tests.fences import inside

from everyword import Memory
from everyword.models.tokenizers import load_tokenizer
from everyword.retrieval.config import HYBRID
from everyword.types.events import Hit

_CHATTER = "We talked for hours about the trip, the weather, her cousin's wedding, old films and the price of flour. "


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing") as memory:
        yield memory


def stages(hit: Hit) -> dict[str, str]:
    return {score.stage: score.why for score in hit.scores}


def keys(hits: Sequence[Hit]) -> list[str | None]:
    return [hit.event.key for hit in hits]


# Statements


def test_an_event_that_states_what_is_asked_says_so(memory: Memory) -> None:
    memory.add("I live in Lisbon.", speaker="Ana", key="lives")
    memory.add("Lisbon has fine trams.", speaker="Bo", key="trams")
    hits = {hit.event.key: hit for hit in memory.recall("Does Ana live in Lisbon?")}
    assert "statement" in stages(hits["lives"])["statements"]
    assert "statements" not in stages(hits["trams"])


def test_a_statement_within_much_talk_stands_higher_than_its_words_alone_would_put_it() -> None:
    recipe = replace(HYBRID, vectors=None)
    told = []
    for asked in (recipe, replace(recipe, statements=None)):
        with Memory.open(":memory:", embedder="none", recipe=asked) as memory:
            memory.add(f"{_CHATTER * 6}I'm allergic to walnuts. {_CHATTER * 6}", speaker="Ana", key="stated")
            for number in range(12):
                memory.add(f"Is Ana allergic? Walnuts {number}?", speaker="Bo", key=f"talk{number}")
            told.append(keys(memory.recall("Is Ana allergic to walnuts?", k=13)).index("stated"))
    assert told[0] < told[1]


def test_what_is_filtered_out_does_not_come_back_by_what_it_states_or_is_linked_to(memory: Memory) -> None:
    for session in ("one", "two"):
        memory.add("The launch is on Friday.", speaker="Ana", session=session, key=f"{session}-fact")
        memory.add(
            "We decided to use PostgreSQL for the launch.", speaker="Ana", session=session, key=f"{session}-choice"
        )
    hits = memory.recall("What did we decide for the launch?", session="two")
    assert set(keys(hits)) == {"two-fact", "two-choice"}


# The newest first


def told(memory: Memory, *said: tuple[str, str], speaker: str = "Ana") -> None:
    for number, (key, text) in enumerate(said):
        memory.add(
            text, speaker=speaker, key=key, session=f"s{number}", at=f"2026-0{number + 1}-05T10:00Z", role="user"
        )


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (
            "How many pages of the Dune novel have I read?",
            "I've read 120 pages of the Dune novel.",
            "I've read 310 pages of Dune now.",
        ),
        ("How often do I swim?", "I swim twice a week, mostly on Mondays.", "I swim every day now."),
        (
            "What is my current rank in the chess club?",
            "My rank in the chess club is ninth.",
            "My rank in the chess club is fourth.",
        ),
        ("How many jars of honey do I have so far?", "I have 12 jars of honey.", "I have 15 jars of honey now."),
    ],
)
def test_asked_how_things_stand_the_newer_statement_comes_first(
    memory: Memory, question: str, old: str, new: str
) -> None:
    told(memory, ("old", old), ("new", new))
    hits = memory.recall(question, now="2026-06-01")
    assert keys(hits)[:2] == ["new", "old"]
    assert hits[0].score >= hits[1].score


def test_a_hit_that_moved_up_says_why(memory: Memory) -> None:
    told(
        memory,
        ("old", "I have 12 jars of honey in the cellar, honey jars everywhere."),
        ("new", "I have 15 jars of honey in the cellar now."),
    )
    first, second = memory.recall("How many jars of honey do I have in the cellar, honey jars everywhere?")[:2]
    assert (first.event.key, second.event.key) == ("new", "old")
    assert second.event.id in stages(first)["newest"]
    assert "newest" not in stages(second)


@pytest.mark.parametrize(
    "question",
    [
        "How many jars of honey did I have before?",
        "How many jars of honey did I have at first?",
        "How many jars of honey did I have in January?",
        "How many jars of honey did I originally have?",
        "Which jars of honey are there?",
    ],
)
def test_asked_for_anything_else_the_order_is_that_of_the_match(memory: Memory, question: str) -> None:
    told(memory, ("old", "I have 12 jars of honey."), ("new", "I have 15 jars of honey now."))
    assert all("newest" not in stages(hit) for hit in memory.recall(question, now="2026-06-01"))


def test_another_speaker_or_another_matter_is_no_news(memory: Memory) -> None:
    told(memory, ("mine", "I have 12 jars of honey in the cellar."))
    memory.add("I have 40 jars of honey in the cellar now.", speaker="Bo", key="his", at="2026-05-01", role="user")
    memory.add("I have 3 cats now.", speaker="Ana", key="cats", at="2026-05-01", role="user")
    hits = memory.recall("How many jars of honey do I have in the cellar?")
    assert all("newest" not in stages(hit) for hit in hits)


def test_few_hits_are_the_newest_ones_too(memory: Memory) -> None:
    told(
        memory,
        ("old", "I have 12 jars of honey in the cellar, honey jars everywhere."),
        ("new", "I have 15 jars of honey in the cellar now."),
    )
    assert keys(memory.recall("How many jars of honey do I have in the cellar, honey jars everywhere?", k=1)) == ["new"]


# What is known now, at the head of a context


@pytest.fixture
def moved() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing", tokenizer="words", clock=lambda: datetime.now(UTC)) as memory:
        memory.add("I live in Lisbon.", speaker="Ana", at="2026-01-05", session="a", key="lisbon")
        memory.add("I live in Porto now.", speaker="Ana", at="2026-03-05", session="b", key="porto")
        memory.add("Where does Ana live? Somebody said Porto has bridges.", speaker="Bo", at="2026-03-06", key="talk")
        yield memory


def test_a_context_begins_with_what_holds_now(moved: Memory) -> None:
    context = moved.context("Where does Ana live?")
    assert inside(context.text).startswith("What holds now\n[1] Ana: I live in Porto now. (5 March 2026)\n\n5 January")
    assert [citation.key for citation in context.citations] == ["porto", "lisbon", "talk"]
    for citation in context.citations:
        assert moved.get(citation.event_id).text[slice(*citation.span)] in context.text
    assert context.text.count("I live in Porto") == 1
    assert "What holds now" not in moved.context("Where did Ana live before?").text
    assert "What holds now" not in moved.context("What does Bo like?").text


def test_what_may_be_one_day_is_not_what_holds_now() -> None:
    with Memory.open(":memory:", redact="none") as memory:
        memory.add("I go to the gym twice a week.", speaker="Ana", session="a", at="2026-01-05")
        memory.add(
            "Maybe I could go to the gym four times a week some day.", speaker="Ana", session="b", at="2026-04-05"
        )
        text = inside(memory.context("How often do I go to the gym?", 300, now="2026-06-01").text)
    assert text.startswith("What holds now\n[1] Ana: I go to the gym twice a week.")
    assert "four times" not in text.partition("\n\n")[0]


def test_what_is_over_is_no_news_where_its_successor_may_not_be_seen(moved: Memory) -> None:
    context = moved.context("Where does Ana live?", session="a")
    assert inside(context.text) == "5 January 2026\n[1] Ana: I live in Lisbon."


@pytest.mark.slow
def test_whatever_leads_the_budget_holds(moved: Memory) -> None:
    led = 0
    for budget in range(1, 120):
        context = moved.context("Where does Ana live?", budget)
        assert context.tokens == load_tokenizer("words").count(context.text) <= budget
        assert len(context.citations) == inside(context.text).count("\n[") + inside(context.text).startswith("[")
        led += inside(context.text).startswith("What holds now")
    assert 0 < led < 119


# Standing instructions


@pytest.fixture(scope="module")
def instructed() -> Iterator[Memory]:
    with Memory.open(":memory:", redact="none") as memory:
        told = [
            ("user", "From now on always put amounts in euros, never in dollars.", "flat"),
            ("assistant", "Understood. Please always send me the invoices as PDF from now on.", "flat"),
            ("user", "My sister Ines lives in Lyon.", "flat"),
            ("user", "Always reply to my team in Spanish.", "work"),
        ]
        for number, (role, text, wing) in enumerate(told):
            memory.add(text, role=role, wing=wing, session=wing, at=f"2026-03-0{number + 1}", key=text.split()[0])
        for number in range(30):
            memory.add(f"The amounts of the bill for month {number} were high.", role="tool", session="bills")
        memory.admin.settle()
        yield memory


def test_a_context_names_the_standing_instructions_that_bear_on_the_request(instructed: Memory) -> None:
    text = inside(instructed.context("make me a table with the amounts of the last bills", 400).text)
    assert text.startswith("Standing instructions\n[1] User: From now on always put amounts in euros")
    assert "PDF" not in text.partition("\n\n")[0], "an assistant instructs nobody"
    assert "Standing instructions" not in instructed.context("Where does Ines live?", 400).text


def test_an_instruction_ends_the_hits_of_a_request(instructed: Memory) -> None:
    hits = instructed.recall("make me a table with the amounts of the last bills", k=10)
    assert len(hits) == 10
    (rule,) = [hit for hit in hits if hit.event.key == "From"]
    if hits.index(rule) == 9:
        assert "a standing instruction" in stages(rule)["instruction"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_an_instruction_of_another_wing_or_a_later_time_is_not_told(instructed: Memory) -> None:
    for where in ({"wing": "work"}, {"session": "bills"}, {"until": "2026-02-01"}, {"as_of": "2026-01-01"}):
        context = instructed.context("make me a table with the amounts of the last bills", 400, **where)
        assert "euros" not in context.text


def test_an_instruction_is_told_though_nothing_else_fits(instructed: Memory) -> None:
    context = instructed.context("write to my team that the offsite is cancelled", 400, session="work")
    assert "Always reply to my team in Spanish." in context.text


def test_a_context_is_as_sure_as_the_answer_would_be() -> None:
    with Memory.open(":memory:") as memory:
        memory.add("Jonas and I are driving to Uppsala next weekend.", speaker="Nora", at="2026-11-04")
        memory.add("I am a nurse at Karolinska.", speaker="Nora", at="2026-11-05")
        memory.add("My dog is called Pudding.", speaker="Nora", at="2026-11-06")
        memory.admin.settle()
        assert memory.recall("What car does Nora drive?").confidence > 0.6
        assert memory.context("What car does Nora drive?").text.startswith("Confidence: unsure.")
        assert memory.context("What is Nora's dog called?").text.startswith("Confidence: likely.")


# Layers


def test_a_layered_context_goes_from_sessions_to_facts_to_lines() -> None:
    with Memory.open(":memory:", redact="none") as memory:
        said = [
            ("a", "2026-01-05", "I live in Lisbon."),
            ("a", "2026-01-05", "I work for Northwind as a nurse."),
            ("b", "2026-03-05", "I moved to Porto last week."),
            ("b", "2026-03-05", "My sister Ines has a boat there, we sail on Sundays."),
        ]
        for session, at, text in said:
            memory.add(text, speaker="Ana", session=session, at=at, key=text)
        memory.admin.settle()
        context = memory.context("Where does Ana live, and where does she work?", 400, style="layered")
        first, facts, *_ = inside(context.text).split("\n\n")
        assert first.startswith("What the sessions were about\n[1] Ana: ")
        assert "Lisbon" not in first, "what is over is no summary of what holds"
        assert "boat" not in first + facts, "it has nothing to do with the question"
        assert facts.startswith("Facts\n")
        assert "Ana: I moved to Porto last week." in facts
        assert len({(one.event_id, one.span) for one in context.citations}) == len(context.citations)
        assert "Facts" not in memory.context("Where does Ana live?", 400).text
        for budget in (1, 40, 120):
            assert memory.context("Where does Ana live?", budget, style="layered").tokens <= budget
        before = memory.context("Where does Ana live?", 400, style="layered", until="2026-02-01")
        assert "Porto" not in before.text
