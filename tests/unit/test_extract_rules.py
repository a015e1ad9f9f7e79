"""What extraction by rules gives: kinds, quotes, who it is about, dates, slots, reasons for what was skipped."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from everyword.knowledge.legacy.extract.noise import MOST_READ, Reason
from everyword.knowledge.legacy.extract.rules import EXTRACTOR, extract
from everyword.types.events import Event, Span
from everyword.types.statements import Category, Slot, StatementDraft, StatementKind, adopt, statement_id

AT = datetime(2026, 3, 10, 9, 0, tzinfo=UTC)  # a Tuesday


def said(text: str, speaker: str | None = "Ana", role: str | None = None) -> Event:
    return Event(text=text, id="ev_1", speaker=speaker, role=role, at=AT)


def one(text: str, speaker: str | None = "Ana") -> StatementDraft:
    (draft,) = extract(said(text, speaker)).statements
    return draft


def reasons(text: str) -> set[Reason]:
    extraction = extract(said(text))
    assert extraction.statements == ()
    return {skip.reason for skip in extraction.skipped}


# What a find holds


def test_a_find_names_its_subject_and_cites_its_words() -> None:
    text = "Hi there! I live in Porto. How are you?"
    draft = one(text)
    assert draft.content == "Ana: lives in Porto"
    assert draft.quote == "I live in Porto."
    assert text[draft.span.start : draft.span.end] == draft.quote
    assert (draft.kind, draft.category) == (StatementKind.ATTRIBUTE, Category.IDENTITY)
    assert (draft.slot, draft.value) == (Slot("Ana", "lives_in"), "Porto")
    assert (draft.speaker, draft.about, draft.event_id) == ("Ana", "Ana", "ev_1")
    assert draft.entities == ("Porto", "Ana")
    assert draft.extractor == EXTRACTOR
    assert draft.valid_from == AT
    assert draft.valid_to is None


def test_dates_said_in_passing_are_made_absolute() -> None:
    draft = one("I went to a pottery class last Tuesday.")
    assert draft.date is not None
    assert draft.date.words == "last Tuesday"
    assert draft.date.start == datetime(2026, 3, 3, tzinfo=UTC)
    assert draft.valid_from == draft.date.start


@pytest.mark.parametrize(
    "text",
    [
        "I don't like olives.",
    ],
)
def test_negation_is_kept(text: str) -> None:
    assert one(text).negated


# What is left out, and why


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Thanks so much, that helps!", Reason.SMALL_TALK),
        ("Oh sure, I just love sitting in traffic.", Reason.SARCASM),
    ],
)
def test_noise_is_labelled(text: str, reason: Reason) -> None:
    assert reason in reasons(text)


def test_an_assistants_advice_is_not_a_fact() -> None:
    advice = "Always preheat the oven. I love that idea! You should drink water. I live in the cloud."
    assert extract(said(advice, speaker="Assistant", role="assistant")).statements == ()
    (cause,) = extract(said("The bug was caused by a stale cache entry.", role="assistant")).statements
    assert cause.kind is StatementKind.INSIGHT


def test_what_programs_say_is_not_read() -> None:
    assert extract(said("We decided to use Rust.", role="tool")).statements == ()


# Ids


def test_a_second_run_gives_the_same() -> None:
    text = "My brother Tom just moved to Oslo. I love jazz, but I don't like camping. We decided to use Rust."
    first, second = extract(said(text)), extract(said(text))
    assert first == second
    ids = [statement_id(draft) for draft in first.statements]
    assert ids == [statement_id(draft) for draft in second.statements]
    assert len(set(ids)) == len(ids)
    assert all(id.startswith("st_") and len(id) == 35 for id in ids)


def test_a_statement_is_its_draft_with_an_id() -> None:
    draft = one("I live in Porto.")
    statement = adopt(draft, recorded_at=AT, replaces="st_0")
    assert (statement.id, statement.quote, statement.replaces) == (statement_id(draft), draft.quote, "st_0")
    assert adopt(one("I used to like jazz."), recorded_at=AT).status == "retracted"


# Hostile input

HOSTILE = {
    "spaces": " " * 1_000_000,
    "I": "I " * 500_000,
    "one word": "a" * 1_000_000,
    "commas": "I," * 500_000,
    "quotes": "'\"" * 500_000,
    "open quote": '"' + "a b " * 250_000,
    "apostrophes": "I'm'n't" * 140_000,
    "dots": "." * 1_000_000,
    "nul": "\0I live in Porto\0" * 50_000,
    "surrogates": "I live in \ud800 Porto. " * 40_000,
    "lines": "\n" * 1_000_000,
    "kin": "my sister " * 100_000,
    "names": "Tom Tom's sister " * 60_000,
    "helpers": "I have been not never really going to " * 27_000,
    "code": "{" * 1_000_000,
    "select": "SELECT " * 140_000,
    "fences": "```\n" * 250_000,
    "bidi": "I live in \u202ePorto\u202c. " * 50_000,
    "digits": "my rent is 1,000,000,000," * 40_000,
    "leads": "last week " * 100_000 + "I left",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_hostile_megabyte_costs_little(name: str, role: str) -> None:
    text = HOSTILE[name]
    begun = time.thread_time()
    extraction = extract(said(text, role=role))
    assert time.thread_time() - begun < 1.0
    for draft in extraction.statements:
        assert text[draft.span.start : draft.span.end] == draft.quote
    if role == "user":
        assert extraction.skipped[-1].span == Span(MOST_READ, len(text))


WORDS = st.sampled_from(
    [
        *"I we my the sister Tom Ana is am not never live in Porto moved to like love hate 'm n't 'd . , ; ? !".split(),
        *"because but and decided use need will have been 12,000 last Tuesday 2019 if said that which … ``` >".split(),
        *("always", "please", "used", "remember", '"', "'", "\n"),
    ]
)


@settings(max_examples=effort(50, 300), deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=40).map(" ".join)))
def test_whatever_is_said_every_quote_is_in_it(text: str) -> None:
    extraction = extract(said(text))
    for draft in extraction.statements:
        assert text[draft.span.start : draft.span.end] == draft.quote
        assert draft.quote.strip()
        assert draft.content.strip()
        assert 0 < draft.confidence <= 1
        assert draft.about
    for skip in extraction.skipped:
        assert 0 <= skip.span.start < skip.span.end <= len(text)


# How people write
