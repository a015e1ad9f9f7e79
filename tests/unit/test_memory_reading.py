"""Reading through `Memory`: recall and its filters, context and its budget, events, sessions, stats."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from tests.fences import inside

from clocks import Clock
from effort import effort
from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, InvalidTime, NotFound

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still."""
    return Clock(START)


@pytest.fixture
def memory(clock: Clock):
    """Give a memory with a small history about one word, `river`."""
    with Memory.open(":memory:", embedder="hashing", clock=clock, tokenizer="words") as memory:
        memory.add("The river is cold.", speaker="Ana", session="s1", wing="w1", at=START, key="0", meta={"n": 1})
        memory.add(
            "A river trip with Bo.", speaker="Bo", session="s1", at=START + timedelta(days=1), key="1", meta={"n": 1.5}
        )
        clock.now += timedelta(days=10)
        memory.add(
            "We crossed the river.",
            speaker="Ana",
            session="s2",
            wing="w2",
            at=START + timedelta(days=2),
            key="2",
            meta={"n": None, "ok": True, "deep": {"a": [1, {"b": 2}]}},
        )
        memory.add("No water here, only river stones.", at=START + timedelta(days=3), key="3", meta={"ok": False})
        yield memory


# Filters


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "0123"),
        ({"wing": "w1"}, "0"),
        ({"session": "s1"}, "01"),
        ({"speaker": "Ana"}, "02"),
        ({"speaker": "ana"}, ""),
        ({"since": START + timedelta(days=2)}, "23"),
        ({"until": START + timedelta(days=2)}, "01"),
        ({"since": "2026-01-02", "until": "2026-01-03"}, "1"),
        ({"since": "2026-01-02T01:00+01:00", "until": "2026-01-02T00:00:00.000001Z"}, "1"),
        ({"as_of": START + timedelta(days=5)}, "01"),
        ({"as_of": START - timedelta(seconds=1)}, ""),
        ({"as_of": START + timedelta(days=10)}, "0123"),
        ({"meta": {"n": 1}}, "0"),
        ({"meta": {"n": 1.5}}, "1"),
        ({"meta": {"n": None}}, "2"),
        ({"meta": {"ok": True}}, "2"),
        ({"meta": {"ok": False}}, "3"),
        ({"meta": {"deep": {"a": [1, {"b": 2}]}}}, "2"),
        ({"meta": {"deep": {"a": [1]}}}, ""),
        ({"meta": {"n": None, "ok": True}}, "2"),
        ({"meta": {"n": {"$gte": 1}}}, "01"),
        ({"meta": {"n": {"$gt": 1}}}, "1"),
        ({"meta": {"n": {"$gt": 0, "$lt": 1.5}}}, "0"),
        ({"meta": {"n": {"$lte": 1.5, "$gt": 1}}}, "1"),
        ({"meta": {"n": {"$gt": 1.5}}}, ""),
        ({"meta": {"ok": {"$gte": 0}}}, ""),
        ({"meta": {"n": {"$gte": 1}}, "speaker": "Ana"}, "0"),
        ({"meta": {"missing": None}}, ""),
        ({"meta": {}}, "0123"),
        ({"speaker": "Ana", "session": "s1", "wing": "w1", "meta": {"n": 1}}, "0"),
        ({"session": "nope"}, ""),
    ],
)
def test_filters_narrow_every_read_alike(memory: Memory, filters: dict, expected: str) -> None:
    keys = sorted(hit.event.key or "" for hit in memory.recall("river", k=50, **filters))
    assert "".join(keys) == expected
    assert "".join(event.key or "" for event in memory.events(**filters)) == expected
    context = memory.context("river", budget=2000, **filters)
    assert sorted(citation.key or "" for citation in context.citations) == sorted(expected)
    if set(filters) <= {"wing", "speaker", "since", "until", "as_of"}:
        sessions = {session.name for session in memory.sessions(**filters)}
        assert sessions == {memory.get(key=key).session for key in expected} - {None}


def test_a_filter_on_meta_reads_pages_in_order(memory: Memory) -> None:
    memory.add_many(
        {"text": f"Stone {number}.", "key": f"s{number}", "meta": {"kind": "stone", "n": number + 10}, "at": START}
        for number in range(60)
    )
    keys = [f"s{number}" for number in range(60)]
    assert [event.key for event in memory.events(meta={"kind": "stone"})] == keys
    assert [event.key for event in memory.events(meta={"kind": "stone"}, newest_first=True)] == keys[::-1]
    assert [event.key for event in memory.events(meta={"n": {"$gte": 65}})] == keys[55:]
    assert [event.key for event in memory.events(meta={"kind": "stone"}, limit=7)] == keys[:7]
    memory.add_many({"text": f"Leaf {number}.", "meta": {"kind": "leaf"}} for number in range(1_100))  # many
    assert sum(1 for _ in memory.events(meta={"kind": "leaf"})) == 1_100
    assert [event.text for event in memory.events(meta={"kind": "leaf"}, limit=1)] == ["Leaf 0."]
    page = memory.admin.page_of_events(meta={"kind": "stone"}, limit=40)
    rest = memory.admin.page_of_events(meta={"kind": "stone"}, cursor=page.next)
    assert [event.key for event in [*page, *rest]] == keys


def test_names_and_values_of_meta_may_be_anything(memory: Memory) -> None:
    odd = {"é\x00\ud800 \"'": "\ud800\x00", "long" * 100: 1, "value": "x" * 1_000, "big": 10**30, "$.a": 1, "": ""}
    memory.add("Odd.", key="odd", meta=odd)
    for name, value in odd.items():
        assert [event.key for event in memory.events(meta={name: value})] == ["odd"], name
    assert [event.key for event in memory.events(meta={"big": {"$gt": 10**29}})] == ["odd"]


def test_the_values_of_meta_are_listed_until_their_events_are_forgotten(memory: Memory) -> None:
    assert memory.admin.meta_values("n") == [1, 1.5, None]
    assert memory.admin.meta_values("ok") == [False, True]
    assert memory.admin.meta_values("deep") == memory.admin.meta_values("nope") == []
    assert memory.wing("w1").admin.meta_values("n") == [1]
    memory.forget(keys=["1"])
    assert memory.admin.meta_values("n") == [1, None]
    assert list(memory.events(meta={"n": 1.5})) == []
    assert not memory.admin.verify(deep=True).problems


@pytest.mark.parametrize(
    "bad",
    [
        {"wing": 5},
        {"session": b"s1"},
        {"speaker": ["Ana"]},
        {"speaker": "\ud800"},
        {"session": "a\x00b"},
        {"wing": ""},
        {"meta": "n=1"},
        {"meta": [("n", 1)]},
        {"meta": {"n": float("nan")}},
        {"meta": {"n": object()}},
        {"meta": {"n": {"$gt": "1"}}},
        {"meta": {"n": {"$gt": True}}},
        {"meta": {"n": {"$gt": 10**400}}},
        {"meta": {"n": {"$near": 1}}},
        {"meta": {"n": {"$gt": 1, "plain": 2}}},
        {"meta": {"n": {1: 2, "b": 3}}},
        {"since": "soon"},
        {"until": object()},
        {"as_of": True},
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_or_finds_nothing(memory: Memory, bad: dict) -> None:
    for read in (
        lambda: memory.recall("river", **bad),
        lambda: list(memory.events(**bad)),
        lambda: memory.context("river", **bad).citations,
    ):
        with contextlib.suppress(InvalidFilter, InvalidTime):
            assert len(read()) == 0


def test_an_empty_name_never_means_everything(memory: Memory) -> None:
    for name in ("wing", "session", "speaker"):
        try:
            receipt = memory.forget(**{name: ""})  # type: ignore[arg-type]
        except InvalidInput:
            continue
        assert receipt.events == 0
    with pytest.raises(InvalidInput):
        memory.forget(wing="", speaker="Ana")
    assert memory.stats().events == 4


# Hits


def test_hits_are_ranked_and_explain_themselves(memory: Memory) -> None:
    hits = memory.recall("the cold river", k=3)
    assert len(hits) == 3
    assert hits[0].event.key == "0"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        stages = [step["stage"] for step in hit.explain()]
        assert "words" in stages or "vectors" in stages
        assert stages[-1] == "fuse"  # this model has no token vectors to look closer with
        assert all(step["why"] for step in hit.explain())
        assert hit.text == hit.event.text
        assert hit.quote == hit.text[hit.span.start : hit.span.end] != ""


def test_a_question_with_no_match_by_words_still_gives_what_is_near(memory: Memory) -> None:
    assert memory.recall("rivers") != []
    with Memory.open(":memory:", embedder="none") as bare:
        bare.add("The river is cold.")
        assert bare.recall("volcano") == []


def test_recall_is_the_same_each_time(memory: Memory) -> None:
    first = memory.recall("river stones", k=4)
    assert all(memory.recall("river stones", k=4) == first for _ in range(3))


@pytest.mark.parametrize("recipe", ["hybrid", "words", "pooled"])
def test_recipes_are_chosen_by_name(recipe: str) -> None:
    with Memory.open(":memory:", embedder="hashing", recipe=recipe) as memory:
        memory.add_many([{"text": f"Stone number{n} lies there."} for n in range(20)])
        assert memory.recall("number7")[0].text == "Stone number7 lies there."


@pytest.mark.parametrize("k", [0, -1, 10**9, True, 2.0, "3"])
def test_k_must_be_a_sensible_number(memory: Memory, k: object) -> None:
    with pytest.raises(InvalidInput):
        memory.recall("river", k=k)  # type: ignore[arg-type]


def test_k_bounds_the_hits(memory: Memory) -> None:
    assert [len(memory.recall("river", k=k)) for k in (1, 2, 4, 1000)] == [1, 2, 4, 4]


@pytest.mark.slow
def test_the_end_of_a_long_message_is_found_and_pointed_at() -> None:
    words = " ".join(f"Sentence {n} talks about ordinary things of the day." for n in range(700))
    end = "At the very end the combination of the safe is marzipan seventeen."
    text = f"{words} {end}"
    with Memory.open(":memory:", reader="none") as memory:
        memory.add_many([{"text": f"Distraction {n} about ordinary things and a safe place."} for n in range(50)])
        long = memory.add(text, speaker="Ana")
        assert len(text.split()) > 5_000
        (hit,) = memory.recall("What is the combination of the safe, marzipan?", k=1)
        assert hit.event.id == long.id
        assert "marzipan" in hit.quote
        assert hit.span.start > len(words) - 1_500
        assert len(hit.quote) < 2_000
        context = memory.context("the combination of the safe, marzipan", budget=60)
        assert "marzipan" in context.text


# Context


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["words", None, len])
def test_a_context_is_never_over_its_budget_and_counts_exactly(tokenizer) -> None:
    from everyword.models.tokenizers import load_tokenizer

    count = load_tokenizer(tokenizer).count
    with Memory.open(":memory:", embedder="hashing", tokenizer=tokenizer) as memory:
        for n in range(60):
            memory.add(
                f"River note {n}:\n" + "and the water flows on, très vite… 河流 🌊. " * (n % 7),
                speaker="Ana" if n % 2 else None,
                session=f"s{n % 5}" if n % 3 else None,
                at=START + timedelta(hours=n),
            )
        filled = 0
        for budget in [*range(1, 51, effort(7, 1)), 300, 1200, 5000]:
            context = memory.context("river water", budget=budget)
            assert context.tokens <= budget == context.budget
            assert context.tokens == count(context.text)
            assert bool(context.text) == bool(context.citations)
            filled = max(filled, context.tokens)
        assert filled > 1000
        assert memory.context("river water", budget=1200).tokens > 600  # a budget is there to be used


@pytest.mark.slow
def test_a_tokenizer_that_counts_a_text_for_more_than_its_lines_is_obeyed() -> None:
    def count(text: str) -> int:
        return len(text) ** 2 // 50

    with Memory.open(":memory:", embedder="hashing", tokenizer=count) as memory:
        memory.add_many([{"text": f"River note {n}.", "session": f"s{n % 3}"} for n in range(30)])
        for budget in (5, 50, 200, 1000, 5000):
            context = memory.context("river", budget=budget)
            assert context.tokens == (count(context.text) if context.text else 0)
            assert context.tokens <= budget
        assert context.citations


def test_citations_resolve_to_spans_of_events(memory: Memory) -> None:
    context = memory.context("river", budget=500)
    assert len(context.citations) == 4
    for citation in context.citations:
        event = memory.get(citation.event_id)
        quoted = event.text[citation.span.start : citation.span.end]
        assert quoted
        line = next(line for line in context.text.splitlines() if line.startswith(citation.mark))
        assert quoted in line
        assert line.startswith(f"{citation.mark} {event.speaker}: " if event.speaker else f"{citation.mark} {quoted}")
        assert citation.key == event.key
    assert len({citation.mark for citation in context.citations}) == 4


def test_a_line_stands_under_its_day(memory: Memory) -> None:
    memory.add("The river froze.", speaker="Ana", session="s1", at=START + timedelta(hours=5))
    assert inside(memory.context("river", budget=500).text) == (
        "1 January 2026\n"
        "[1] Ana: The river is cold.\n"
        "[2] Ana: The river froze.\n"
        "\n"
        "2 January 2026\n"
        "[3] Bo: A river trip with Bo.\n"
        "\n"
        "3 January 2026\n"
        "[4] Ana: We crossed the river.\n"
        "\n"
        "4 January 2026\n"
        "[5] No water here, only river stones."
    )


def test_lines_of_a_session_stand_together_oldest_first() -> None:
    with Memory.open(":memory:", embedder="hashing", tokenizer="words") as memory:
        for n in (3, 0, 4, 1, 2):
            for session in ("b", "a"):  # the one that began first comes first, whichever was written first
                at = START + timedelta(days=n, hours=1 if session == "b" else 0)
                memory.add(f"River {session}{n}", session=session, at=at)
        context = memory.context("river", budget=2000)
        order = [memory.get(citation.event_id).text.split()[1] for citation in context.citations]
        assert order == [f"a{n}" for n in range(5)] + [f"b{n}" for n in range(5)]


def test_an_empty_memory_says_that_nothing_is_there() -> None:
    with Memory.open(":memory:", embedder="hashing", tokenizer="words") as memory:
        context = memory.context("anything")
        assert (context.text, context.citations) == ("Not in this memory.", ())
        assert memory.recall("anything") == []
        assert list(memory.events()) == []
        assert memory.sessions() == []
        stats = memory.stats(parts=True)
        assert (stats.events, stats.first_at, stats.last_at) == (0, None, None)
        assert memory.admin.verify().ok


@pytest.mark.parametrize("budget", [0, -5, True, 1.5, "100", 10**12])
def test_a_budget_must_be_a_sensible_number(memory: Memory, budget: object) -> None:
    with pytest.raises(InvalidInput):
        memory.context("river", budget=budget)  # type: ignore[arg-type]


# get, events, sessions, stats


def test_get_takes_an_id_or_a_key(memory: Memory) -> None:
    event = memory.get(key="2")
    assert memory.get(event.id) == event
    for wrong in ({}, {"id": event.id, "key": "2"}, {"id": "nonsense"}, {"id": ""}, {"id": 5}):
        with pytest.raises(InvalidInput):
            memory.get(**wrong)
    for absent in ({"key": "absent"}, {"id": "ev_" + "0" * 32}):
        with pytest.raises(NotFound):
            memory.get(**absent)
    for odd in ("\ud800", object(), 5, "", "x\x00"):
        with pytest.raises((InvalidInput, NotFound)):
            memory.get(key=odd)  # type: ignore[arg-type]


def test_events_come_in_either_order_and_number(memory: Memory) -> None:
    assert [event.key for event in memory.events(newest_first=True)] == ["3", "2", "1", "0"]
    assert [event.key for event in memory.events(limit=2)] == ["0", "1"]
    assert [event.key for event in memory.events(newest_first=True, limit=1)] == ["3"]
    for limit in (0, -1, True, 1.5):
        with pytest.raises(InvalidInput):
            list(memory.events(limit=limit))  # type: ignore[arg-type]


@pytest.mark.slow
def test_events_go_on_over_many_pages_while_others_write() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.add_many([{"text": f"event {n}", "at": START + timedelta(minutes=n)} for n in range(1234)])
        seen = []
        for event in memory.events():
            if len(seen) == 600:
                memory.add("written meanwhile", at=START - timedelta(days=1))
            seen.append(event.text)
        assert seen == [f"event {n}" for n in range(1234)]
        assert len(list(memory.events(limit=700))) == 700
        assert len(list(memory.events(newest_first=True))) == 1235


def test_sessions_are_told(memory: Memory) -> None:
    sessions = memory.sessions()
    assert [session.name for session in sessions] == ["s2", "s1"]
    assert sessions[1].speakers == ("Ana", "Bo")
    assert sessions[1].wings == ("w1",)
    assert sessions[1].events == 2
    assert sessions[1].first_at == START
    assert sessions[1].last_at == START + timedelta(days=1)


def test_stats_count(memory: Memory) -> None:
    stats = memory.stats(parts=True)
    assert (stats.events, stats.events_total, stats.sessions, stats.speakers, stats.wings) == (4, 4, 2, 2, 2)
    assert (stats.first_at, stats.last_at) == (START, START + timedelta(days=3))
    assert stats.vectors == 4
    assert stats.pending == 0
    assert stats.model is not None
    assert stats.model.startswith("hashing@")
    assert stats.bytes > 0
    assert stats.bytes_by_part


@pytest.mark.parametrize("method", ["recall", "context", "ask"])
def test_a_condition_that_there_is_none_of_is_named_with_those_there_are(memory: Memory, method: str) -> None:
    with pytest.raises(InvalidFilter, match=r"Unknown filter 'sesion'.*session"):
        getattr(memory, method)("Where?", sesion="s1")
