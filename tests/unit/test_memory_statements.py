"""Statements through `Memory`: what is current, how it came so, what was known when, and what forgetting undoes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Thread

import apsw
import pytest

from clocks import Clock
from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.jobs import rebuild as rebuilding
from everyword.knowledge import statements as derive
from everyword.types.events import Span
from everyword.types.statements import History, Statement, StatementKind, Status

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none", clock=clock) as memory:
        yield memory


def say(memory: Memory, *texts: str, speaker: str = "Ana", **fields) -> list[str]:
    """Say things, one a day; give the events' ids."""
    ids: list[str] = []
    for text in texts:
        if isinstance(clock := memory.scope.engine.clock, Clock):
            clock.now += DAY
        ids.append(memory.add(text, speaker=speaker, **fields).id)
    return ids


def the(memory: Memory, words: str) -> Statement:
    """Find the one statement whose quote has these words."""
    (found,) = [one for one in memory.statements(status="any") if words in one.quote]
    return found


def current(memory: Memory, **which) -> list[str]:
    return [one.quote for one in memory.statements(**which)]


def quotes(told: History) -> list[str]:
    return [version.statement.quote for version in told.versions]


def actions(told: History) -> list[list[str]]:
    return [[change.action for change in version.changes] for version in told.versions]


def everything(memory: Memory) -> tuple:
    """Read all that was derived, in an order that does not depend on when it was."""
    statements = sorted(memory.statements(status="any"), key=lambda one: one.id)
    ids = [one.id for one in statements]
    with memory.scope.engine.store.reader(memory.scope.space) as reader:
        chains = {id: [one.id for one in chain] for id, chain in reader.versions(ids).items()}
        changes = {id: reader.changes([id]) for id in ids}
        counts = reader.change_counts()
    return statements, (chains, changes), counts, memory.stats().tags


# A new statement meets what is known


def test_a_move_supersedes_where_somebody_lived(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.")
    assert current(memory) == ["I moved to Porto"]
    lisbon, porto = the(memory, "Lisbon"), the(memory, "Porto")
    assert (lisbon.status, lisbon.valid_from, lisbon.valid_to) == (Status.SUPERSEDED, START + DAY, porto.valid_from)
    assert (porto.status, porto.valid_to, porto.replaces) == (Status.CURRENT, None, lisbon.id)


def test_a_day_that_was_moved_supersedes_the_one_it_had(memory: Memory) -> None:
    say(memory, "The launch of Heron is on January 22.", "The launch of Heron was moved to February 2.")
    assert current(memory) == ["The launch of Heron was moved to February 2"]


def test_saying_it_again_reinforces_and_adds_nothing(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I still live in Lisbon.", "I live in Lisbon.")
    (lisbon,) = memory.statements(status="any")
    assert lisbon.status is Status.CURRENT
    (version,) = memory.history(lisbon.id).versions
    assert [(change.action, change.reason) for change in version.changes] == [
        ("add", "nothing known changes"),
        ("none", "said before"),
        ("none", "said before"),
    ]
    for event in memory.events():  # each of them states it, so it can be corrected from each
        assert quotes(memory.history(events=[event.id])) == ["I live in Lisbon"]


def test_used_to_closes(memory: Memory) -> None:
    say(memory, "I like jazz.", "I used to like jazz.")
    assert current(memory) == []
    likes = the(memory, "I like jazz")
    assert (likes.status, likes.valid_to) == (Status.RETRACTED, START + 2 * DAY)


@pytest.mark.parametrize(
    ("held", "left"), [("I live in Porto.", "I left Porto."), ("I work at Acme.", "I quit my job at Acme.")]
)
def test_leaving_ends_it_and_gives_no_new_value(memory: Memory, held: str, left: str) -> None:
    say(memory, held, left)
    assert the(memory, held.rstrip(".")).status is Status.RETRACTED
    assert [fact.open for fact in memory.facts("Ana")] == [False]
    assert {source.quote for fact in memory.facts("Ana") for source in fact.sources} == {
        held.rstrip("."),
        left.rstrip("."),
    }


def test_a_move_is_a_fact_and_what_it_ended_quotes_it(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.")
    lisbon, porto = memory.facts("Ana", "lives_in")
    assert (lisbon.open, porto.object_name, porto.open) == (False, "Porto", True)
    assert [source.quote for source in lisbon.sources] == ["I live in Lisbon", "I moved to Porto"]
    assert memory.ask("Where does Ana live?").quotes == ("I moved to Porto.",)
    assert memory.ask("Where did Ana live before?").quotes == ("I live in Lisbon.",)


def test_a_heading_is_no_part_of_what_stands_below_it(memory: Memory) -> None:
    say(memory, "Ana\n\nAna lives in Faro. Ana prefers green tea.", "Work\r\n\r\nI work at Acme.")
    assert current(memory) == ["Ana lives in Faro", "Ana prefers green tea", "I work at Acme"]
    assert {one.about for one in memory.statements()} == {"Ana"}


def test_thinking_of_it_changes_nothing(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I'm thinking of moving to Madrid.")
    lisbon = the(memory, "Lisbon")
    assert (lisbon.status, lisbon.valid_to) == (Status.CURRENT, None)
    assert len(memory.history(lisbon.id).versions) == 1


def test_what_was_to_be_done_is_closed_when_it_is_done(memory: Memory) -> None:
    say(memory, "I need to pay the gas bill by Friday.", "I paid the gas bill.")
    assert current(memory, kind="task") == []
    assert the(memory, "need to pay").status is Status.RETRACTED


def test_what_takes_the_place_of_something_supersedes_it(memory: Memory) -> None:
    say(memory, "My phone number is 0151 234.", "My new phone number is 0160 999.")
    assert current(memory) == ["My new phone number is 0160 999"]
    assert the(memory, "0160").replaces == the(memory, "0151").id


def test_a_decision_for_something_else_is_not_taken_for_a_repetition(memory: Memory) -> None:
    said = ["We decided to use PostgreSQL.", "We decided to use MySQL instead of PostgreSQL."]
    say(memory, *said)
    assert "We decided to use MySQL instead of PostgreSQL" in current(memory, kind="decision")


def test_each_person_lives_in_a_place_of_their_own(memory: Memory) -> None:
    say(memory, "I live in Lisbon.")
    say(memory, "I live in Porto.", speaker="Bo")
    say(memory, "I moved to Madrid.", speaker="ana")  # however the name is written
    assert current(memory, about="Bo") == ["I live in Porto"]
    assert current(memory, about="ANA") == ["I moved to Madrid"]


def test_nothing_is_destroyed(memory: Memory) -> None:
    said = ["I live in Lisbon.", "I moved to Porto.", "I moved to Madrid.", "I like jazz.", "I used to like jazz."]
    say(memory, *said)
    assert [event.text for event in memory.events()] == said
    assert [f"{one.quote}." for one in memory.statements(status="any")] == said


@pytest.mark.slow
def test_every_quote_stands_in_its_event_where_its_span_says(memory: Memory) -> None:
    say(
        memory,
        "Hi! I moved to Lisbon in March, and my sister is called Maria 🍵. I don't like coffee any more.",
        "a\x00b. I live in Porto.",
        "x\udfff\ud800y. I work at Acme.",
        "I like tea. " * 500,
        "\r\n\x85\u2028I bought a boat last Tuesday.\u2029",
    )
    listed = memory.statements(status="any")
    assert len(listed) > 5
    for one in listed:
        text = memory.get(one.event_id).text
        assert text[one.span.start : one.span.end] == one.quote
        assert one.quote.strip()
    assert memory.admin.verify().ok


def test_a_date_said_in_passing_is_made_absolute_from_the_events_own_clock(memory: Memory) -> None:
    say(memory, "I adopted a dog last Tuesday.", at="2025-12-23T10:00+02:00")
    (dog,) = memory.statements()
    assert dog.date is not None
    assert dog.date.words == "last Tuesday"
    assert [moment.isoformat() for moment in dog.date[:2]] == ["2025-12-16T00:00:00+02:00", "2025-12-17T00:00:00+02:00"]
    assert dog.valid_from is not None
    assert dog.valid_from.isoformat() == "2025-12-16T00:00:00+02:00"  # the day as the speaker's clock had it


# The story


def test_history_tells_the_story_with_quotes_and_reasons(memory: Memory) -> None:
    ids = say(memory, "I live in Lisbon.", "I still live in Lisbon.", "I moved to Porto.", "I moved to Madrid.")
    for words in ("live in Lisbon", "Porto", "Madrid"):  # from whichever version one asks
        told = memory.history(the(memory, words).id)
        assert quotes(told) == ["I live in Lisbon", "I moved to Porto", "I moved to Madrid"]
        assert actions(told) == [["add", "none", "update"], ["update", "update"], ["update"]]
        assert told.current == the(memory, "Madrid")
    lisbon, porto, _ = told.versions
    assert "'Lisbon'" in lisbon.changes[-1].reason
    assert "'Porto'" in lisbon.changes[-1].reason
    assert [change.event_id for change in lisbon.changes] == ids[:3]
    assert [change.at for change in lisbon.changes] == [START + DAY, START + 2 * DAY, START + 3 * DAY]
    assert porto.changes[0].target_id == lisbon.statement.id


def test_the_history_of_what_ended_has_no_current_version(memory: Memory) -> None:
    say(memory, "I like jazz.", "I used to like jazz.")
    assert memory.history(the(memory, "I like jazz").id).current is None


@pytest.mark.parametrize("id", ["st_nothing", "", "ev_1", 7])
def test_there_is_no_history_of_what_is_not_there(memory: Memory, id) -> None:
    for ask in (memory.statement, memory.history, memory.retract, lambda id: memory.correct(id, "x")):
        with pytest.raises(NotFound):
            ask(id)


# What was known when


def test_as_of_reads_any_past_state(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.", "I used to like jazz.", "I moved to Madrid.")

    def known(days: int, **which) -> list[tuple[str, str]]:
        return [(one.quote, one.status.value) for one in memory.statements(as_of=START + days * DAY, **which)]

    assert known(0, status="any") == []
    assert known(1, status="any") == [("I live in Lisbon", "current")]
    assert known(2) == [("I moved to Porto", "current")]
    assert known(3, status="any") == [
        ("I live in Lisbon", "superseded"),
        ("I moved to Porto", "current"),
        ("I used to like jazz", "retracted"),
    ]
    assert known(4) == known(400) == [("I moved to Madrid", "current")]
    assert known(3, status="superseded") == [("I live in Lisbon", "superseded")]
    (then,) = memory.statements(as_of=START + DAY)
    assert then.valid_to is None  # nobody knew that it would end


def test_when_it_was_said_is_not_when_it_was_learned(memory: Memory) -> None:
    say(memory, "I moved to Porto.", at="2025-12-01T00:00Z")
    say(memory, "I live in Lisbon.", at="2025-11-01T00:00Z")  # an older letter that arrives late
    porto, lisbon = the(memory, "Porto"), the(memory, "Lisbon")
    assert porto.status is Status.CURRENT
    assert (lisbon.status, lisbon.valid_from, lisbon.valid_to) == (
        Status.SUPERSEDED,
        datetime(2025, 11, 1, tzinfo=UTC),
        porto.valid_from,
    )
    assert memory.statements(as_of=lisbon.recorded_at - timedelta(seconds=1), status="any") == [porto]


def test_past_states_stay_as_they_were_after_a_rebuild(memory: Memory, clock: Clock) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.", "I like jazz.")
    clock.now += DAY
    memory.retract(the(memory, "jazz").id)
    before = [memory.statements(as_of=START + days * DAY, status="any") for days in range(6)]
    memory.admin.rebuild()
    assert [memory.statements(as_of=START + days * DAY, status="any") for days in range(6)] == before


# Corrections by hand


def test_a_correction_is_the_next_version(memory: Memory) -> None:
    say(memory, "I live in Lisbon.")
    wrong = the(memory, "Lisbon")
    right = memory.correct(wrong.id, "Ana lives in Faro.")
    assert memory.statements() == [right]
    assert (right.content, right.quote, right.kind) == ("Ana lives in Faro.", "Ana lives in Faro.", wrong.kind)
    assert (right.replaces, right.about, right.confidence) == (wrong.id, "Ana", 1.0)
    assert memory.statement(wrong.id).status is Status.SUPERSEDED
    told = memory.history(wrong.id)
    assert [version.statement.id for version in told.versions] == [wrong.id, right.id]
    assert told.versions[0].changes[-1].reason == "corrected by user"
    assert memory.get(right.event_id).text == "Ana lives in Faro."


def test_a_correction_is_as_old_as_it_says_or_as_what_it_corrects(memory: Memory) -> None:
    memory.add("I live in Lisbon.", speaker="Ana", at="2025-06-05T10:00Z")
    first = memory.correct(the(memory, "Lisbon").id, "I live in Faro.")
    assert first.valid_from is not None
    assert first.valid_from.isoformat()[:10] == "2025-06-05"
    right = memory.correct(first.id, "I live in Faro since July 8, 2025.")
    assert (right.valid_from, right.date.words) == (datetime(2025, 7, 8, tzinfo=UTC), "since July 8, 2025")
    assert memory.statement(first.id).valid_to == right.valid_from
    assert [(one.object_name, one.valid_from) for one in memory.facts("Ana")] == [("Faro", right.valid_from)]


def test_events_tell_the_history_of_all_that_they_state(memory: Memory) -> None:
    lisbon = memory.add("I live in Lisbon. I like jazz.", speaker="Ana", at="2026-01-05T10:00Z")
    memory.add("I moved to Porto.", speaker="Ana", at="2026-03-05T10:00Z")
    told = memory.history(events=[lisbon.id])
    assert sorted(quotes(told)) == ["I like jazz", "I live in Lisbon", "I moved to Porto"]
    said = {one.statement.quote: one.said_at.isoformat()[:10] for one in told.versions}
    assert said["I moved to Porto"] == "2026-03-05"
    assert quotes(memory.history(the(memory, "jazz").id)) == ["I like jazz"]
    memory.forget(ids=[lisbon.id])
    assert memory.history(events=[lisbon.id]).versions == ()
    for wrong in ({}, {"id": "st_x", "events": [lisbon.id]}):
        with pytest.raises(InvalidInput):
            memory.history(**wrong)


def test_a_corrected_statement_goes_on_like_any_other(memory: Memory) -> None:
    say(memory, "I live in Lisbon.")
    right = memory.correct(the(memory, "Lisbon").id, "Ana lives in Faro.")
    say(memory, "I still live in Faro.")
    assert current(memory) == ["Ana lives in Faro."]
    say(memory, "I moved to Porto.")
    assert current(memory) == ["I moved to Porto"]
    assert quotes(memory.history(right.id))[-1] == "I moved to Porto"


def test_what_is_retracted_counts_no_more_and_stays_in_the_history(memory: Memory, clock: Clock) -> None:
    say(memory, "I like jazz.")
    jazz = the(memory, "jazz")
    clock.now += DAY
    taken_back = memory.retract(jazz.id)
    assert (taken_back.id, taken_back.status, taken_back.valid_to) == (jazz.id, Status.RETRACTED, START + 2 * DAY)
    assert memory.statements() == []
    assert memory.statements(status="retracted") == [taken_back]
    (version,) = memory.history(jazz.id).versions
    assert [(change.action, change.reason) for change in version.changes][-1] == (
        "retract",
        "retracted by user: no longer true",
    )
    assert memory.statements(as_of=START + DAY) == [jazz]


def test_corrections_survive_a_rebuild(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I like jazz.", "I work at Acme.")
    right = memory.correct(the(memory, "Lisbon").id, "Ana lives in Faro.")
    memory.correct(right.id, "Ana lives in Beja.")
    memory.retract(the(memory, "jazz").id)
    before = everything(memory)
    memory.admin.rebuild()
    assert everything(memory) == before
    assert current(memory) == ["I work at Acme", "Ana lives in Beja."]


def test_only_what_is_current_can_be_corrected(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.")
    events = memory.stats().events
    for change in (memory.retract, lambda id: memory.correct(id, "x")):
        with pytest.raises(InvalidInput, match="superseded"):
            change(the(memory, "Lisbon").id)
    for text in ("", "  ", None):
        with pytest.raises(InvalidInput, match="text"):
            memory.correct(the(memory, "Porto").id, text)  # type: ignore[arg-type]
    assert memory.stats().events == events


def test_a_statement_whose_event_goes_meanwhile_is_not_found(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    say(memory, "I live in Lisbon.")
    id = the(memory, "Lisbon").id
    monkeypatch.setattr("everyword.storage.protocol.Reader.known", lambda *_: {})
    with pytest.raises(NotFound, match="forgotten"):
        memory.retract(id)


def test_only_the_memory_writes_corrections(memory: Memory) -> None:
    say(memory, "I live in Lisbon.")
    lisbon = the(memory, "Lisbon")
    for meta in ({"everyword": "retract"}, {"everyword": {"action": "add", "statement": lisbon.id}}, {"everyword": {}}):
        memory.add("Hello.", role="correction", meta=meta)
    memory.add("Hello.", role="user", meta={"everyword": {"action": "retract", "statement": lisbon.id}})
    assert memory.statements() == [lisbon]


def test_a_correction_counts_at_once_also_where_deriving_is_behind(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none") as memory:
        say(memory, "I live in Lisbon.", "I like jazz.")
        assert len(memory.statements()) == 2
    with Memory.open(path, embedder="none", extract=False) as memory:
        say(memory, "I work at Acme.")
        assert memory.retract(the(memory, "jazz").id).status is Status.RETRACTED
        assert memory.correct(the(memory, "Lisbon").id, "Ana lives in Faro.").quote == "Ana lives in Faro."


# Which ones


def test_conditions_narrow_the_list(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I need to pay the gas bill by Friday.")
    say(memory, "We decided to use PostgreSQL.", "I like jazz.")
    assert current(memory, kind="decision") == ["We decided to use PostgreSQL"]
    assert current(memory, tag="action:required") == ["I need to pay the gas bill by Friday"]
    assert current(memory, tag="category:plans_goals", kind="task") == ["I need to pay the gas bill by Friday"]
    assert current(memory, about="Bo") == []
    assert len(memory.statements()) == 4
    assert current(memory, limit=1) == ["I live in Lisbon"]
    assert len(memory.statements(limit=3)) == 3


@pytest.mark.parametrize(
    "wrong", [{"kind": "decisions"}, {"status": "old"}, {"status": ""}, {"limit": 0}, {"limit": -1}, {"as_of": "soon"}]
)
def test_a_condition_that_makes_no_sense_is_told(memory: Memory, wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        memory.statements(**wrong)


def test_the_error_names_what_can_be_asked_for(memory: Memory) -> None:
    with pytest.raises(InvalidFilter) as caught:
        memory.statements(kind="decisions")
    assert all(kind in caught.value.fix for kind in StatementKind)


@pytest.mark.slow
def test_more_than_a_page_is_listed_whole(memory: Memory) -> None:
    memory.add_many({"text": f"I like number{n}.", "speaker": f"Speaker {n}"} for n in range(520))
    assert current(memory) == [f"I like number{n}" for n in range(520)]
    assert len(memory.statements(limit=510)) == 510


# Scopes


def test_nothing_crosses_between_spaces(memory: Memory) -> None:
    other = memory.space("other")
    say(memory, "I live in Lisbon.")
    say(other, "I moved to Porto.", "I like jazz.")
    assert current(memory) == ["I live in Lisbon"]
    assert current(other) == ["I moved to Porto", "I like jazz"]
    lisbon, porto = the(memory, "Lisbon"), the(other, "Porto")
    for ask in (memory.statement, memory.history, memory.retract):
        with pytest.raises(NotFound):
            ask(porto.id)
    with pytest.raises(NotFound):
        other.correct(lisbon.id, "Ana lives in Faro.")
    assert memory.stats().statements == {"attribute": 1}
    assert "category:preferences" not in memory.stats().tags
    other.forget(speaker="Ana")
    assert memory.statements(status="any") == [lisbon]


def test_a_handle_on_a_wing_shows_that_wing_alone(memory: Memory) -> None:
    home, work = memory.wing("home"), memory.wing("work")
    say(home, "I live in Lisbon.")
    say(work, "I work at Acme.")
    assert current(home) == ["I live in Lisbon"]
    assert current(work, status="any") == ["I work at Acme"]
    for ask in (work.statement, work.history, work.retract):
        with pytest.raises(NotFound):
            ask(the(home, "Lisbon").id)
    right = home.correct(the(home, "Lisbon").id, "Ana lives in Faro.")
    assert memory.get(right.event_id).wing == "home"
    assert current(home) == ["Ana lives in Faro."]
    assert len(memory.statements()) == 2


def test_a_story_that_goes_through_two_wings_is_told_to_each_by_its_own_words(memory: Memory) -> None:
    home, work = memory.wing("home"), memory.wing("work")
    say(home, "I live in Lisbon.", "I moved to Porto.")
    say(work, "I moved to Madrid.")
    seen = home.history(the(home, "Lisbon").id)
    assert quotes(seen) == ["I live in Lisbon", "I moved to Porto"]
    assert "Madrid" not in repr(seen)
    from_work = work.history(the(work, "Madrid").id)
    assert "Lisbon" not in repr(from_work)
    assert "Porto" not in repr(from_work)
    assert len(memory.history(the(work, "Madrid").id).versions) == 3


# Tags


def test_tags_filter_what_is_recalled(memory: Memory) -> None:
    say(memory, "I'm allergic to peanuts.", "I like peanuts.", "I need to buy peanuts by Friday.")

    def found(tag: str) -> list[str]:
        return sorted(hit.text for hit in memory.recall("peanuts", tag=tag))

    assert len(memory.recall("peanuts")) == 3
    assert found("category:wellness") == ["I'm allergic to peanuts."]
    assert found("category:preferences") == ["I like peanuts."]
    assert found("action:required") == ["I need to buy peanuts by Friday."]
    assert found("category:nothing") == []
    assert "allergic" in memory.context("peanuts", tag="category:wellness").text
    assert "Friday" not in memory.context("peanuts", tag="category:wellness").text
    assert memory.ask("What is Ana allergic to?", tag="category:wellness").quotes == ("I'm allergic to peanuts.",)
    assert memory.ask("What is Ana allergic to?", tag="category:nothing").quotes == ()


def test_stats_counts_current_statements_by_kind_and_events_by_tag(memory: Memory) -> None:
    assert (memory.stats().statements, memory.stats().tags) == ({}, {})
    say(memory, "I live in Lisbon.", "I work at Acme.", "I moved to Porto.", "I like jazz.", "I love chess.")
    say(memory, "I enjoy opera.", "I'm allergic to peanuts.", "I need to pay the gas bill by Friday.")
    memory.admin.settle()
    stats = memory.stats()
    assert stats.statements == {"preference": 3, "attribute": 2, "event": 1, "task": 1}  # Lisbon counts no more
    assert list(stats.statements.values()) == sorted(stats.statements.values(), reverse=True)
    assert stats.tags["category:preferences"] == 3
    assert stats.tags["action:required"] == stats.tags["category:wellness"] == 1


# Forgetting


def test_what_the_forgotten_had_superseded_is_current_again(memory: Memory) -> None:
    say(memory, "I live in Lisbon.")
    before = everything(memory)
    (moved,) = say(memory, "I moved to Porto.")
    memory.forget(ids=[moved])
    assert everything(memory) == before
    assert current(memory) == ["I live in Lisbon"]


def test_what_the_forgotten_had_closed_or_confirmed_is_as_if_it_had_not_been_said(memory: Memory) -> None:
    say(memory, "I like jazz.", "I live in Lisbon.")
    before = everything(memory)
    gone = say(memory, "I used to like jazz.", "I still live in Lisbon.")
    memory.retract(the(memory, "Lisbon").id)
    memory.forget(ids=[*gone, *(one.id for one in memory.admin.records())])
    assert everything(memory) == before


def test_a_story_without_its_middle_goes_on_from_what_is_left(memory: Memory) -> None:
    _, middle, _ = say(memory, "I live in Lisbon.", "I moved to Porto.", "I moved to Madrid.")
    memory.forget(ids=[middle])
    told = memory.history(the(memory, "Madrid").id)
    assert quotes(told) == ["I live in Lisbon", "I moved to Madrid"]
    assert "Porto" not in repr(told)
    assert the(memory, "Lisbon").valid_to == the(memory, "Madrid").valid_from
    assert memory.admin.verify().ok


def test_what_is_derived_again_as_before_keeps_its_place_and_is_no_news(memory: Memory) -> None:
    _, gone, _ = say(memory, "I like jazz.", "I live in Lisbon.", "I need to call the bank by May 4.")
    assert len(memory.statements()) == 3
    position = memory.changes(after="now").position
    memory.forget(ids=[gone])
    assert [one.quote for one in memory.statements(newest_first=True)] == [
        "I need to call the bank by May 4",
        "I like jazz",
    ]
    assert [one.kind for one in memory.changes(after=position)] == ["forgotten"]


def test_links_go_by_the_turns_that_are_left(memory: Memory) -> None:
    texts = ("We decided to use PostgreSQL for the backend.", "Hm!", "I need to set up PostgreSQL for the backend.")
    _, between, _ = say(memory, *texts, session="s")
    memory.forget(ids=[between])
    before = everything(memory)
    memory.admin.rebuild()
    assert everything(memory) == before


def test_forgetting_all_leaves_nothing_derived(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.", "We decided to use PostgreSQL.", session="s")
    say(memory, "I need to set up PostgreSQL for the project.", session="s")
    memory.retract(the(memory, "Porto").id)
    receipt = memory.forget(before=START + 100 * DAY)
    assert receipt.removed["statements"] >= 4
    assert memory.statements(status="any") == []
    report = memory.admin.verify()
    assert report.ok
    assert {report.checked[name] for name in ("events", "statements", "changes", "tags")} == {0}


def test_a_dry_run_changes_no_statement(memory: Memory) -> None:
    say(memory, "I live in Lisbon.", "I moved to Porto.")
    before = everything(memory)
    memory.forget(speaker="Ana", dry_run=True)
    assert everything(memory) == before


SECRET = "Xylophonequartz"


def _assert_gone(folder: Path) -> None:
    raw = b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())
    for word in (SECRET, SECRET.lower(), SECRET.upper()):
        assert word.encode() not in raw
        assert word.encode("utf-16-le") not in raw


@pytest.mark.parametrize(
    "texts",
    [
        (f"I live in {SECRET}.",),
        (f"I live in {SECRET}.", "I moved to Porto."),  # the journal of what stays had named it
        ("I live in Lisbon.", f"I moved to {SECRET}."),
        ("I live in Lisbon.", f"I moved to {SECRET}.", "I moved to Porto."),
        (f"I like {SECRET}.", f"I used to like {SECRET}."),
        (f"We decided to use {SECRET}.", f"Let's use MySQL instead of {SECRET}."),
        (f"My sister is called {SECRET}.", f"My sister {SECRET} lives in Porto."),
        (f"I visited {SECRET} last Tuesday, with {SECRET}.", f"I need to call {SECRET}."),
    ],
)
def test_no_byte_is_left_of_what_was_derived_from_the_forgotten(tmp_path: Path, texts: Sequence[str]) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing", durability="normal") as memory:
        ids = say(memory, *texts, session="s")
        assert SECRET.encode() in path.read_bytes() + path.with_name("memory.db-wal").read_bytes()
        memory.forget(ids=[id for id, text in zip(ids, texts, strict=True) if SECRET in text])
        assert SECRET.lower() not in repr(everything(memory)).lower()
        _assert_gone(tmp_path)
        assert memory.admin.verify().ok
    _assert_gone(tmp_path)


def test_a_retraction_keeps_no_words_of_what_is_forgotten(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing", durability="normal") as memory:
        (id,) = say(memory, f"I live in {SECRET}.")
        memory.retract(memory.statements()[0].id)
        memory.forget(ids=[id])
        _assert_gone(tmp_path)


# The same, however it was written

HISTORY = (
    "I live in Lisbon.",
    "I'm thinking of moving to Madrid.",
    "I still live in Lisbon.",
    "I like jazz and I need to pay the gas bill by Friday.",
    "We decided to use PostgreSQL for the backend.",
    "I need to set up PostgreSQL for the backend.",
    "I moved to Porto.",
    "I used to like jazz.",
    "Hi there!",
    "Let's use MySQL instead of PostgreSQL.",
    "I paid the gas bill.",
    "I visited Madrid last Tuesday.",
)


def _long_talk() -> list[dict]:
    """Make 64 events of two speakers in three sessions; the last one states what was taken back before."""
    return [
        {
            "text": f"{HISTORY[n % len(HISTORY)]} That was number {n}.",
            "speaker": ("Ana", "Bo")[n % 2],
            "session": f"s{n % 3}",
            "at": START + n * timedelta(hours=7),
        }
        for n in range(64)
    ]


def _still() -> datetime:
    return START + 300 * DAY


@pytest.fixture(scope="module")
def expected() -> tuple:
    """Derive what 64 events state, one by one."""
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        for event in _long_talk():
            memory.add(**event)
        told = everything(memory)
    statements, _, counts, tags = told
    assert {one.status for one in statements} == set(Status)
    assert set(counts) >= {"add", "update", "retract", "none"}
    assert tags
    return told


@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 100])
def test_a_batch_derives_what_one_by_one_does(expected: tuple, size: int) -> None:
    events = _long_talk()
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        for start in range(0, len(events), size):
            memory.add_many(events[start : start + size])
        assert everything(memory) == expected
        memory.add_many(events)  # all of it known
        assert everything(memory) == expected


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive anew in many parts, as a space of a hundred thousand events is."""
    monkeypatch.setattr(rebuilding, "_COPY_BATCH", 18)
    monkeypatch.setattr(rebuilding, "BATCH", 12)
    monkeypatch.setattr(rebuilding, "_MOST_LEFT", 5)


@pytest.mark.slow
@pytest.mark.usefixtures("in_small_parts")
def test_readers_see_what_was_there_until_the_new_is_complete(tmp_path: Path, expected: tuple) -> None:
    path = tmp_path / "memory.db"
    seen: list[bool] = []

    def watched(what: str, _done: int, _total: int) -> None:
        if what == "statements":
            with Memory.open(path, embedder="none", read_only=True) as other:
                seen.append(everything(other) == expected)

    with Memory.open(path, embedder="none", clock=_still, durability="normal") as memory:
        memory.add_many(_long_talk())
        assert everything(memory) == expected
        memory.admin.rebuild(progress=watched)
        assert len(seen) >= 4
        assert all(seen)
        assert everything(memory) == expected
        assert not memory.admin.verify().problems


@pytest.mark.slow
@pytest.mark.usefixtures("in_small_parts")
def test_a_rebuild_that_is_broken_off_changes_nothing(tmp_path: Path, expected: tuple) -> None:
    class Killed(BaseException):
        pass

    def broken_off(what: str, done: int, _total: int) -> None:
        if what == "statements" and done > 36:
            raise Killed

    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none", clock=_still, durability="normal") as memory:
        memory.add_many(_long_talk())
        with pytest.raises(Killed):
            memory.admin.rebuild(progress=broken_off)
        assert everything(memory) == expected
    with Memory.open(path, embedder="none", clock=_still, durability="normal") as memory:
        assert everything(memory) == expected
        assert not memory.admin.verify().problems
        memory.admin.rebuild()
        assert everything(memory) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("in_small_parts")
def test_what_is_forgotten_while_events_are_derived_anew_stays_forgotten() -> None:
    events = _long_talk()
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        memory.add_many(events[1:])
        expected_then = everything(memory)
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        first = memory.add(**events[0])
        memory.add_many(events[1:])
        memory.add("I live in Ghent.", speaker="Cy", session="other")
        waiting = [lambda: memory.forget(ids=[first.id]), lambda: memory.forget(session="other")]

        def meanwhile(what: str, done: int, _total: int) -> None:
            if what == "statements" and done > 36 and waiting:
                waiting.pop()()

        memory.admin.rebuild(progress=meanwhile)
        assert not waiting
        assert [one.content for one in everything(memory)[0]] == [one.content for one in expected_then[0]]
        assert not memory.admin.verify().problems


@pytest.mark.slow
@pytest.mark.usefixtures("in_small_parts")
def test_other_spaces_stay_as_they_are_when_one_is_derived_anew(expected: tuple) -> None:
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        memory.add_many(_long_talk())
        other = memory.space("other")
        other.add_many(_long_talk()[:24])
        before = everything(other)
        memory.admin.rebuild()
        assert everything(memory) == expected
        assert everything(other) == before
        assert other.facts("Ana")
        assert memory.facts("Ana")


@pytest.mark.slow
def test_what_is_said_while_events_are_read_anew_is_derived_with_them(expected: tuple) -> None:
    events = _long_talk()
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        memory.add_many(events[:90])
        said = iter(events[90:])

        def meanwhile(what: str, _done: int, _total: int) -> None:
            if what == "statements":
                memory.add_many(list(said))

        memory.admin.rebuild(progress=meanwhile)
        assert everything(memory) == expected


@pytest.mark.slow
def test_settling_later_derives_the_same(expected: tuple, tmp_path: Path) -> None:
    events = _long_talk()
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none", clock=_still, extract=False, durability="normal") as memory:
        memory.add_many(events[:36])
        assert memory.statements(status="any") == []
        assert memory.recall("Lisbon")
    with Memory.open(path, embedder="none", clock=_still, durability="normal") as memory:
        memory.admin.settle()
        memory.add_many(events[36:])
        assert everything(memory) == expected


def test_forgetting_while_deriving_is_behind_leaves_nothing_of_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="none", extract=False, durability="normal") as memory:
        say(memory, "I live in Lisbon.")
        (moved,) = say(memory, "I moved to Porto.")
        memory.forget(ids=[moved])
        memory.admin.settle()
        assert current(memory, status="any") == ["I live in Lisbon"]
        assert memory.admin.verify().ok


@pytest.mark.slow
def test_an_export_brings_the_same_statements_to_another_file(tmp_path: Path) -> None:
    with Memory.open(":memory:", embedder="none", clock=_still) as memory:
        memory.add_many(_long_talk())
        told = everything(memory)
        # Edits are not exported: only their own operations write them.
        memory.correct(memory.statements(kind="attribute")[0].id, "Ana lives in Faro.")
        memory.retract(memory.statements(kind="preference")[0].id)
        memory.admin.export(tmp_path / "events.jsonl")
    with Memory.open(tmp_path / "other.db", embedder="none", durability="normal") as other:
        other.import_events(tmp_path / "events.jsonl")
        assert everything(other) == told


def test_an_export_of_what_arrived_out_of_order_brings_the_same_statements(memory: Memory, tmp_path: Path) -> None:
    say(memory, "I moved to Porto.", at="2026-03-01T00:00Z")
    say(memory, "I live in Lisbon.", at="2026-02-01T00:00Z")
    memory.admin.export(tmp_path / "events.jsonl")
    with Memory.open(":memory:", embedder="none") as other:
        other.import_events(tmp_path / "events.jsonl")
        assert everything(other) == everything(memory)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
def test_however_little_is_compared_a_batch_and_a_rebuild_compare_the_same(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(derive, "_COMPARED", most)
    told = []
    for size in (1, 100):
        with Memory.open(":memory:", embedder="none", clock=_still) as memory:
            # What is closed makes room for another that is compared.
            likes = ("I like jazz.", "I like chess.", "I used to like chess.", "I used to like jazz.")
            events = [*({"text": text, "speaker": "Cleo"} for text in likes), *_long_talk()[:40]]
            for start in range(0, len(events), size):
                memory.add_many(events[start : start + size])
            told.append(everything(memory))
            memory.admin.rebuild()
            told.append(everything(memory))
    assert told[0] == told[1] == told[2] == told[3]


@pytest.mark.parametrize("text", ["I visited Madrid last Tuesday.", "I visited Madrid."])
@pytest.mark.parametrize("hours", [9, -9])
def test_a_day_is_a_day_of_the_speakers_clock_in_a_batch_and_one_by_one(text: str, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    first = datetime(2026, 4, 24, 7 if hours > 0 else 17, tzinfo=zone)  # in UTC it is the day before, or after
    said = [{"text": text, "speaker": "Ana", "at": first + n * timedelta(hours=4)} for n in range(2)]
    for size in (1, 2):
        with Memory.open(":memory:", embedder="none", clock=_still) as memory:
            for start in range(0, 2, size):
                memory.add_many(said[start : start + size])
            assert len(memory.statements()) == 1, size


@pytest.mark.slow
def test_writers_at_the_same_time_leave_one_current_place(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    still = START + 50 * DAY

    def tell(name: str) -> None:
        with Memory.open(path, embedder="none", durability="normal") as memory:
            for n in range(15):
                memory.add(f"I moved to {name}{'abcdefghijklmno'[n]}ville.", speaker="Ana", at=still)

    Memory.open(path, embedder="none", durability="normal").close()
    threads = [Thread(target=tell, args=(name,)) for name in ("North", "South", "West")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Memory.open(path, embedder="none", durability="normal") as memory:
        assert len(memory.statements()) == 1
        told = everything(memory)
        assert len(told[0]) == 45
        memory.admin.rebuild()
        assert everything(memory) == told


# What verify finds

_SOME_BODY = "(SELECT number FROM statements ORDER BY number LIMIT 1)"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple]:
    """Make a file with a history, and read what it holds."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with Memory.open(path, embedder="none", durability="normal", clock=_still) as memory:
        say(memory, *HISTORY, session="s")
        before = everything(memory)
        report = memory.admin.verify(deep=True)
        assert report.ok
        assert report.checked["statements"] == len(before[0])
        assert report.checked["changes"] == sum(before[2].values())
        assert report.checked["tags"] == sum(before[3].values())
    return path, before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("DELETE FROM statements WHERE replaces IS NULL", "is not there"),
        (f"UPDATE statements SET seq = 999 WHERE number = {_SOME_BODY}", "lost the event"),
        (
            f"UPDATE statements SET body = json_set(body, '$.span[1]', 999) WHERE number = {_SOME_BODY}",
            "not what the log gives",
        ),
        (
            f"UPDATE statements SET body = json_set(body, '$.span[0]', 3) WHERE number = {_SOME_BODY}",
            "not what the log gives",
        ),
        (
            f"UPDATE statements SET body = json_set(body, '$.span[0]', -9) WHERE number = {_SOME_BODY}",
            "not what the log gives",
        ),
        (f"UPDATE statements SET kind = 'insight' WHERE number = {_SOME_BODY}", "not what the log gives"),
        (f"UPDATE statements SET body = '[' WHERE number = {_SOME_BODY}", "not what the log gives"),
        (f"UPDATE statements SET body = '{{}}' WHERE number = {_SOME_BODY}", "not what the log gives"),
        ("UPDATE journal SET seq = 999 WHERE number = 1", "journal"),
        ("UPDATE journal SET target = 'st_nothing' WHERE target IS NOT NULL", "journal"),
        ("UPDATE event_tags SET seq = seq + 900", "tags belong to no event"),
        ("INSERT INTO event_meta VALUES (1, 'a', '1', 900, 1)", "its index differs from the log"),
    ],
)
def test_verify_finds_what_points_to_nothing_and_a_rebuild_mends_it(
    tmp_path: Path, sound: tuple[Path, tuple], damage: str, told: str
) -> None:
    source, before = sound
    path = Path(shutil.copy(source, tmp_path))
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    assert connection.changes()
    connection.close()
    with Memory.open(path, embedder="none", durability="normal") as memory:
        problems = memory.admin.verify(deep=True).problems
        assert any(told in problem.what for problem in problems), problems
        assert "everyword rebuild" in {problem.fix for problem in problems}
        memory.admin.rebuild()
        assert everything(memory) == before
        assert memory.admin.verify(deep=True).ok


def test_verify_reads_quotes_behind_a_nul_and_in_broken_unicode(memory: Memory) -> None:
    say(memory, "a\x00b. I live in Porto.", "é\x00\ud800. I work at Acme.")
    assert [one.span.start > 0 for one in memory.statements()] == [True, True]
    assert isinstance(memory.statements()[0].span, Span)
    assert memory.admin.verify().ok


def test_a_dismissal_ends_the_job_and_forgetting_it_brings_the_job_back(memory: Memory) -> None:
    _, fired = say(memory, "I work at Acme. I like jazz.", "I was fired from Acme.")
    assert current(memory) == ["I like jazz", "I was fired from Acme"]
    told = memory.history(the(memory, "I work at Acme").id)
    assert [(one.action, one.reason, one.event_id) for one in told.versions[0].changes][-1] == (
        "retract",
        "no longer so",
        fired,
    )
    assert "I work at Acme" in current(memory, as_of=START + DAY + DAY / 2)
    before = memory.statements(status="any")
    memory.admin.rebuild()
    assert memory.statements(status="any") == before
    memory.forget(ids=[fired])
    assert current(memory) == ["I work at Acme", "I like jazz"]


@pytest.mark.parametrize(
    ("task", "deed"),
    [
        ("I have to send the invoice to Acme.", "invoice got sent"),
        ("We must book the tickets for Lisbon.", "The tickets have been booked."),
        ("I promised to fix the gate.", "The gate's fixed."),
        ("I have to pay the electricity bill by Friday.", "Electricity bill: paid."),
        ("I have to pay the rent.", "Rent paid."),
        ("I have to write the report by Friday.", "The report is done."),
        ("I have to write the report by Friday.", "I finished the report."),
        ("I must renew my licence by April 1.", "Licence has been renewed!"),
        ("I have to sign the school trip form before the end of the week.", "The trip form is signed."),
        ("I have to rotate the backup keys by Friday.", "Backup keys are rotated."),
        ("I have to send the quote to Huber by Friday.", "Quote sent to Huber."),
        ("The gate has to be painted before the end of the month.", "The gate is painted."),
        ("The invoice needs to be sent by Friday.", "I sent the invoice."),
    ],
)
def test_a_task_is_done_whoever_did_it(memory: Memory, task: str, deed: str) -> None:
    say(memory, task)
    (open_task,) = memory.statements()
    assert open_task.kind == "task"
    say(memory, deed)
    assert memory.statements(kind="task") == []
    assert memory.history(open_task.id).versions[0].changes[-1].reason == "done"
    assert memory.intents.list(now=START + 3 * DAY) == []


@pytest.mark.parametrize(
    "said",
    [
        "Dogs are not allowed inside.",
        "Guests pay in cash here.",
        "It has to be said that she sings well.",
        "Must Ben be picked up at nine?",
        "Tickets have to be shown at the gate.",
    ],
)
def test_what_holds_in_general_is_no_task(memory: Memory, said: str) -> None:
    say(memory, said)
    assert "task" not in [one.kind for one in memory.statements()]


@pytest.mark.parametrize(
    ("task", "deed"),
    [
        ("I need to write the RFC for the cache by Friday.", "The RFC is not written yet."),
        ("I need to write the RFC for the cache by Friday.", "The RFC is almost written."),
        ("I have to send the invoice to Acme.", "Is the invoice sent?"),
        ("We must book the tickets for Lisbon.", "The tickets will be booked by Tom."),
        ("We must book the tickets for Lisbon.", "If the tickets are booked, tell me."),
        ("I have to return the library books by Friday.", "I returned the drill to Tom."),
    ],
)
def test_what_was_not_done_or_is_another_thing_leaves_a_task(memory: Memory, task: str, deed: str) -> None:
    say(memory, task, deed)
    assert task.rstrip(".") in current(memory, kind="task")
