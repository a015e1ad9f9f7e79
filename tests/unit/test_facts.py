"""Facts: what people claim, since when it is so, and what later words make of it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everyword.knowledge.legacy.extract.entities import NameIndex, find_mentions
from everyword.knowledge.legacy.extract.facts import (
    addressed,
    extract_facts,
    facts_of_statements,
    place,
    readdressed,
    timeline,
)
from everyword.knowledge.legacy.extract.rules.apply import extract
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


def test_the_sample_is_large_and_half_of_it_are_traps() -> None:
    assert len(LABELLED) >= 150
    assert sum(row["trap"] for row in LABELLED) >= len(LABELLED) / 2


def test_a_claim_cites_its_words() -> None:
    text = "Good news! I moved to Porto in March. It rains a lot."
    (draft,) = _said(text)
    assert draft.quote == text[slice(*draft.span)] == "I moved to Porto in March."
    assert draft.said_at == NOW


def test_an_assistant_claims_nothing_of_people() -> None:
    assert _said("I live in Porto and I work at Google.", role="assistant") == []


def test_she_is_the_person_spoken_of_last() -> None:
    drafts = _said("My sister Mia called. She lives in Graz.")
    assert ("Mia", "lives_in", "Graz") in {(d.subject_name, d.relation, d.object_name) for d in drafts}


def test_what_was_done_comes_from_statements_with_its_date() -> None:
    event = Event(text="Yesterday I adopted a greyhound.", speaker="Vee", role="user", at=NOW, id="e")
    (did,) = facts_of_statements(event, extract(event).statements, NameIndex())
    assert (did.subject_name, did.relation, _written(did.valid_from)) == ("Vee", "did", "2026-04-01")
    assert did.quote in event.text


@pytest.mark.parametrize(
    ("text", "relation", "value"),
    [
        ("I climb twice a week, badly but stubbornly.", "does", "climb twice a week"),
        ("I've been paying six euros a month for a phone.", "does", "pay six euros a month for a phone"),
        ("I play the cello.", "does", "play cello"),
        ("Yesterday I counted the steps to the tram.", "did", "count the steps to the tram"),
        ("In February I argued for the older gauges.", "did", "argue for the older gauges"),
    ],
)
def test_what_is_done_is_told_with_its_verb(text: str, relation: str, value: str) -> None:
    event = Event(text=text, speaker="Vee", role="user", at=NOW, id="e")
    (done,) = facts_of_statements(event, extract(event).statements, NameIndex())
    assert (done.relation, done.object_name) == (relation, value)


def test_what_had_been_going_on_is_no_habit() -> None:
    event = Event(text="I'd been blaming the move for a tooth since May.", speaker="Vee", at=NOW, id="e")
    found = facts_of_statements(event, extract(event).statements, NameIndex())
    assert "does" not in {draft.relation for draft in found}


def test_half_a_dislike_is_none() -> None:
    assert [draft.relation for draft in _said("I hate being looked at.")] == []


def test_a_beginning_is_not_when_it_was_agreed() -> None:
    event = Event(text="Rui has accepted a job in Porto from July.", speaker="Vee", role="user", at=NOW, id="e")
    (accepted,) = extract(event).statements
    assert accepted.date is None


@pytest.mark.parametrize(
    "text",
    [
        "I wish Dana was my manager.",
        "Anna thinks Dana is my manager.",
        "Tom said that Dana is my manager.",
        "I think my manager is Dana.",
        "I will stay if Dana is my manager.",
        "Maybe Dana is my manager.",
        "Dana could be my manager.",
        "Dana will be my manager.",
        "Dana isn't my manager.",
        "My future husband Tom called.",
    ],
)
def test_a_relation_that_is_wished_thought_or_still_to_come_is_none(text: str) -> None:
    assert [draft.relation for draft in _said(text)] == []


@pytest.mark.parametrize(
    ("text", "relation", "ended"),
    [
        ("Tom was my husband for ten years.", "married_to", "2026-04-02"),
        ("Dana was my manager until March.", "reports_to", "2026-03-01"),
        ("My manager was Dana.", "reports_to", "2026-04-02"),
        ("Dana used to be my manager.", "reports_to", "2026-04-02"),
        ("Dana is no longer my manager.", "reports_to", "2026-04-02"),
        ("Dana is not my manager any more.", "reports_to", "2026-04-02"),
        ("My late wife Eva loved opera.", "married_to", "2026-04-02"),
        ("My ex-husband Tom called.", "married_to", "2026-04-02"),
        ("My former boss Dana called.", "reports_to", "2026-04-02"),
        ("Turns out I am not allergic to nuts.", "allergic_to", "2026-04-02"),
        ("I am no longer allergic to nuts.", "allergic_to", "2026-04-02"),
    ],
)
def test_a_relation_that_was_is_over(text: str, relation: str, ended: str) -> None:
    assert [(draft.relation, _written(draft.valid_to)) for draft in _said(text)] == [(relation, ended)]


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("My late father Karl was a baker.", "parent_of"),
        ("Karl was my father.", "parent_of"),
        ("I wish my sister Mia lived here.", "sibling_of"),
        ("My old friend Tom called.", "friend_of"),
        ("My wife Eva was tired.", "married_to"),
        ("Dana has been my manager for years.", "reports_to"),
    ],
)
def test_a_relation_that_no_word_ends_holds(text: str, relation: str) -> None:
    drafts = {draft.relation: draft for draft in _said(text)}
    assert drafts[relation].valid_to is None


@pytest.mark.parametrize(
    ("so", "relation", "over"),
    [
        ("I am married to Tom.", "married_to", "Tom and I got divorced."),
        ("My husband Tom cooks.", "married_to", "My husband and I split up."),
        ("I work at Siemens.", "works_at", "I was fired."),
        ("I work at Siemens.", "works_at", "I got laid off yesterday."),
        ("I work at Siemens.", "works_at", "I quit my job."),
        ("I work at Siemens.", "works_at", "I retired."),
        ("I am a nurse.", "has_role", "I retired."),
    ],
)
def test_what_is_over_need_not_be_named(so: str, relation: str, over: str) -> None:
    facts = _told(("2026-01-10", so), ("2026-04-02", over))
    assert [(name != "", begun, ended != "") for name, begun, ended in _windows(facts, relation)] == [
        (True, "2026-01-10", True)
    ]
    assert _windows(_told(("2026-04-02", over)), relation) == []  # nothing was known that could be over


@pytest.mark.parametrize(
    "text",
    ["I was fired up.", "I retired the old laptop.", "We split up the work.", "I was not fired.", "Was I fired?"],
)
def test_what_only_sounds_like_an_end_is_none(text: str) -> None:
    assert _said(text) == []


def test_a_joke_claims_nothing() -> None:
    assert _said("I live in Porto. Just kidding!") == []


def test_nobody_owns_an_ex() -> None:
    event = Event(text="Tom, my ex-husband, called.", speaker="Vee", role="user", at=NOW, id="e")
    assert facts_of_statements(event, extract(event).statements, NameIndex()) == []


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("I switched from Visual Studio to Zed.", {"Visual Studio", "Zed"}),
        ("I use Adobe Premiere Pro.", {"Adobe Premiere Pro"}),
        ("We use Google Docs and Slack.", {"Google Docs", "Slack"}),
    ],
)
def test_a_tool_keeps_its_whole_name(text: str, tools: set[str]) -> None:
    assert {draft.object_name for draft in _said(text)} == tools


@pytest.mark.parametrize("text", ["Our car was stolen last night.", "The audit was postponed.", "The RFC is written."])
def test_what_befell_a_thing_is_nobodys_deed(text: str) -> None:
    event = Event(text=text, speaker="Vee", role="user", at=NOW, id="e")
    assert extract(event).statements
    assert facts_of_statements(event, extract(event).statements, NameIndex()) == []


def test_what_was_decided_has_its_own_time() -> None:
    (decided,) = [draft for draft in _said("We decided to set the play in 1890.") if draft.relation == "decided"]
    assert decided.valid_from == NOW


# What is so when


def test_a_new_home_closes_the_old_one_at_its_own_date() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "I moved to Porto in March."))
    assert _windows(facts, "lives_in") == [("Leeds", "2026-01-10", "2026-03-01"), ("Porto", "2026-03-01", "")]


def test_a_home_that_follows_a_colon_counts() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "New address: we live in Porto now, in Bonfim."))
    assert _windows(facts, "lives_in") == [("Leeds", "2026-01-10", "2026-04-02"), ("Porto", "2026-04-02", "")]


def test_late_news_of_an_older_time_lands_in_the_past() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "I lived in Oslo from 2012 to 2016."))
    assert _windows(facts, "lives_in") == [("Oslo", "2012-01-01", "2017-01-01"), ("Leeds", "2026-01-10", "")]


def test_where_one_used_to_live_is_over_before_what_holds_now() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "I used to live in Oslo."))
    assert _windows(facts, "lives_in") == [("Oslo", "", "2026-01-10"), ("Leeds", "2026-01-10", "")]


def test_moving_from_one_place_to_another_closes_the_first() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-04-02", "We moved from Leeds to Porto last month."))
    assert _windows(facts, "lives_in") == [("Leeds", "2026-01-10", "2026-03-01"), ("Porto", "2026-03-01", "")]


def test_a_vague_date_yields_to_what_was_seen_within_it() -> None:
    """ "Moved this week" is said on Saturday; on Monday it was still the old place."""
    facts = _told(("2026-03-10", "I live in Leeds."), ("2026-04-02", "I moved to Porto in March."))
    assert sorted(_windows(facts, "lives_in")) == [("Leeds", "2026-03-10", "2026-03-10"), ("Porto", "2026-03-10", "")]


def test_the_same_thing_said_again_adds_a_source() -> None:
    (fact,) = _told(("2026-01-10", "I live in Leeds."), ("2026-02-10", "I still live in Leeds."))
    assert len(fact.sources) == 2
    assert fact.open
    assert _written(fact.valid_from) == "2026-01-10"


def test_leaving_leaves_no_open_fact() -> None:
    facts = _told(("2024-05-01", "I work at Siemens."), ("2026-04-02", "I quit my job at Siemens in January."))
    assert _windows(facts, "works_at") == [("Siemens", "2024-05-01", "2026-01-01")]


def test_two_words_of_one_moment_are_a_conflict_and_both_are_kept() -> None:
    facts = _told(("2026-01-10", "I live in Leeds."), ("2026-01-10", "I live in Porto."))
    assert [fact.conflicts for fact in facts] == [True, True]
    later = _told(
        ("2026-01-10", "I live in Leeds."), ("2026-01-10", "I live in Porto."), ("2026-02-01", "I live in Porto.")
    )
    assert [fact.object_name for fact in later if fact.open] == ["Porto"]


def test_many_things_can_be_liked_at_once_and_one_can_stop() -> None:
    facts = _told(
        ("2026-01-01", "I love chess."), ("2026-01-02", "I love tea."), ("2026-03-01", "I no longer like chess.")
    )
    assert _windows(facts, "likes") == [("chess", "2026-01-01", "2026-03-01"), ("tea", "2026-01-02", "")]


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


@settings(max_examples=120, deadline=None)
@given(st.lists(_claims(), max_size=9), st.randoms(use_true_random=False))
def test_any_order_of_arrival_and_any_repetition_gives_the_same_facts(drafts: list[FactDraft], chance: object) -> None:
    other = [*drafts, *drafts[::2]]
    chance.shuffle(other)  # type: ignore[attr-defined]
    facts = _placed(drafts)
    assert facts == _placed(other)
    assert facts == {fact.id: fact for fact in timeline(drafts)}
    assert {source for fact in facts.values() for source in fact.sources} == set(drafts)


@settings(max_examples=120, deadline=None)
@given(st.lists(_claims(), max_size=9))
def test_a_single_home_is_never_two_at_once_unless_it_is_a_conflict(drafts: list[FactDraft]) -> None:
    facts = timeline(drafts)
    assert len({fact.id for fact in facts}) == len(facts)
    for fact in facts:
        assert fact.valid_to is None or fact.valid_from is None or fact.valid_from <= fact.valid_to
    homes = [fact for fact in facts if fact.relation == "lives_in" and not fact.conflicts and fact.valid_from]
    for one in homes:
        for two in homes:
            if one is not two and one.subject == two.subject:
                assert (one.valid_to and one.valid_to <= two.valid_from) or (
                    two.valid_to and two.valid_to <= one.valid_from
                )


_TALK = [
    ("Ana", "2026-01-05", "Mike lives in Leeds."),
    ("Ana", "2026-02-05", "My sister lives in Graz."),
    ("Ana", "2026-03-05", "My sister Mia moved to Porto in February."),
    ("Ana", "2026-03-20", "Michael Chen moved to Oslo."),
    ("Tom", "2026-01-20", "I work at Siemens."),
    ("Tom", "2026-04-01", "I left Siemens in March and I joined Bosch."),
    ("Ana", "2026-04-02", "Mike Smith lives in Cork."),
    ("Tom", "2026-04-03", "My sister lives in Rome."),
]


@settings(max_examples=40, deadline=None)
@given(st.permutations(_TALK))
def test_a_talk_that_arrives_in_any_order_leaves_the_same_facts(talk: list[tuple[str, str, str]]) -> None:
    assert _remembered(talk) == _remembered(_TALK)


def _remembered(talk: list[tuple[str, str, str]]) -> list[Fact]:
    """Keep names and facts up to date event by event, as a memory does, and hold that against a fold from scratch."""
    index, facts, drafts = NameIndex(), dict[str, Fact](), list[FactDraft]()
    for speaker, day, text in talk:
        event = Event(text=text, speaker=speaker, role="user", at=_day(day), recorded_at=NOW, id=f"{speaker} {day}")
        mentions = find_mentions(event, index)
        moved = index.learn(mentions, speaker)
        new = extract_facts(event, mentions, index)
        drafts += new
        for changes in (readdressed(list(facts.values()), moved), None):
            changes = changes or place(new, facts.values())
            for fact in changes.gone:
                del facts[fact.id]
            facts |= {fact.id: fact for fact in (*changes.added, *(after for _, after in changes.changed))}
    scratch = timeline(addressed(drafts, index.homes()))
    assert sorted(facts.values(), key=lambda fact: fact.id) == sorted(scratch, key=lambda fact: fact.id)
    assert {fact.subject for fact in scratch} <= {entity.id for entity in index.entities()}
    return scratch


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


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.datetimes())
def test_any_text_at_any_time_gives_verbatim_claims(text: str, at: datetime) -> None:
    text = f"I live in Porto since 1990. {text} My sister Mia left Google for 9 years."
    event = Event(text=text, at=at.replace(tzinfo=UTC))
    index = NameIndex()
    drafts = extract_facts(event, find_mentions(event, index), index)
    assert all(event.text[slice(*draft.span)] == draft.quote for draft in drafts)


@pytest.mark.parametrize(
    "over", ["I was laid off last week.", "I was fired in March.", "I was made redundant yesterday."]
)
def test_a_dismissal_with_a_date_ends_the_job_then(over: str) -> None:
    facts = _told(("2026-01-10", "I work at Siemens."), ("2026-04-02", over))
    ((_, begun, ended),) = _windows(facts, "works_at")
    assert begun == "2026-01-10"
    assert "2026-03-01" <= ended <= "2026-04-02"
