"""Which words may found and name a concept: those that name things, also in long events and in titles."""

from __future__ import annotations

import random

import pytest

from everyword import Memory
from everyword.knowledge.legacy.fold.moments import words_of
from everyword.knowledge.legacy.fold.naming import TABLE, is_known, names_well
from everyword.knowledge.legacy.fold.standing import standings, things_of
from everyword.knowledge.legacy.fold.wording import description_of, label_of, turned_around, worded
from everyword.text.terms import stem


def test_the_table_knows_nouns_of_themes_from_words_of_every_tale() -> None:
    names = [names_well(stem(word)) for word in ("audit", "treatment", "budget", "research", "migration")]
    tells = [names_well(stem(word)) for word in ("completed", "grinned", "closed", "almost", "eleven")]
    assert min(names) > 0 > max(tells)
    assert names_well("qxzvk") == 0.0  # a word that it does not know is as good as most
    assert is_known(stem("beach"))
    assert not any(map(is_known, ("qxzvk", "melanie", "oona")))


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
    ("text", "things"),
    [
        ("Booked flights for spring.", ["flights", "spring"]),
        ("The booking is lost.", ["booking"]),
        ("I rotated the keys of our mailer", ["keys", "mailer"]),
        ("We designed it, and she paints landscapes", ["landscapes"]),
        ("They paint the fence after swimming", ["fence", "swimming"]),
        ("It was peaceful and serene.", []),
        ("Melanie, look! Oona is late.", []),  # who is called, and a name that a sentence begins with
        ("Physio exercises on the fridge", ["physio", "exercises", "fridge"]),
        ("What a difference, a blast in every sense", []),
        ("La boulangerie du village", ["boulangerie", "du", "village"]),
    ],
)
def test_a_word_stands_as_the_name_of_a_thing_or_does_not(text: str, things: list[str]) -> None:
    assert [one.word for one in standings(text) if one.thing] == things
    assert things_of(text) == {stem(word) for word in things}


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (["Rotated the pump", "The rotation took an hour", "Rotated again, one more rotation"], "rotation"),
        (["Keep spreading kindness", "By spreading kindness", "Spreading kindness helps"], "spreading kindness"),
        (["A stained glass window", "The stained glass windows", "Our stained glass window"], "stained glass window"),
        (["No worries, John", "More worries. John left", "Less worries: John"], "worries"),
        (["Budgets are cut", "Budgets of ours", "Budgets!"], "budgets"),
        (["VAT is due", "VAT was paid", "VAT of the shop"], "VAT"),
    ],
)
def test_a_label_is_said_as_the_name_of_a_thing(texts: list[str], label: str) -> None:
    read = [words_of(text)[0] for text in texts]
    assert label_of(texts, read, {}, stem(label.split()[-1].lower())) == label


def test_a_description_tells_what_is_said_along_with_the_label() -> None:
    texts = [
        "Mum did her physio exercises, she was in pain.",
        "Physio exercises twice a day, the list hangs on the fridge.",
        "Drum lessons cost 70 a month at the music school.",
    ]
    line, keys = description_of(texts, ["Mum"], "physio")
    assert keys[0] == "physio exercises"
    assert "physio" not in keys
    assert keys.index("fridge") < keys.index("drum lessons")  # what came in by its vector alone comes last
    assert line == ", ".join(keys)


def test_words_of_a_title_are_no_names() -> None:
    terms, names = words_of("Ethics Committee Reply: I got the form back from Oona and changed one page.")
    assert {stem("ethics"), stem("committee"), stem("reply")} <= set(terms)
    assert names == ("Oona",)
    terms, names = words_of("Dinner with Oona Lindqvist: she paid.")  # only names are written large here
    assert names == ("Oona", "Lindqvist")


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (["The pull request is green", "Their pull request waits", "A pull request broke it"], "pull request"),
        (
            [
                "The survey has odd questions for staff",
                "Some staff left our survey half empty",
                "That survey ends today",
            ],
            "survey, staff",
        ),
        (["A survey for parents", "The survey went out", "No survey without a prize"], "survey"),
    ],
)
def test_a_label_has_a_second_word_where_half_of_the_events_do(texts: list[str], label: str) -> None:
    read = [words_of(text)[0] for text in texts]
    assert label_of(texts, read, {}, stem(label.split(",")[0].split()[-1])) == label
    assert worded(texts, None)[0]


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
