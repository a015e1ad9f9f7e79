"""Stories in which something changes: what counts as right, and that the files are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from evals.updates import STORIES, Asked, Story, as_table, measure, read_stories

from everyword import Memory
from everyword.types.times import as_datetime

LINES = [
    {"at": "2025-02-02", "speaker": "Elin", "text": "The spare key is under the flowerpot."},
    {"at": "2025-05-02", "speaker": "Elin", "text": "The flowerpot is no good; the spare key hangs in the shed now."},
]


@pytest.mark.parametrize(
    ("right", "wrong", "outcome"),
    [("shed", "attic", "right"), ("shed", "flowerpot", "right"), ("attic", "shed", "wrong"), ("attic", "", "neither")],
)
def test_an_answer_is_right_if_it_names_the_value_that_holds(right: str, wrong: str, outcome: str) -> None:
    question = "Where does the spare key hang in the shed?"
    story = Story(LINES, [Asked("now", question, [right], [wrong] if wrong else [], as_datetime("2025-06-01", "now"))])
    found = measure([story], opened=lambda: Memory.open(":memory:", embedder="none"))
    assert found["now", "first hit", outcome] == 1
    assert f"| now (1) | first hit | {outcome} 1 |" in as_table(found)


@pytest.mark.parametrize(("path", "count"), [(STORIES, 40), (STORIES.with_name("changes.jsonl"), 320)])
def test_every_question_is_in_one_half_and_whole(path: Path, count: int) -> None:
    halves = [read_stories(path), read_stories(path, held_back=True)]
    stories = [story for half in halves for story in half]
    assert sum(len(story.questions) for story in stories) == count
    assert len({str(story.lines) for story in stories}) == len(stories)
    for asked in (asked for story in stories for asked in story.questions):
        assert (asked.asks == "never") == (not asked.right), asked
