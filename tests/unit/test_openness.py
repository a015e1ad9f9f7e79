"""How likely an event holds an open goal: the model that stands beside the rules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from everyword.knowledge.legacy.fold import openness
from everyword.knowledge.legacy.fold.goals import MarkKind, marks_of, read_rules, signs_of
from everyword.types.events import Event

AT = datetime(2026, 5, 4, 9, tzinfo=UTC)
MOST_LINES, MOST_BYTES = 3_100, 120 * 1024
SIGNS = {"[bias]", "[others]", "[open]", "[own]", "[evident]", "[trouble]", "[deed]"}


def likely(text: str) -> float:
    """Weigh a short event as the fold does."""
    found = read_rules(Event(text=text, at=AT))
    return openness.score((one.sentence for one in found), signs_of(found))


def goals_in(text: str) -> list[str]:
    """Give the clauses of the goals that are read in an event."""
    clauses: list[str] = []
    for mark in marks_of(Event(text=text, at=AT)):
        if mark.kind is MarkKind.GOAL:
            start, end = mark.body["clause"]  # type: ignore[misc]
            clauses.append(text[start:end])  # type: ignore[misc]
    return clauses


def weights() -> dict[str, float]:
    """Read the file as it is shipped."""
    lines = files("everyword.knowledge.legacy.fold").joinpath(openness.WEIGHTS).read_text(encoding="utf-8").splitlines()
    return {name: float(weight) for name, weight in (line.split("\t") for line in lines)}


def test_the_weights_are_few_small_and_of_plain_words() -> None:
    shipped = files("everyword.knowledge.legacy.fold").joinpath(openness.WEIGHTS).read_bytes()
    known = weights()
    assert len(known) <= MOST_LINES
    assert len(shipped) < MOST_BYTES
    assert {name for name in known if name.startswith("[")} == SIGNS
    word = re.compile(r"<(?:name|number|day|month)>|un-ed|-(?:ed|ing|ly|s)?|[a-z]+(?:'[a-z]+)?|[?!:;,.^$]")
    assert [name for name in known.keys() - SIGNS if not all(map(word.fullmatch, name.split()))] == []


@pytest.mark.parametrize(
    "text",
    [
        "Slide On Paper: We have wanted a slide for the yard since spring, and nobody has ordered one yet.",
        "The lease ends in June and we still have no flat.",
        "Half of the fence is up, and the goats come on Saturday.",
        "I told the twins that they would have a kite by Easter, and there is no paper for it yet.",
    ],
)
def test_an_open_goal_is_more_likely_than_not(text: str) -> None:
    assert likely(text) > 0


@pytest.mark.parametrize(
    "text",
    [
        "Slide Opened: I watched the children try the new slide, and the headmistress went down first.",
        "Because the pump had failed, we carried the water in buckets until the fitter came.",
        "An old sailor told me that the harbour froze over in his youth.",
        "We had a lovely picnic, and the little one slept all the way home.",
    ],
)
def test_what_is_over_told_or_talk_is_not_likely_a_goal(text: str) -> None:
    assert likely(text) < 0


def test_talk_holds_no_goal() -> None:
    for text in (
        "Your patience with the kids is inspiring. It takes a lot of heart to do what you do.",
        "Wow, what a view! You must have climbed for hours.",
        "That sounds like a plan, have fun at the fair!",
    ):
        assert goals_in(text) == []


def test_the_same_text_weighs_the_same_in_every_process() -> None:
    text = "The lease ends in June, half of the boxes are packed, and we still have no flat to carry them to."
    code = f"from everyword.knowledge.legacy.fold.openness import telling; print(repr(telling({text!r})))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert told == {f"{openness.telling(text)!r}\n".encode()}


@pytest.mark.parametrize("text", ["a" * 1_000_000, "'" * 1_000_000])
def test_hostile_text_costs_little(text: str) -> None:
    started = time.process_time()
    marks_of(Event(text=text, at=AT))
    openness.telling(text)
    assert time.process_time() - started < 8
