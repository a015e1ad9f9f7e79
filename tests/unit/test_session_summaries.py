"""Session summaries: what a session was about, in its own words, whatever the order in which it came."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from everyword.knowledge.legacy.fold.sessions import MOST_KEPT, SessionState, refresh, summarise
from everyword.types.events import Event, Span

START = datetime(2026, 3, 10, 9, tzinfo=UTC)

_LINES = [
    ("Iris", "Hi Omar! How are you?"),
    ("Omar", "I finally finished building the greenhouse behind our house."),
    ("Iris", "Wow, that's great!"),
    ("Omar", "The greenhouse has room for forty tomato plants and a lemon tree."),
    ("Iris", "I want to grow tomato plants too, but my balcony gets no sun."),
    ("Omar", "Tomato plants need six hours of sun, so a greenhouse on the balcony would not help."),
    ("Iris", "My lemon tree died last winter because the pot was too small."),
    ("Omar", "You can have a cutting of my lemon tree in April."),
    ("Iris", "Thanks!"),
    ("Omar", "By the way, the plumber is coming on Thursday to fix the pump in the greenhouse."),
]


def _session(lines: list[tuple[str, str]] = _LINES) -> list[Event]:
    return [
        Event(text=text, speaker=who, role="user", at=START + timedelta(minutes=place), id=f"ev_{place}")
        for place, (who, text) in enumerate(lines)
    ]


def test_themes_are_sentences_of_the_session_verbatim() -> None:
    events = {event.id: event for event in _session()}
    summary = summarise(events.values())
    assert 1 <= len(summary.themes) <= 5
    for theme in summary.themes:
        source = events[theme.event_id]
        assert source.text[slice(*theme.span)] == theme.text
        assert theme.speaker == source.speaker
        assert theme.at == source.at
    assert [theme.at for theme in summary.themes] == sorted(theme.at for theme in summary.themes)


def test_the_summary_is_about_what_the_session_is_about() -> None:
    summary = summarise(_session())
    told = " ".join(theme.text for theme in summary.themes).lower()
    assert "greenhouse" in told
    assert not any(theme.text in ("Thanks!", "Wow, that's great!", "How are you?") for theme in summary.themes)
    keys = " ".join(summary.keys).lower()
    assert len(summary.keys) <= 5
    assert "tomato plants" in keys
    assert "lemon tree" in keys


def test_words_that_are_everywhere_make_no_keys() -> None:
    everywhere = {"greenhouse": 0.9}
    summary = summarise(_session(), frequency=lambda word: everywhere.get(word, 0.001))
    assert "greenhouse" not in summary.keys
    assert "lemon tree" in summary.keys


def test_participants_times_and_entities_are_told() -> None:
    names = {"ev_0": [(Span(3, 7), "Omar")], "ev_9": [(Span(16, 23), "plumber")], "ev_4": [(Span(0, 1), "Omar")]}
    summary = summarise(_session(), names=lambda event: names.get(event.id, []))
    assert summary.participants == ("Iris", "Omar")
    assert (summary.first_at, summary.last_at) == (START, START + timedelta(minutes=9))
    assert summary.entities == ("Omar", "plumber")


@settings(max_examples=effort(10, 40), deadline=None)
@given(st.permutations(range(len(_LINES))), st.lists(st.integers(1, 4), max_size=5), st.integers(0, 9))
def test_events_that_come_one_by_one_in_any_order_and_twice_give_the_same(
    order: list[int], cuts: list[int], again: int
) -> None:
    events = _session()
    arriving = [events[place] for place in order] + [events[again]]
    state = SessionState()
    while arriving:
        size = cuts.pop() if cuts else len(arriving)
        state, _ = refresh(state, arriving[:size])
        state = SessionState.from_json(json.loads(json.dumps(state.as_json())))
        arriving = arriving[size:]
    assert refresh(state, [])[1] == summarise(events)


def _long(count: int) -> list[Event]:
    return [
        replace(
            event,
            id=f"ev_{turn}_{place}",
            at=event.at + timedelta(hours=turn),
            text=f"{event.text} Round {turn} went well.",
        )
        for turn in range(count // len(_LINES))
        for place, event in enumerate(_session())
    ]


def test_a_long_session_costs_little_and_is_the_same_in_parts() -> None:
    events = _long(2_000)
    whole, summary = refresh(SessionState(), events)
    parts = SessionState()
    for start in range(0, len(events), 500):
        parts, _ = refresh(parts, events[start : start + 500])
    assert parts == whole
    assert len(whole.kept) == MOST_KEPT
    assert len(json.dumps(whole.as_json())) < 100_000
    assert len(summary.themes) == 5
    started = time.process_time()
    refresh(whole, _long(10)[:5])
    assert time.process_time() - started < 2.0


def test_what_programs_say_is_left_out() -> None:
    events = [replace(event, role="tool") for event in _session()]
    assert summarise(events).themes == ()


def test_code_and_pasted_pages_are_no_themes() -> None:
    code = "x = {a[0]: f(b) for b in (1, 2)}; y[3] += ((x << 2) | 0xff) & ~(z ^ 7);"
    events = [*_session(), *_session([("Iris", code), ("Iris", "word " * 400)])]
    assert all(len(theme.text) < 400 and "0xff" not in theme.text for theme in summarise(events).themes)


def test_an_empty_session_has_an_empty_summary() -> None:
    empty = summarise([])
    assert (empty.themes, empty.keys, empty.first_at) == ((), (), None)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "a b " * 250_000,
        "." * 900_000,
        "I \x00 love \ud800 it. " * 50_000,
        "漢" * 600_000,
        "-'" * 400_000,
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_a_megabyte_of_anything_is_read_in_little_time(text: str) -> None:
    started = time.process_time()
    summarise([Event(text=text, speaker="Iris", at=START, id="ev_x"), *_session()])
    assert time.process_time() - started < 8.0
