"""Facts: what people claim, since when it is so, and what later words make of it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from everyword.knowledge.legacy.extract.entities import NameIndex, find_mentions
from everyword.knowledge.legacy.extract.facts import (
    extract_facts,
    place,
    readdressed,
    timeline,
)
from everyword.types.events import Event, Span
from everyword.types.graph import RELATIONS, Fact, FactDraft, entity_id

LABELLED = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "facts.jsonl").read_text(encoding="utf-8").splitlines()
]
NOW = datetime(2026, 4, 2, 10, tzinfo=UTC)


def _day(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


def _said(text: str, at: datetime = NOW, speaker: str = "Vee", role: str = "user") -> list[FactDraft]:
    event = Event(text=text, speaker=speaker, role=role, at=at, id=f"ev_{at:%Y%m%d%H%M}_{text}")
    index = NameIndex()
    return extract_facts(event, find_mentions(event, index), index)


def _told(*said: tuple[str, str]) -> list[Fact]:
    """Place what was said on each day, one after another, as a memory does."""
    facts: dict[str, Fact] = {}
    for day, text in said:
        changes = place(_said(text, _day(day)), facts.values())
        for fact in changes.gone:
            del facts[fact.id]
        facts |= {fact.id: fact for fact in changes.added} | {fact.id: fact for _, fact in changes.changed}
    return sorted(facts.values(), key=lambda fact: (fact.relation, fact.valid_from or _day("0001-01-01"), fact.object))


def _windows(facts: list[Fact], relation: str) -> list[tuple[str, str, str]]:
    return [
        (fact.object_name, _written(fact.valid_from), _written(fact.valid_to))
        for fact in facts
        if fact.relation == relation
    ]


def _written(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else ""


# What is claimed


@pytest.mark.parametrize("part", ["dev", "held"])
def test_claims_are_right_and_most_are_found(part: str) -> None:
    right = found = there = timed = 0
    for row in LABELLED:
        if row["split"] == part:
            got = {(d.subject_name, d.relation, d.object_name.lower()): d for d in _said(row["text"])}
            want = {(d["subject"], d["relation"], d["object"].lower()): d for d in row["expect"]}
            right += len(got.keys() & want.keys())
            found += len(got)
            there += len(want)
            timed += sum(_is_timed(got[key], want[key]) for key in got.keys() & want.keys())
    assert right / found >= 0.90, f"precision {right / found:.3f}"
    assert right / there >= 0.85, f"recall {right / there:.3f}"
    assert timed / right >= 0.90, f"times {timed / right:.3f}"


def _is_timed(draft: FactDraft, want: dict[str, object]) -> bool:
    ended = RELATIONS[draft.relation].lasts and draft.valid_to is not None
    return ended == ("ended" in want) and want.get("from", _written(draft.valid_from)) == _written(draft.valid_from)


def test_a_claim_cites_its_words() -> None:
    text = "Good news! I moved to Porto in March. It rains a lot."
    (draft,) = _said(text)
    assert draft.quote == text[slice(*draft.span)] == "I moved to Porto in March."
    assert draft.said_at == NOW


def test_an_assistant_claims_nothing_of_people() -> None:
    assert _said("I live in Porto and I work at Google.", role="assistant") == []


# What is so when


def test_a_new_home_closes_the_old_one_at_its_own_date() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "I moved to Porto in March."))
    assert _windows(facts, "lives_in") == [("Leeds", "2026-01-10", "2026-03-01"), ("Porto", "2026-03-01", "")]


def test_late_news_of_an_older_time_lands_in_the_past() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "I lived in Oslo from 2012 to 2016."))
    assert _windows(facts, "lives_in") == [("Oslo", "2012-01-01", "2017-01-01"), ("Leeds", "2026-01-10", "")]


def test_the_same_thing_said_again_adds_a_source() -> None:
    (fact,) = _told(("2026-01-10", "I live in Leeds."), ("2026-02-10", "I still live in Leeds."))
    assert len(fact.sources) == 2
    assert fact.open
    assert _written(fact.valid_from) == "2026-01-10"


def test_two_words_of_one_moment_are_a_conflict_and_both_are_kept() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-01-10", "I live in Porto."))
    assert [fact.conflicts for fact in facts] == [True, True]
    later = _told(
        ("2026-01-10", "I live in Leeds."), ("2026-01-10", "I live in Porto."), ("2026-02-01", "I live in Porto.")
    )
    assert [fact.object_name for fact in later if fact.open] == ["Porto"]


def test_names_that_become_one_bring_their_facts_together() -> None:
    before = timeline([*_said("Mike lives in Leeds.", _day("2026-01-01")), *_said("Michael lives in Porto.", NOW)])
    changes = readdressed(before, {entity_id("default", "Mike"): entity_id("default", "Michael")})
    after = [fact for fact in before if fact not in changes.gone] + list(changes.added)
    assert [(fact.object_name, fact.open) for fact in after] == [("Porto", True), ("Leeds", False)]
    assert {fact.subject for fact in after} == {entity_id("default", "Michael")}


# Any order, any number of times

_MOMENTS = [_day("2026-01-01") + timedelta(days=30 * step) for step in range(6)]


@st.composite
def _claims(draw: st.DrawFn) -> FactDraft:
    said = draw(st.integers(0, 5))
    began, ended = sorted((draw(st.integers(0, said)), draw(st.integers(0, said))))
    kind = draw(st.sampled_from(["holds", "since", "began", "ended", "was", "happened"]))
    times: dict[str, datetime] = {}
    if kind in ("since", "began", "was", "happened"):
        times |= {"valid_from": _MOMENTS[began], "begun_by": _MOMENTS[draw(st.integers(began, said))]}
    if kind in ("holds", "since"):
        times["holds_at"] = _MOMENTS[said]
    if kind in ("ended", "was", "happened"):
        times["valid_to"] = _MOMENTS[ended]
    return FactDraft(
        subject=draw(st.sampled_from(["ana", "tom"])),
        subject_name="x",
        relation=draw(st.sampled_from(["lives_in", "likes", "visited"])),
        object=draw(st.sampled_from(["porto", "leeds", "oslo"])),
        object_name="y",
        event_id=f"e{said}",
        span=Span(0, 1),
        quote="q",
        said_at=_MOMENTS[said],
        recorded_at=NOW,
        confidence=0.8,
        **times,
    )


def _placed(drafts: list[FactDraft]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for draft in drafts:
        changes = place(draft, facts.values())
        for fact in changes.gone:
            del facts[fact.id]
        facts |= {fact.id: fact for fact in (*changes.added, *(new for _, new in changes.changed))}
    return facts


@settings(max_examples=effort(30, 120), deadline=None)
@given(st.lists(_claims(), max_size=9), st.randoms(use_true_random=False))
def test_any_order_of_arrival_and_any_repetition_gives_the_same_facts(drafts: list[FactDraft], chance: object) -> None:
    other = [*drafts, *drafts[::2]]
    chance.shuffle(other)  # type: ignore[attr-defined]
    facts = _placed(drafts)
    assert facts == _placed(other)
    assert facts == {fact.id: fact for fact in timeline(drafts)}
    assert {source for fact in facts.values() for source in fact.sources} == set(drafts)


# Hostile texts

HOSTILE = [
    "I live in " * 100_000,
    "I live in Porto, " * 60_000,
    "I moved from " + "a " * 400_000 + "to Porto.",
    "My sister Mia " * 70_000,
    "I am a " + "very " * 200_000 + "teacher.",
    "I love " + "x" * 900_000,
    "I work as a " + "- " * 300_000 + "at Google",
    "I was born on " + "1 " * 400_000,
    "I live in \x00Porto. \ud800" * 40_000,
    "for 99 years " * 70_000 + "I lived in Porto.",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:18]))
def test_a_megabyte_of_anything_is_read_in_little_time(text: str) -> None:
    started = time.process_time()
    _said(text)
    assert time.process_time() - started < 6.0


@settings(max_examples=effort(20, 100), deadline=None)
@given(st.text(max_size=200), st.datetimes())
def test_any_text_at_any_time_gives_verbatim_claims(text: str, at: datetime) -> None:
    text = f"I live in Porto since 1990. {text} My sister Mia left Google for 9 years."
    event = Event(text=text, at=at.replace(tzinfo=UTC))
    index = NameIndex()
    drafts = extract_facts(event, find_mentions(event, index), index)
    assert all(event.text[slice(*draft.span)] == draft.quote for draft in drafts)
