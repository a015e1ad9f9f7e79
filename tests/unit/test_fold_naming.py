"""Which words may found and name a concept: those that name things, also in long events and in titles."""

from __future__ import annotations

import random

import pytest

from everyword import Memory
from everyword.knowledge.legacy.fold.moments import words_of
from everyword.knowledge.legacy.fold.naming import TABLE
from everyword.knowledge.legacy.fold.wording import label_of, turned_around
from everyword.text.terms import stem


def test_the_table_is_small_and_holds_stems_alone() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    steps = [int(line.split()[0]) for line in lines]
    stems = [term for line in lines for term in line.split()[1:]]
    assert steps == sorted(set(steps))
    assert steps[0] >= -16
    assert steps[-1] <= 16
    assert 5_000 < len(stems) == len(set(stems)) < 10_000
    assert all(term == term.lower() and not any(map(str.isdigit, term)) for term in stems)


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (["Rotated the pump", "The rotation took an hour", "Rotated again, one more rotation"], "rotation"),
        (["Budgets are cut", "Budgets of ours", "Budgets!"], "budgets"),
    ],
)
def test_a_label_is_said_as_the_name_of_a_thing(texts: list[str], label: str) -> None:
    read = [words_of(text)[0] for text in texts]
    assert label_of(texts, read, {}, stem(label.split()[-1].lower())) == label


@pytest.mark.parametrize("seed", [10, 37, 47])
def test_groups_that_share_two_words_are_neither_one_concept_nor_named_alike(seed: int) -> None:
    dice = random.Random(seed)
    things = "dog beach guitar cake mountain library kitten garden violin soup harbour bicycle lantern pottery".split()
    with Memory.open(":memory:", "hashing") as memory:
        for _ in range(40):
            one, other = dice.sample(things, 2)
            frames = (
                f"Here is a photo of the {one} and the {other}, image by Ben.",
                f"An image of my {one} near a {other}, taken as a photo by Ana.",
                f"This image shows the {one} with the {other}.",
                f"A photo of one {one}.",
            )
            memory.add(dice.choice(frames), speaker="Ana")
        listed = [concept.label for concept in memory.concepts.list()]
    labels = set(listed)
    assert {"image", "photo"} <= {word for label in labels for word in label.split(", ")}
    assert len(listed) == len(labels)
    assert labels.isdisjoint({turned_around(label)[1] for label in labels})


def test_a_word_that_names_nothing_founds_no_concept() -> None:
    with Memory.open(":memory:", "hashing") as memory:
        for text in (
            "Almost closed the cupboard on my thumb while the kettle was boiling over in the kitchen again.",
            "The library closed early, so I carried six novels home through heavy rain on the bridge.",
            "My brother closed his account with the old bank after the fees went up in spring.",
        ):
            memory.add(text, speaker="Ana")
        assert not [concept for concept in memory.concepts.list() if "closed" in concept.label]
        for text in (
            "The audit of our access logs began, and I gave the auditor a desk by the window.",
            "I sorted twelve months of change records for the audit into two folders by team.",
            "Our audit found one account without a second factor, and I locked it at once.",
        ):
            memory.add(text, speaker="Ana")
        assert any("audit" in concept.label for concept in memory.concepts.list())
