"""What is measured of conversations without a gold graph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from evals.talks import measure_talks, talks_grid
from evals.values import Line, Task

SAID = (
    "The boiler broke down again.",
    "The boiler lost pressure this morning.",
    "There is no hot water, the boiler failed for the third time.",
    "I planted tomato seeds in the garden.",
    "My garden needs weeding, the compost is full.",
    "Watering the garden takes me an hour, the soil is dry.",
    "It rained.",
)


def talk(*said: str) -> Task:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    lines = tuple(
        Line(key=f"t:{place}", text=text, speaker="Ana", session="s", role="user", at=start + timedelta(hours=place))
        for place, text in enumerate(said)
    )
    return Task(name="talk", data_hash="", stores={"one": lines}, questions=())


def test_a_row_tells_how_large_concepts_are_and_how_alike_within() -> None:
    (row,) = measure_talks(talk(*SAID))
    assert (row["talk"], row["events"], row["concepts"]) == ("one", 7, len(row["labels"]))
    assert "boiler" in row["labels"]
    assert row["largest"] == 3 / 7
    assert row["inside"] >= row["largest"]
    assert row["alike within"] > row["alike at all"] > 0
    assert [line[0] for line in talks_grid([row]).rows] == ["one", "mean"]


def test_a_talk_of_nothing_is_measured_as_nothing() -> None:
    (row,) = measure_talks(talk("Hello."), embedder="hashing")
    assert (row["concepts"], row["largest"], row["inside"], row["alike within"]) == (0, 0, 0, 0)
