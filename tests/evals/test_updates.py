"""Stories in which something changes: what counts as right, and that the files are whole."""

from __future__ import annotations

import pytest
from evals.updates import Story, as_table, measure, read_stories

from everyword import Memory

LINES = [
    {"at": "2025-02-02", "speaker": "Elin", "text": "The spare key is under the flowerpot."},
    {"at": "2025-05-02", "speaker": "Elin", "text": "The flowerpot is no good; the spare key hangs in the shed now."},
]


@pytest.mark.parametrize(
    ("right", "wrong", "outcome"),
    [("shed", "attic", "right"), ("shed", "flowerpot", "right"), ("attic", "shed", "wrong"), ("attic", "", "neither")],
)
def test_an_answer_is_right_if_it_names_the_value_that_holds(right: str, wrong: str, outcome: str) -> None:
    story = Story("now", "Where does the spare key hang in the shed?", right, wrong, LINES)
    found = measure([story], opened=lambda: Memory.open(":memory:", embedder="none"))
    assert found["now", "first hit", outcome] == 1
    assert f"| now (1) | first hit | {outcome} 1 |" in as_table(found)


def test_every_story_is_in_one_half_and_whole() -> None:
    halves = [read_stories(), read_stories(held_back=True)]
    assert len({story.question for half in halves for story in half}) == sum(map(len, halves)) == 40
    for story in (*halves[0], *halves[1]):
        said = " ".join(line["text"] for line in story.lines)
        assert story.right in said
        assert story.wrong in said
        assert (story.asks == "never") == (not story.right)
