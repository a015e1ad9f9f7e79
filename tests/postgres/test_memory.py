"""All that a memory does, on a server as in a file: the same story comes to the same, and survives upkeep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clocks import Clock
from conformance.making import append, drafts
from everyword import Memory
from everyword.storage.rows import Access
from everyword.text import terms as words
from everyword.types.events import Event

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
STORY = (
    ("Ana", "s1", None, "I live in Lisbon and I work at Acme."),
    ("Ana", "boiler", None, "The boiler broke down again."),
    ("Ana", "boiler", None, "The boiler lost pressure this morning."),
    ("Ana", "boiler", "home", "There is no hot water, the boiler failed for the third time."),
    ("Ana", "boiler", "home", "The boiler stopped working in the night."),
    ("Ana", "s2", "home", "I planted tomato seeds in the garden."),
    ("Ana", "s2", "home", "I planted beans in the garden."),
    ("Ana", "s2", "home", "I planted carrots and onions in the garden."),
    ("Ana", "s2", "home", "I pruned the roses and mowed the lawn in the garden."),
    ("Ana", "s3", "work", "We decided to use PostgreSQL for the archive."),
    ("Ana", "s3", "work", "I need to finish the tax report by Friday."),
    ("Bo", "s3", "work", "Ana thinks the meeting is on Monday, but it was moved to Tuesday."),
    ("Ana", "s3", "work", "I moved to Porto last month."),
    ("Ana", "s4", None, "I prefer tea over coffee."),
    ("Ana", "s4", None, "I want to learn how to sail this year."),
)
NOW = START + timedelta(days=len(STORY) + 1)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def both(location: str, clock: Clock) -> Iterator[tuple[Memory, Memory]]:
    """Give a memory in a file and one on a server, with the same story."""
    given: dict[str, Any] = {"tokenizer": "words", "clock": clock}
    given |= {"fence_key": "the same for both", "background": False}
    with Memory.open(":memory:", **given) as file, Memory.open(location, **given) as server:
        for number, (speaker, session, wing, text) in enumerate(STORY):
            clock.now = START + timedelta(days=number)
            for memory in (file, server):
                memory.add(text, speaker=speaker, session=session, wing=wing, at=clock.now)
        clock.now = NOW
        for memory in (file, server):
            memory.admin.settle()
        yield file, server


def _all(memory: Memory) -> dict[str, Any]:
    """Give what there is to see, without what can't be the same: places, sizes, running numbers."""
    concepts = memory.concepts.list()
    return {
        "events": list(memory.events()),
        "statements": memory.statements(),
        "sessions": memory.sessions(),
        "recalled": [[hit.event.id for hit in memory.recall(one)] for one in ("Where does Ana live?", "boiler", "tea")],
        "context": memory.context("Where does Ana live?", budget=200).text,
        "answer": memory.ask("Where does Ana live?").text,
        "entities": memory.graph.entities(),
        "facts": memory.facts(),
        "facts then": memory.facts("Ana", as_of=START + timedelta(days=2)),
        "timeline": memory.graph.timeline("Ana"),
        "concepts": concepts,
        "concepts of a wing": memory.wing("home").concepts.list(),
        "concepts then": memory.concepts.list(as_of=START + timedelta(days=5)),
        "each concept": [memory.concepts.get(one.id) for one in concepts],
        "journal": memory.concepts.journal(limit=1_000),
        "intents": memory.intents.list(),
        "intents of a wing": memory.wing("work").intents.list(),
        "wake_up": memory.wake_up().text,
        "window": memory.concepts.window(400),
        "palace": memory.concepts.palace(),
        # Without receipts: a file is scrubbed at once, the tables of a server are not.
        "news": [one for one in memory.changes(limit=1_000) if one.kind != "forgotten"],
    }


def _agree(file: Memory, server: Memory) -> dict[str, Any]:
    seen, other = _all(file), _all(server)
    for name, what in seen.items():
        assert other[name] == what, name
    return seen


def test_a_server_remembers_what_a_file_does(both: tuple[Memory, Memory]) -> None:
    seen = _agree(*both)
    assert {"boiler", "garden"} <= {one.label for one in seen["concepts"]}
    for name in ("facts", "entities", "intents", "statements", "journal", "concepts of a wing", "news"):
        assert seen[name], name
    assert all(memory.admin.verify(deep=True).ok for memory in both)


def test_texts_that_look_like_our_own_marks_come_back_as_they_were(both: tuple[Memory, Memory]) -> None:
    mark = "\x1aB64:"
    for memory in both:
        for speaker in (f"{mark}x", f"{mark}eA==", mark):
            memory.add("We decided to use tea.", speaker=speaker, session="s", wing=f"{mark}y")
        memory.add("I like tea.", speaker="Bo", session="s")
    ours, theirs = both
    assert [hit.event.speaker for hit in ours.recall("tea")] == [hit.event.speaker for hit in theirs.recall("tea")]
    assert ours.sessions() == theirs.sessions()
    (session,) = [one for one in ours.sessions() if one.name == "s"]
    assert set(session.speakers) == {mark, f"{mark}eA==", f"{mark}x", "Bo"}
    assert session.wings == (f"{mark}y",)


def test_what_is_forgotten_and_rebuilt_is_the_same_on_both(both: tuple[Memory, Memory]) -> None:
    for memory in both:
        assert len(memory.forget(session="s2").ids) == 4
        memory.admin.settle()
    seen = _agree(*both)
    assert "garden" not in {one.label for one in seen["concepts"]}
    for memory in both:
        memory.admin.rebuild()
        memory.admin.settle()
        report = memory.admin.verify(deep=True)
        assert report.ok, report.problems
    assert _agree(*both)["concepts"] == seen["concepts"]


def test_changes_by_hand_are_taken_alike(both: tuple[Memory, Memory]) -> None:
    for memory in both:
        goal = next(one for one in memory.intents.list() if "sail" in one.statement)
        memory.intents.answer(goal.id, "accept")
        grown = next(entry for entry in memory.concepts.journal(limit=1_000) if entry.action == "add_edge")
        memory.concepts.undo(grown.id)
        memory.identity("I am Ana's memory.")
        memory.correct(memory.statements(kind="preference")[0].id, "I prefer coffee over tea.")
    seen = _agree(*both)
    assert any(entry.undone for entry in seen["journal"])
    assert "I am Ana's memory." in seen["wake_up"]
    assert all(memory.admin.verify(deep=True).ok for memory in both)


def test_files_are_imported_and_read_on(both: tuple[Memory, Memory], tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"text": "The boat is called Wave.", "at": "2026-01-02T10:00:00Z"}\n')
    first = [memory.import_events(notes) for memory in both]
    with notes.open("a") as more:
        more.write('{"text": "The boat was sold.", "at": "2026-01-03T10:00:00Z"}\n')
    second = [memory.import_events(notes) for memory in both]
    assert [one.added for one in first] == [one.added for one in second] == [1, 1]
    for memory in both:
        memory.admin.settle()
    _agree(*both)


def test_what_is_recalled_is_counted_for_each_space(both: tuple[Memory, Memory]) -> None:
    for memory in both:
        other = memory.space("other")
        other.add("The boat is called Wave.")
        for _ in range(3):
            memory.recall("tea", k=1)
            other.recall("boat", k=1)
        memory.scope.engine.accesses.flush_all(memory.scope.engine.store)
    counted: list[list[dict[int, Access]]] = []
    for memory in both:
        with memory.scope.engine.store.file_reader() as reader:
            counted.append([reader.reader(space).accesses(range(1, 40)) for space in ("default", "other")])
    assert counted[0] == counted[1]
    assert max(one.times for one in counted[0][1].values()) == 3


def test_a_worker_derives_what_was_written(location: str, clock: Clock) -> None:
    with Memory.open(location, clock=clock) as memory:
        memory.add_many([{"text": text, "speaker": who, "session": at} for who, at, _, text in STORY])
        assert set(memory.stats().behind.values()) == {len(STORY)}
        assert memory.concepts.fold(dry_run=True).events  # which derives statements, and no other view
        memory.admin.work(once=True)
        assert memory.stats().behind == {}
        assert not memory.concepts.fold(dry_run=True).events
        assert {"boiler", "garden"} <= {one.label for one in memory.concepts.list()}


def test_who_follows_from_now_on_misses_nothing_that_is_just_being_written(location: str) -> None:
    with Memory.open(location, embedder="hashing") as memory, Memory.open(location, embedder="hashing") as other:
        memory.add("Said before.")
        with memory.scope.engine.store.writer("default") as writer:
            append(writer, drafts(["Said meanwhile."]))
            now = other.changes(after="now").position
        assert [news.item.text for news in other.changes(after=now) if isinstance(news.item, Event)] == [
            "Said meanwhile."
        ]


def test_a_pulse_is_felt_when_a_write_is_done_not_when_it_begins(location: str) -> None:
    with Memory.open(location, embedder="hashing") as memory, Memory.open(location, embedder="hashing") as other:
        memory.add("Said before.")
        with memory.scope.engine.store.file_writer() as writer:
            writer.set_fact("anything", "new")
            began = other.admin.pulse()
        assert other.admin.pulse() != began


def test_followers_are_told_the_same(both: tuple[Memory, Memory], clock: Clock) -> None:
    file, server = both
    clock.now = NOW
    told = [
        [(one.kind, one.at, getattr(one.item, "id", None)) for one in memory.changes(limit=1_000)]
        for memory in (file, server)
    ]
    assert {kind for kind, _, _ in told[0]} >= {"event", "statement", "concept", "intent"}
    assert told[0] == told[1]
    for wing in ("home", "work"):
        of_wing = [[one.kind for one in memory.wing(wing).changes(limit=1_000)] for memory in (file, server)]
        assert of_wing[0] == of_wing[1]
    now = [memory.changes(after="now").position for memory in (file, server)]
    for memory, position in zip((file, server), now, strict=True):
        memory.add("I need to call the plumber by Friday.", at=NOW, wing="home")
        assert {one.kind for one in memory.changes(after=position)} >= {"event", "intent"}


def test_words_of_other_scripts_are_found_on_a_server_as_in_a_file(location: str) -> None:
    said = (
        "Мы купили старую скрипку.",
        "เราซื้อไวโอลินเก่าจากตลาด",
        "我们买了一把小提琴。",
        "بعنا الطاولة الخشبية.",
        "parseUserConfig broke",
    )
    asked = ("скрипка", "ไวโอลิน", "小提琴", "طاولة", "config")
    with Memory.open(":memory:", embedder="none") as file, Memory.open(location, embedder="none") as server:
        for memory in (file, server):
            memory.add_many([{"text": text, "at": START} for text in said])
        for text, question in zip(said, asked, strict=True):
            (here,), (there,) = file.recall(question), server.recall(question)
            assert here.text == there.text == text
            assert here.score == pytest.approx(there.score)


def test_words_that_an_older_version_indexed_are_indexed_anew_on_a_server(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words._known_piece.cache_clear()  # pyright: ignore[reportPrivateUsage]
    with monkeypatch.context() as then:
        then.setattr(words, "stemmer_of", lambda _: None)
        then.setattr("everyword.storage.postgres.snapshot.ANALYSIS_VERSION", 1)
        with Memory.open(location, embedder="none") as memory:
            memory.add("Мы купили старую скрипку.")
            memory.space("other").add("Мы купили старую скрипку.")
    words._known_piece.cache_clear()  # pyright: ignore[reportPrivateUsage]
    with Memory.open(location, embedder="none") as memory:
        assert len(memory.recall("скрипку")) == 1
        memory.admin.work(once=True)
        assert len(memory.recall("скрипка")) == len(memory.space("other").recall("скрипка")) == 1
        assert memory.admin.verify(deep=True).ok


@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables.clear(tables.table("event_tags")),
        lambda tables: tables.clear(tables.table("mentions")),
        lambda tables: tables.clear(tables.table("fold_loose")),
    ],
)
def test_a_deep_check_finds_derived_rows_that_are_missing(both: tuple[Memory, Memory], change: Any) -> None:
    for memory in both:
        assert memory.admin.verify(deep=True).problems == ()
        with memory.scope.engine.store.table_writer() as (_, tables):
            change(tables)
        assert not memory.admin.verify(deep=True).ok


def test_the_example_of_the_page_on_scale_runs(location: str) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "scale.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(re.sub(r'"postgresql://.*?"', repr(location), example), names)
    assert names["memory"].add("I moved to Lisbon.").new
    names["memory"].close()
