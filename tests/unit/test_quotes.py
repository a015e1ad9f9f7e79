"""No statement without its words: what an extractor invents or alters does not get in, and is counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from everyword.knowledge.drafts import Fault, Rejected, check, check_all, drafts_of
from everyword.knowledge.reading import read_event
from everyword.models.reader.reader import Reader
from everyword.types.events import Event, Span
from everyword.types.statements import Category, SaidDate, StatementDraft, StatementKind

AT = datetime(2026, 3, 10, 9, 0, tzinfo=UTC)
TEXT = "I live in Porto. My sister Mia has two cats. I live in Porto. The rent is 940 euros."
EVENT = Event(text=TEXT, id="ev_1", speaker="Ana", at=AT)
QUOTE = "My sister Mia has two cats."


def draft(
    quote: str = QUOTE, content: str = "Ana's sister Mia has two cats", start: int | None = None
) -> StatementDraft:
    begin = TEXT.find(quote) if start is None else start
    return StatementDraft(
        kind=StatementKind.FACT,
        content=content,
        category=Category.MISC,
        quote=quote,
        event_id="ev_1",
        span=Span(begin, begin + len(quote)),
        speaker="Ana",
        about="Mia",
        confidence=0.9,
        extractor="some-model/1",
    )


def fault(event: Event, draft: StatementDraft) -> Fault:
    with pytest.raises(Rejected) as caught:
        check(event, draft)
    return caught.value.fault


def test_a_true_quote_passes_untouched() -> None:
    assert check(EVENT, draft()) == draft()


def test_a_wrong_span_is_put_right_where_there_is_one_place() -> None:
    fixed = check(EVENT, draft(start=3))
    assert isinstance(fixed, StatementDraft)
    assert TEXT[fixed.span.start : fixed.span.end] == QUOTE


@pytest.mark.parametrize("start", [-5, 3, 10_000])
def test_a_quote_in_two_places_needs_its_span(start: int) -> None:
    twice = draft(quote="I live in Porto.", content="Ana lives in Porto")
    assert fault(EVENT, replace(twice, span=Span(start, start + 16))) is Fault.UNCLEAR_PLACE
    assert check(EVENT, replace(twice, span=Span(45, 61))) == replace(twice, span=Span(45, 61))


@pytest.mark.parametrize(
    "altered",
    [
        "My sister Mia has three cats.",
        "my sister Mia has two cats.",
        "My sister  Mia has two cats.",
        "My sister Mia has two cats. She loves them.",
        "My sister Mía has two cats.",
        "My sister ... has two cats.",
        "Mia lives in Oslo.",
        "My sister Mia has two\u00a0cats.",
    ],
)
def test_an_altered_quote_does_not_get_in(altered: str) -> None:
    assert fault(EVENT, draft(quote=altered, start=17)) is Fault.NOT_SAID


@pytest.mark.parametrize("empty", ["", "   ", "\n"])
def test_no_quote_is_no_quote(empty: str) -> None:
    assert fault(EVENT, draft(quote=empty, start=0)) is Fault.NO_QUOTE


def test_content_must_say_something() -> None:
    assert fault(EVENT, draft(content="  ")) is Fault.NO_CONTENT


def test_words_of_another_event_do_not_count() -> None:
    assert fault(Event(text=TEXT, id="ev_2", at=AT), draft()) is Fault.OTHER_EVENT


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Mia lives in Oslo", Fault.NEW_NAME),
        ("Ana's sister Mia Schmidt has two cats", Fault.NEW_NAME),
        ("Ana's sister Mia has 3 cats", Fault.NEW_NUMBER),
        ("Ana's sister Mia has three cats", Fault.NEW_NUMBER),
        ("Mia has two cats since 2019", Fault.NEW_NUMBER),
    ],
)
def test_content_adds_no_names_and_no_numbers(content: str, expected: Fault) -> None:
    assert fault(EVENT, draft(content=content)) is expected


@pytest.mark.parametrize(
    "content",
    [
        "Has two cats: Mia",
        "Ana's sister Mia has 2 cats",
        "Mia owns two cats",
        "The user's sister Mia has two cats",
        "Living in Porto is what Ana does",
        "The rent is 940 euros",
    ],
)
def test_other_words_for_the_same_are_fine(content: str) -> None:
    assert isinstance(check(EVENT, replace(draft(), content=content)), StatementDraft)


def test_a_person_must_be_known_or_named() -> None:
    assert fault(EVENT, replace(draft(), about="Tom")) is Fault.NEW_NAME
    assert isinstance(check(EVENT, replace(draft(), about="Tom"), known=["Tom"]), StatementDraft)
    assert fault(EVENT, replace(draft(), entities=("Acme",))) is Fault.NEW_NAME


def test_a_resolved_date_may_be_written_out() -> None:
    day = SaidDate(datetime(2026, 3, 3, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC), "last Tuesday")
    event = Event(text="I went climbing last Tuesday.", id="ev_1", speaker="Ana", at=AT)
    written = replace(
        draft(),
        quote=event.text,
        span=Span(0, len(event.text)),
        content="Ana went climbing on 3 March 2026",
        about="Ana",
    )
    assert isinstance(check(event, replace(written, date=day)), StatementDraft)
    assert fault(event, written) is Fault.NEW_NUMBER


def test_each_rejection_has_its_reason() -> None:
    accepted, refused = check_all(
        EVENT, [draft(), draft(quote="Nobody said this."), draft(content="Mia knows Bob"), draft(quote="Nor this.")]
    )
    assert accepted == [draft()]
    assert refused == [
        f"{Fault.NOT_SAID}: Nobody said this.",
        f"{Fault.NEW_NAME}: Bob",
        f"{Fault.NOT_SAID}: Nor this.",
    ]
    assert check_all(EVENT, []) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "My brother Tom just moved to Oslo. I love jazz, but I don't like camping.",
        "I see my kids every other weekend. My sister Mia works at Acme.",
        "We decided to use PostgreSQL for the billing service. Always use type hints everywhere.",
        "Our budget is 12,000 euros. I ran 10 km yesterday. My rent went up to 940 pounds a month.",
    ],
)
def test_what_the_reader_finds_passes(text: str) -> None:
    event = Event(text=text, id="ev_9", speaker="Ana", at=AT)
    reader = Reader.shipped()
    found = tuple(drafts_of(event, read_event(reader, event), reader.name))
    assert len(found) > 1
    assert check_all(event, found) == (list(found), [])
