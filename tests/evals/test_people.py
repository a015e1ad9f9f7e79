"""The task of people: half of its questions name somebody of whom the thing was never told."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from evals.tasks.people import people


@pytest.mark.parametrize("held_back", [False, True])
def test_each_thing_is_asked_of_one_it_was_told_of_and_of_one_it_was_not(held_back: bool) -> None:
    task = people(3, held_back=held_back)
    for asked in task.questions:
        texts = {line.key: line for line in task.stores[asked.store]}
        assert asked.answerable == bool(asked.evidence)
        assert all(key in texts for key in asked.evidence)
    assert Counter(asked.answerable for asked in task.questions) == {True: 288, False: 288}
    assert Counter(asked.category for asked in task.questions) == {"notes": 288, "group": 288}


def test_what_answers_is_told_of_the_person_or_by_them() -> None:
    task = people(3)
    lines = {line.key: line for lines in task.stores.values() for line in lines}
    for asked in task.questions:
        for key in asked.evidence:
            assert asked.expects["person"] in (lines[key].speaker, *re.findall(r"\w+", lines[key].text))


def test_what_can_not_be_answered_was_told_of_others_and_not_of_the_person() -> None:
    task = people(3)
    told = {
        (asked.store, asked.expects["topic"], asked.expects["person"]) for asked in task.questions if asked.evidence
    }
    for asked in (asked for asked in task.questions if not asked.answerable):
        thing = (asked.store, asked.expects["topic"])
        assert (*thing, asked.expects["person"]) not in told
        assert any(one[:2] == thing for one in told)


def test_the_two_halves_share_no_thing_and_no_name() -> None:
    ours, held = people(1), people(1, held_back=True)
    things = [{asked.expects["topic"] for asked in task.questions} for task in (ours, held)]
    names = [{line.speaker for lines in task.stores.values() for line in lines} for task in (ours, held)]
    assert not things[0] & things[1]
    assert not names[0] & names[1]


def test_the_same_seed_makes_the_same_task() -> None:
    assert people(5).data_hash == people(5).data_hash != people(6).data_hash
