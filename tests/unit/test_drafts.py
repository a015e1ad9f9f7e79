"""From what the reader found to drafts, mentions and claims of facts, and back from how a reading is stored."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everyword.knowledge.claims import claims_of, named_values
from everyword.knowledge.drafts import ACTION_REQUIRED, content_of, drafts_of, mentions_in
from everyword.knowledge.names import NameIndex
from everyword.knowledge.reading import EventReading, ReadName, ReadStatement, from_body, to_body
from everyword.types.events import Event, Span
from everyword.types.graph import EntityType, FactDraft
from everyword.types.statements import Category, Stance, StatementDraft, StatementKind

AT = datetime(2026, 3, 9, 10, tzinfo=UTC)


def reading(
    text: str, kind: str, *, names: dict[str, str] | None = None, **given: object
) -> tuple[Event, EventReading]:
    """Read a text as one statement; `value` and names are words of it."""
    event = Event(text=text, speaker="Mia", at=AT, recorded_at=AT)
    value = given.pop("value", None)
    start = text.index(str(value)) if value else 0
    statement = ReadStatement(
        span=Span(0, len(text)),
        quote=text,
        kind=kind,
        mode=str(given.get("mode", "asserted")),
        state=given.get("state"),  # type: ignore[arg-type]
        about=given.get("about", "Mia"),  # type: ignore[arg-type]
        relation=given.get("relation"),  # type: ignore[arg-type]
        value=Span(start, start + len(str(value))) if value else None,
        date=None,
        confidence=0.9,
        lasting=float(given.get("lasting", 0.8)),  # type: ignore[arg-type]
        relation_confidence=float(given.get("likely", 1.0)),  # type: ignore[arg-type]
    )
    found = [
        ReadName(Span(text.index(name), text.index(name) + len(name)), name, type, 0.99)
        for name, type in (names or {}).items()
    ]
    return event, EventReading(tuple(found), (statement,))


def one_draft(text: str, kind: str, **given: object) -> StatementDraft:
    event, found = reading(text, kind, **given)  # type: ignore[arg-type]
    return drafts_of(event, found, "reader/1")[0]


def claim(text: str, kind: str, **given: object) -> FactDraft | None:
    event, found = reading(text, kind, **given)  # type: ignore[arg-type]
    drafts = drafts_of(event, found, "reader/1")
    mentions = mentions_in(found)
    mentions += named_values(event, drafts, mentions)
    return next(iter(claims_of(event, drafts, mentions, NameIndex())), None)


def test_a_reading_is_kept_as_spans_and_read_back() -> None:
    event, found = reading("I moved to Porto", "event", names={"Porto": "place"}, relation="moved_to", value="Porto")
    body = to_body(found, {"ab": "same"})
    assert "Porto" not in body
    assert from_body(event, body) == found
    assert from_body(event, to_body(EventReading())) == EventReading()


def test_a_relation_that_is_hardly_likely_claims_no_fact() -> None:
    text, given = "I'm on the desk", {"relation": "job", "value": "desk"}
    assert claim(text, "attribute", **given, likely=0.5) is not None
    assert claim(text, "attribute", **given, likely=0.4) is None
    assert one_draft(text, "attribute", relation="dose", value="desk", likely=0.1).slot is not None  # no fact anyway


@pytest.mark.parametrize(
    ("text", "kind", "given", "stance", "open"),
    [
        ("I live in Porto", "attribute", {}, Stance.HOLDS, True),
        ("I might move to Porto", "plan", {"mode": "hypothetical"}, Stance.MAYBE, True),
        ("paid the bill", "task", {"state": "done"}, Stance.DONE, False),
        ("we dropped the trip", "plan", {"state": "dropped"}, Stance.ENDED, False),
        ("I used to live in Lisbon", "attribute", {}, Stance.ENDED, False),
        ("I'm used to the noise", "attribute", {}, Stance.HOLDS, True),
        ("I don't smoke any more", "habit", {"mode": "negated"}, Stance.ENDED, False),
        ("it no longer rains", "event", {}, Stance.HOLDS, True),
    ],
)
def test_mode_and_state_decide_whether_it_still_holds(
    text: str, kind: str, given: dict[str, object], stance: Stance, open: bool
) -> None:
    draft = one_draft(text, kind, **given)
    assert draft.stance is stance
    assert (draft.valid_to is None) is open


def test_content_names_whom_it_is_about_once() -> None:
    assert content_of("I  live in\nPorto", "Mia") == "Mia: I live in Porto"
    assert content_of("my sister Ana lives in Berlin", "Ana") == "my sister Ana lives in Berlin"
    assert content_of("the budget is 40k", None) == "the budget is 40k"


def test_an_instruction_is_not_told_as_said_by_whom_it_is_for() -> None:
    assert one_draft("always give prices in pounds", "instruction", about="assistant").content == (
        "always give prices in pounds"
    )


def test_tags_and_category_follow_from_kind_and_relation() -> None:
    assert one_draft("pay the bill", "task", state="open").tags == ("category:plans_goals", ACTION_REQUIRED)
    assert one_draft("paid", "task", state="done").tags == ("category:plans_goals",)
    assert one_draft("I am a nurse", "attribute", relation="job", value="nurse").category is Category.WORK_CAREER
    assert {one_draft("x", kind.value).kind for kind in StatementKind} == set(StatementKind)


def test_a_claim_has_its_value_as_object() -> None:
    made = claim("I moved to Porto", "event", names={"Porto": "place"}, relation="moved_to", value="Porto")
    assert made is not None
    assert (made.subject_name, made.relation, made.object_name, made.holds_at) == ("Mia", "lives_in", "Porto", AT)
    liked = claim("I love jazz", "preference", relation="likes", value="jazz")
    assert liked is not None
    assert (liked.relation, liked.object, liked.object_form) == ("likes", "jazz", "")


def test_a_name_that_nobody_wrote_in_capitals_is_one_where_the_relation_needs_it() -> None:
    made = claim("i live in porto", "attribute", relation="lives_in", value="porto")
    assert made is not None
    assert made.object_name == "porto"
    event, found = reading("i live in porto", "attribute", relation="lives_in", value="porto")
    named = named_values(event, drafts_of(event, found, ""), ())
    assert [(one.text, one.type) for one in named] == [("porto", EntityType.PLACE)]


def test_the_parent_is_the_subject() -> None:
    made = claim("my mother Rosa called", "relationship", names={"Rosa": "person"}, relation="parent", value="Rosa")
    assert made is not None
    assert (made.subject_name, made.relation, made.object_name) == ("Rosa", "parent_of", "Mia")


def test_the_words_say_who_somebody_is_not_the_model() -> None:
    made = claim("my aunt Rosa called", "relationship", names={"Rosa": "person"}, relation="sibling", value="Rosa")
    assert made is not None
    assert made.relation == "relative_of"
    in_law = claim("my brother in law Tom", "relationship", names={"Tom": "person"}, relation="sibling", value="Tom")
    assert in_law is not None
    assert in_law.relation == "relative_of"
    assert claim("he is the best, Tom", "relationship", names={"Tom": "person"}, relation="friend", value="Tom") is None


@pytest.mark.parametrize(
    ("text", "kind", "given"),
    [
        ("My sister lives in Porto", "attribute", {"relation": "lives_in", "value": "Porto"}),
        ("I will move to Porto", "plan", {"relation": "moved_to", "value": "Porto"}),
        ("I might live in Porto", "attribute", {"relation": "lives_in", "value": "Porto", "mode": "hypothetical"}),
        ("lives in Porto", "attribute", {"relation": "lives_in", "value": "Porto", "about": None}),
        ("I swept the porch", "event", {"relation": "swept", "value": "porch"}),
        ("I fed the cat", "event", {"relation": "owns", "value": "cat"}),
        ("I use it daily", "habit", {"relation": "uses", "value": "it"}),
        ("Gran lives with us", "attribute", {"relation": "lives_in", "value": "us", "about": "Gran"}),
        ("I love watching them play", "preference", {"relation": "likes", "value": "watching them play"}),
        ("I got the job", "event", {"relation": "job", "value": "job"}),
        ("the hall is too narrow", "preference", {"relation": "dislikes", "value": "too narrow"}),
        ("it was a great day", "preference", {"relation": "likes", "value": "great day"}),
        ("No cilantro, that one's for life", "preference", {"relation": "likes", "value": "cilantro"}),
        (
            "I don't like being the one who cooks",
            "preference",
            {"relation": "likes", "value": "being the one who cooks"},
        ),
        ("I don't like how they sing", "preference", {"relation": "dislikes", "value": "sing", "mode": "negated"}),
        ("I got a job in Halifax", "event", {"relation": "job", "value": "Halifax", "names": {"Halifax": "place"}}),
        ("Rex, our dog", "attribute", {"relation": "pet", "value": "dog", "about": "Rex", "names": {"Rex": "pet"}}),
    ],
)
def test_these_claim_nothing(text: str, kind: str, given: dict[str, object]) -> None:
    assert claim(text, kind, **given) is None


@pytest.mark.parametrize(
    ("text", "given", "object"),
    [
        ("no meat, but I love sushi", {"value": "sushi"}, "sushi"),
        ("their album There is superb", {"value": "There", "names": {"There": "work"}}, "There"),
        ("I love my family", {"value": "family"}, "family"),
        ("she is a supporter of equality", {"value": "equality", "about": "Emma"}, "equality"),
    ],
)
def test_these_claim_what_somebody_likes(text: str, given: dict[str, object], object: str) -> None:
    made = claim(text, "preference", relation="likes", **given)
    assert made is not None
    assert made.object_name == object


def test_what_is_denied_or_over_ends() -> None:
    over = claim("I used to live in Lisbon", "attribute", relation="lives_in", value="Lisbon")
    assert over is not None
    assert (over.valid_to, over.holds_at) == (AT, None)
    denied = claim("I don't like jazz", "preference", relation="likes", value="jazz", mode="negated")
    assert denied is not None
    assert denied.valid_to == AT
