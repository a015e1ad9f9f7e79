"""Names in what people write: which are found and as what, what is left alone, and whom a name means."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from everyword.errors import InvalidInput
from everyword.knowledge.legacy.extract.entities import NameIndex, find_mentions, merge, split, undone
from everyword.types.events import Event, Span
from everyword.types.graph import Entity, EntityType, Mention, entity_id, name_key

LABELLED = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "entities.jsonl").read_text(encoding="utf-8").splitlines()
]
PERSON, PLACE, ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION


def _event(text: str, speaker: str | None = "Vee", role: str = "user") -> Event:
    return Event(text=text, speaker=speaker, role=role)


def _named(text: str, known: NameIndex | None = None, **more: str) -> dict[str, EntityType]:
    found = find_mentions(_event(text, **more), known or NameIndex())
    return {mention.text: mention.type for mention in found if not mention.bare}


def _learnt(*texts: str, speaker: str = "Ana", into: NameIndex | None = None) -> NameIndex:
    index = into or NameIndex()
    for text in texts:
        index.learn(find_mentions(_event(text, speaker), index), speaker)
    return index


def _person(text: str) -> Mention:
    return Mention(span=Span(0, len(text)), text=text, type=PERSON, score=0.9)


# What is found


@pytest.mark.parametrize("part", ["dev", "held"])
def test_nine_in_ten_names_are_right_and_most_are_found(part: str) -> None:
    right = found = there = 0
    for row in LABELLED:
        if row["split"] == part:
            got = {name: type.value for name, type in _named(row["text"]).items()}
            want = dict(row["expect"])
            right += sum(want.get(name) == type for name, type in got.items())
            found += len(got)
            there += len(want)
    assert right / found >= 0.90, f"precision {right / found:.3f}"
    assert right / there >= 0.85, f"recall {right / there:.3f}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Will you come?", {}),
        ("I moved to São Paulo.", {"São Paulo": PLACE}),
    ],
)
def test_a_capital_is_read_with_what_stands_around_it(text: str, names: dict[str, EntityType]) -> None:
    assert _named(text) == names


# Whom a name means


def test_spellings_of_a_name_are_one() -> None:
    assert name_key("JOSÉ  da Silva’s") == name_key("José da Silva")
    assert name_key("Siemens AG") == name_key("siemens")
    assert name_key("Mr Banks") != name_key("Mrs Banks")
    assert entity_id("a", "Mia") == entity_id("a", "MIA") != entity_id("b", "Mia")


def test_what_could_be_two_stays_open() -> None:
    index = NameIndex()
    index.learn([_person("Sam Jones"), _person("Samantha Lee")])
    resolved = index.resolve(_person("Sam"))
    assert resolved.entity_id is None
    assert "2" in resolved.why
    assert index.resolve(_person("Quorra")).entity_id is None


NAMES = ["Mike", "Michael", "Mike Smith", "Michael Chen", "M. Chen", "Sam", "Dr Chen", "Ana", "Ana Silva"]


@settings(max_examples=effort(15, 60), deadline=None)
@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_the_order_of_names_does_not_matter(names: list[str], shuffle: object) -> None:
    other = list(names)
    shuffle.shuffle(other)  # type: ignore[attr-defined]
    one, two = NameIndex(), NameIndex()
    moved: dict[str, str] = {}
    for name in names:
        moved |= one.learn([_person(name)])
    for name in other:
        two.learn([_person(name)])
    assert one.homes() == two.homes()
    assert one.entities() == two.entities()
    final = one.homes()
    assert all(final[name] == home for name, home in moved.items())


# By hand


def _two() -> tuple[NameIndex, Entity, Entity]:
    index = NameIndex()
    index.learn([_person("Lena Berg"), _person("Helena Berg"), _person("Lena")])
    one = index.entity(entity_id("default", "Lena Berg"))
    two = index.entity(entity_id("default", "Helena Berg"))
    assert one is not None
    assert two is not None
    return index, one, two


def test_merging_joins_all_names_and_can_be_undone() -> None:
    index, one, two = _two()
    before = index.entities()
    change = merge(index.pins, one, two)
    index.pins = change.pins
    (merged,) = index.entities()
    assert merged.id == two.id
    assert set(merged.aliases) == {"Lena Berg", "Lena"}
    assert index.resolve(_person("Lena")).entity_id == two.id
    index.pins = undone(index.pins, change.undo)
    assert index.entities() == before


def test_splitting_takes_names_away_and_can_be_undone() -> None:
    index, one, _ = _two()
    assert one.aliases == ("Lena",)
    change = split(index.pins, one, ["Lena"])
    index.pins = change.pins
    assert {entity.name for entity in index.entities()} == {"Lena", "Lena Berg", "Helena Berg"}
    index.pins = undone(index.pins, change.undo)
    assert index.entity(one.id) == one


def test_what_makes_no_sense_is_refused() -> None:
    index, one, _ = _two()
    with pytest.raises(InvalidInput):
        merge(index.pins, one, one)
    with pytest.raises(InvalidInput):
        split(index.pins, one, ["Nobody"])
    with pytest.raises(InvalidInput):
        split(index.pins, one, ["Lena", "Lena Berg"])
    with pytest.raises(InvalidInput):
        merge(index.pins, one, Entity(id="en_x", name="X", type=PERSON, space="elsewhere"))


# Hostile texts

HOSTILE = [
    "A" * 1_000_000,
    "Ab " * 330_000,
    "my " * 330_000,
    "my sister " * 100_000,
    "Ana's " * 160_000,
    "a_" * 500_000,
    "`" * 500_000,
    "**" * 400_000,
    "Dr. " * 250_000,
    "/a" * 400_000,
    "#" * 900_000,
    "X." * 450_000,
    "\x00Mia\x00 " * 100_000,
    "\ud800Mia \udfff" * 100_000,
    "👩‍👧‍👦 Mia " * 60_000,
    "é" * 700_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_a_megabyte_of_anything_is_read_in_little_time(text: str) -> None:
    index = _learnt("My sister Mia lives in Porto.")
    started = time.process_time()
    find_mentions(_event(text), index)
    assert time.process_time() - started < 4.0


@settings(max_examples=effort(30, 150), deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_verbatim_mentions_that_do_not_overlap(text: str) -> None:
    index = NameIndex()
    mentions = find_mentions(_event(text, speaker=text[:20] or None), index)
    assert all(text[slice(*mention.span)] == mention.text for mention in mentions)
    named = [mention.span for mention in mentions if not mention.bare]
    assert all(one.end <= two.start for one, two in pairwise(named))
    index.learn(mentions, text[:20] or None)
    assert all(index.entity(index.id_of(mention, text[:20] or None)) for mention in mentions)
