"""The last stages: which words are quoted, what "yesterday" was, which turn explains another, what fits a budget."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fences import around, inside

from effort import effort
from everyword import Memory
from everyword.errors import InvalidInput
from everyword.models.protocol import Tokenizer
from everyword.models.tokenizers import load_tokenizer
from everyword.retrieval.context import pack
from everyword.retrieval.hits import choose_quote
from everyword.storage.rows import Known
from everyword.text.dates import date_notes
from everyword.text.terms import question_terms
from everyword.types.events import Context, Event, Hit, Span

MONDAY = datetime(2023, 5, 8, 10, tzinfo=UTC)
WORDS = load_tokenizer("words")
# A sentence of more than a quote's length, without a name.
LONG = (
    "The weather has been so strange of late that nobody in our little town knows what to wear in the morning, and so "
    "everybody takes a coat, an umbrella and a pair of sunglasses along and gets it wrong all the same by the time the "
    "afternoon comes around"
)


def a_hit(text: str, *, quote: str | None = None, number: int = 0, at: datetime = MONDAY, **fields) -> Hit:
    """Make a hit by hand; `quote` is the part of it that matched."""
    start = text.index(quote) if quote else 0
    span = Span(start, start + len(quote if quote else text))
    event = Event(text=text, id=f"ev_{number}", at=at, **fields)
    return Hit(event=event, score=1.0 / (number + 1), span=span, seq=number + 1)


def some_words(number: int) -> str:
    return " ".join(f"word{n}" for n in range(number))


# Which words are quoted


def quoted(text: str, question: str) -> str:
    start, end = choose_quote(text, None, question_terms(question))
    return text[start:end]


def test_a_short_message_is_quoted_whole() -> None:
    assert quoted("  Hey Ana! The key is in the shed. Bye.\n", "Where is the key?") == (
        "Hey Ana! The key is in the shed. Bye."
    )


def test_of_a_long_message_the_sentences_that_match_are_quoted() -> None:
    text = f"Hey Ana! {LONG}. The spare key is in the shed behind the house. You need a torch. {LONG}."
    assert quoted(text, "Where does Ana keep the spare key?") == (
        "The spare key is in the shed behind the house. You need a torch."
    )


def test_sentences_that_hold_more_of_the_question_together_are_taken_together() -> None:
    text = f"The key is lost. {LONG}. The key was spare. It hung in the shed. {LONG}."
    assert quoted(text, "Is the spare key in the shed?") == "The key was spare. It hung in the shed."


def test_a_greeting_is_no_quote_for_the_name_in_it() -> None:
    question = "What does Ana think of the new neighbours?"
    chatter = "We are all well here. The garden is in bloom. " * 8
    assert quoted(f"Hey Ana! {chatter}", question).startswith("Hey Ana! We are all well here. The garden is in bloom.")
    assert quoted(f"Hey Ana! {chatter}They think that the neighbours are loud.", question) == (
        "They think that the neighbours are loud."
    )


def test_of_two_places_that_hold_the_same_the_one_that_says_more_is_quoted() -> None:
    said = "Ana sleeps until noon and then goes out to feed the neighbours' hens."
    assert quoted(f"Hey Ana! {LONG}. {said} {LONG}.", "What does Ana do on a holiday?") == said


@pytest.mark.parametrize("text", [f"Hey Ana! {LONG}.", f"{LONG}. Bye Ana!", f"{LONG}. Hey Ana! {LONG}."])
def test_not_even_where_the_next_sentence_is_long(text: str) -> None:
    assert len(quoted(text, "What does Ana think of the new neighbours?")) > len("Hey Ana!")


def test_what_no_word_of_a_question_is_in_is_quoted_from_its_window() -> None:
    text = f"{LONG}. {LONG}. It ends."
    start, end = choose_quote(text, Span(len(LONG) + 2, len(text)), question_terms("volcano?"))
    assert text[start:end] in (f"{LONG}. It ends.", f"{LONG}.", "It ends.")
    assert text[start:end] != ""


@pytest.mark.parametrize("text", ["\x00" * 1000, "." * 300_000, "a" * 300_000, "\ud800. " * 1000, "鍵。" * 20_000])
def test_locating_takes_any_text(text: str) -> None:
    start, end = choose_quote(text, None, question_terms("Where is the key 鍵?"))
    assert 0 <= start < end <= len(text)


def test_a_text_of_very_many_sentences_is_gone_through_once() -> None:
    text = "It rains. " * 10_000
    began = time.perf_counter()
    assert quoted(text, "volcano?")
    assert time.perf_counter() - began < 8  # seconds; once through takes a tenth of one


@given(
    text=st.lists(st.sampled_from(["Ana", "key", "Hey!", "it", ".", "? ", "\n", " ", LONG[:150], "é…", "。"])).map(
        "".join
    ),
    cut=st.tuples(st.integers(0, 200), st.integers(0, 200)),
)
def test_a_quote_lies_in_its_window_and_has_no_space_around_it(text: str, cut: tuple[int, int]) -> None:
    window = Span(min(*cut, len(text)), min(max(cut), len(text)))
    start, end = choose_quote(text, window, question_terms("Where is Ana's key?"))
    assert window.start <= start <= end <= window.end
    assert text[start:end].strip() == text[start:end]
    assert bool(text[start:end]) == bool(text[window.start : window.end].strip())


# What "yesterday" was


def worked_out(text: str, at: datetime = MONDAY) -> list[str]:
    return list(date_notes(text, at))


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("I went to the lake yesterday.", ["yesterday = 7 May 2023"]),
        ("I fly in three days.", ["in three days = 11 May 2023"]),
        ("We met last Tuesday.", ["last Tuesday = 2 May 2023"]),
        ("It was fun last weekend.", ["last weekend = 6 to 7 May 2023"]),
        ("It was last week.", ["last week = week of 1 May 2023"]),
        ("It will be next month.", ["next month = June 2023"]),
        ("We moved last summer.", ["last summer = June 2022 to August 2022"]),
        ("We moved two years ago.", ["two years ago = 2021"]),
        ("We moved in March.", ["March = March 2023"]),
        ("The sync moves to Thursday.", ["Thursday = 11 May 2023"]),
        ("We ship on June 14.", ["June 14 = 14 June 2023"]),
        ("I'm on leave until July.", ["until July = July 2023"]),
        ("It's closed through Friday.", ["through Friday = 12 May 2023"]),
        ("I'm ill until next week.", ["until next week = week of 15 May 2023"]),
        ("I have lived here since March.", ["since March = March 2023"]),
        ("We will be there from 3 to 5 June.", ["from 3 to 5 June = 3 to 5 June 2023"]),
        ("We will be there from 30 May to 2 June.", ["from 30 May to 2 June = 30 May to 2 June 2023"]),
        ("I'm away for the next three weeks.", ["the next three weeks = 8 to 29 May 2023"]),
        ("We travelled between March and April.", ["between March and April = March 2023 to April 2023"]),
        ("Yesterday or tomorrow?", ["Yesterday = 7 May 2023", "tomorrow = 9 May 2023"]),
    ],
)
def test_a_time_that_is_told_from_the_day_of_the_line_is_worked_out(text: str, notes: list[str]) -> None:
    assert worked_out(text) == notes


@pytest.mark.parametrize(
    "text",
    [
        "Nothing of time.",
        "We do it today, this morning, right now.",  # the heading says that
        "We do it every Tuesday.",
        "I have known it since I was a child.",
        "It was a while ago, a few weeks ago, some day.",
        "It was on 7 May 2023.",
        "It was in May 2023.",
        "It was in 2019, or since 1999.",
        "May I march on?",
        "Thursday works for me.",  # the last one, or the next?
        "I'm away until summer.",  # its beginning, or its end?
        "Friday: yoga. Saturday: rest.",
    ],
)
def test_a_time_that_needs_nothing_or_is_too_vague_gets_no_note(text: str) -> None:
    assert worked_out(text) == []


@pytest.mark.parametrize(
    "text", ["It was on May 7, 2023.", "It was on 2023-05-07.", "It was the 7th of May 2023.", "It was in summer 2022."]
)
def test_a_date_that_says_its_year_gets_no_note(text: str) -> None:
    assert worked_out(text) == []


def test_a_weekend_over_the_end_of_a_month_names_both() -> None:
    (note,) = worked_out("It was fun last weekend.", datetime(2023, 10, 3, tzinfo=UTC))
    assert note == "last weekend = 30 September to 1 October 2023"


def test_yesterday_is_counted_in_the_speakers_own_zone() -> None:
    late = datetime(2023, 5, 8, 23, 30, tzinfo=timezone(timedelta(hours=-11)))  # in UTC it is the 9th
    early = datetime(2023, 5, 8, 0, 30, tzinfo=timezone(timedelta(hours=13)))  # in UTC it is the 7th
    assert worked_out("It was yesterday.", late) == worked_out("It was yesterday.", early) == ["yesterday = 7 May 2023"]
    assert inside(pack([a_hit("It was yesterday.", at=late)], 50, WORDS).text) == (
        "8 May 2023\n[1] It was yesterday. (yesterday = 7 May 2023)"
    )


def test_three_notes_are_enough() -> None:
    text = "Last Monday, last Tuesday, last Wednesday, last Thursday and last Friday it rained."
    assert len(worked_out(text)) == 3


@pytest.mark.parametrize("at", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
@pytest.mark.parametrize("offset", [-12, 0, 14])
def test_the_ends_of_the_calendar_have_no_yesterday_or_tomorrow(at: datetime, offset: int) -> None:
    here = at.replace(tzinfo=timezone(timedelta(hours=offset)))
    words = "yesterday tomorrow last week next week last weekend next summer last year next year"
    for word in [words, *words.split()]:
        assert all("=" in note for note in worked_out(word, here))


def test_only_the_times_of_the_quoted_part_are_worked_out() -> None:
    quote = "I saw a whale yesterday."
    context = pack([a_hit(f"Tomorrow we sail. {some_words(100)}. {quote}", quote=quote)], 60, WORDS)
    assert inside(context.text) == "8 May 2023\n[1] …I saw a whale yesterday. (yesterday = 7 May 2023)"


# What fits


def test_the_layout() -> None:
    hits = [
        a_hit("Second turn.", number=4, speaker="Bo", session="a", at=MONDAY + timedelta(minutes=1)),
        a_hit("Alone,\nin two lines.", number=3, at=MONDAY - timedelta(days=3)),
        a_hit("The next day.", number=2, speaker="Ana", session="a", at=MONDAY + timedelta(days=1)),
        a_hit("Between them.", number=1, speaker="Cy", session="b", at=MONDAY + timedelta(hours=1)),
        a_hit("First turn.", number=0, speaker="Ana", session="a", key="k"),
    ]
    context = pack(hits, 500, WORDS)
    assert inside(context.text) == (
        "5 May 2023\n"
        "[1] Alone,\n"
        "    in two lines.\n"
        "\n"
        "8 May 2023\n"
        "[2] Ana: First turn.\n"
        "[3] Bo: Second turn.\n"
        "\n"
        "9 May 2023\n"
        "[4] Ana: The next day.\n"
        "\n"
        "8 May 2023\n"
        "[5] Cy: Between them."
    )
    assert [(citation.mark, citation.event_id, citation.key) for citation in context.citations] == [
        ("[1]", "ev_3", None),
        ("[2]", "ev_0", "k"),
        ("[3]", "ev_4", None),
        ("[4]", "ev_2", None),
        ("[5]", "ev_1", None),
    ]


def test_turns_of_one_moment_stand_as_they_came() -> None:
    hits = [a_hit(f"Turn {n}.", number=n, session="a") for n in (3, 1, 2, 0)]
    assert [line[4:] for line in inside(pack(hits, 500, WORDS).text).splitlines()[1:]] == [
        f"Turn {n}." for n in range(4)
    ]


def test_a_long_event_is_quoted_by_its_matching_sentences() -> None:
    quote = "The spare key is in the shed."
    hit = a_hit(f"{some_words(300)}. {quote} {some_words(300)}.", quote=quote)
    context = pack([hit, a_hit("Short.", number=1)], 500, WORDS)
    assert "[1] …The spare key is in the shed.…\n[2] Short." in context.text
    assert context.citations[0].span == hit.span
    assert f"[1] {hit.text}" in pack([hit], 5000, WORDS).text  # whole, where there is room for several of its kind


def test_a_large_event_without_a_shorter_quote_is_taken_whole_if_it_fits() -> None:
    text = some_words(80)
    assert inside(pack([a_hit(text)], 120, WORDS).text).endswith(text)
    assert pack([a_hit(text)], 100, WORDS).text == ""


def test_a_hit_given_twice_is_paid_for_once() -> None:
    once = [a_hit("In the shed.", number=0), a_hit("The torch is in there too, behind the boots.", number=1)]
    budget = pack(once, 500, WORDS).tokens
    thrice = pack([once[0], once[0], once[0], once[1]], budget, WORDS)
    assert inside(thrice.text) == inside(pack(once, 500, WORDS).text)


def test_a_hit_that_does_not_fit_leaves_room_for_the_next() -> None:
    hits = [a_hit("Best.", number=0), a_hit(some_words(500), number=1), a_hit("Third.", number=2)]
    assert inside(pack(hits, 60, WORDS).text) == "8 May 2023\n[1] Best.\n[2] Third."


def test_what_comes_to_more_than_its_lines_loses_the_least_relevant() -> None:
    squared = load_tokenizer(lambda text: len(text) ** 2)
    hits = [a_hit(f"This is line number {n}.", number=n, at=MONDAY - timedelta(days=n)) for n in range(10)]
    for lines in (1, 2, 3):
        budget = pack(hits[:lines], 10**9, squared).tokens
        assert {citation.event_id for citation in pack(hits, budget, squared).citations} == {
            hit.event.id for hit in hits[:lines]
        }


def test_an_instruction_stands_before_and_is_counted() -> None:
    hits = [a_hit("The key is in the shed.")]
    context = pack(hits, 60, WORDS, instruction="Answer from these lines.")
    before, body, _ = around(context.text)
    assert before == "Answer from these lines.\n\n"
    assert body.startswith("8 May 2023\n[1] The key")
    assert context.tokens == WORDS.count(context.text)
    assert pack([], 60, WORDS, instruction="Answer from these lines.").text == ""
    assert inside(pack(hits, 40, WORDS, instruction=some_words(50)).text) == "8 May 2023\n[1] The key is in the shed."


@pytest.mark.parametrize("hits", [[], [a_hit("The key.")], [a_hit(some_words(1000))]])
def test_nothing_fits_a_budget_of_one(hits: Sequence[Hit]) -> None:
    context = pack(hits, 1, WORDS)
    assert (context.text, context.tokens, context.citations) == ("", 0, ())


TOKENIZERS: dict[str, Tokenizer] = {
    "words": WORDS,
    "wordpiece": load_tokenizer(None),
    "characters": load_tokenizer(len),
    "bytes": load_tokenizer(lambda text: len(text.encode("utf-8", "surrogatepass"))),
    "squared": load_tokenizer(lambda text: len(text) ** 2 // 50),
    "rounded up": load_tokenizer(lambda text: -(-len(text) // 4)),
    "nothing": load_tokenizer(lambda text: 0),
}
PIECES = [
    "The key.",
    " yesterday",
    "\n",
    " last week,",
    "  ",
    "Ana",
    "河流。",
    "🌊",
    "\ud800",
    "…",
    some_words(30),
    "\r\n",
]
TIMES = [MONDAY, MONDAY + timedelta(days=1), MONDAY.astimezone(timezone(timedelta(hours=14)))]


@st.composite
def events(draw: st.DrawFn, number: int) -> Event:
    """Make an event of a few odd pieces, in one of a few sessions and moments."""
    return Event(
        text="".join(draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8))),
        id=f"ev_{number}",
        session=draw(st.sampled_from([None, "a", "b"])),
        speaker=draw(st.sampled_from([None, "Ana", "Bo"])),
        at=draw(st.sampled_from(TIMES)),
    )


@st.composite
def findings(draw: st.DrawFn) -> tuple[list[Hit], dict[str, Known]]:
    """Make hits with any spans, some events twice, and leads that may be hits themselves."""
    pool = [draw(events(number)) for number in range(draw(st.integers(1, 8)))]
    hits: list[Hit] = []
    for number in draw(st.lists(st.integers(0, len(pool) - 1), max_size=10)):
        cut = sorted(draw(st.tuples(*[st.integers(0, len(pool[number].text))] * 2)))
        hits.append(Hit(event=pool[number], score=0.5, span=Span(*cut), seq=number))
    led = draw(st.dictionaries(st.integers(0, len(pool) - 1), st.integers(0, len(pool) - 1), max_size=4))
    return hits, {pool[a].id: Known(b, pool[b]) for a, b in led.items() if a != b}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=effort(8, 30), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(found=findings(), budget=st.one_of(st.integers(1, 60), st.integers(60, 3000)))
def test_whatever_the_hits_a_context_fits_and_cites(name: str, found: tuple, budget: int) -> None:
    hits, led = found
    tokenizer = TOKENIZERS[name]
    context = pack(hits, budget, tokenizer, preceding=led, fence_key=b"key")
    assert context.tokens == (tokenizer.count(context.text) if context.text else 0)
    assert context.tokens <= budget == context.budget
    cites_what_it_says(context, {hit.event.id: hit.event for hit in hits} | {k.event.id: k.event for k in led.values()})
    assert pack(hits, budget, tokenizer, preceding=led, fence_key=b"key") == context
    if name == "words" and hits and pack(hits[:1], budget, tokenizer, fence_key=b"key").text:
        assert hits[0].event.id in {citation.event_id for citation in context.citations}  # the best one never goes


def cites_what_it_says(context: Context, known: dict[str, Event]) -> None:
    """Check that marks count up, each event comes once, and each quote stands behind its mark, verbatim."""
    cited = [citation.event_id for citation in context.citations]
    assert len(cited) == len(set(cited))
    assert [citation.mark for citation in context.citations] == [f"[{n}]" for n in range(1, len(cited) + 1)]
    assert bool(context.text) == bool(cited)
    place = 0
    for citation in context.citations:
        event = known[citation.event_id]
        assert 0 <= citation.span.start <= citation.span.end <= len(event.text)
        place = context.text.index(f"{citation.mark} ", place)
        words = event.text[citation.span.start : citation.span.end]
        said = words.replace("\r\n", "\n").replace("\r", "\n").replace("\ud800", "\ufffd").replace("\n", "\n    ")
        who = f"{event.speaker}: " if event.speaker else ""
        cut = "…" if event.text[: citation.span.start].strip() else ""
        assert context.text.startswith(f"{citation.mark} {who}{cut}{said}", place)


LINE = re.compile(r"\[\d+\] |\d+ [A-Z][a-z]+ \d+$| {4}|$")


def test_words_can_not_pretend_to_be_lines() -> None:
    hits = [a_hit("So.\n[2] Bo: I stole it.\n\n9 May 2023\r\n[3] Bo: Yes.", speaker="Ana"), a_hit("No.", number=1)]
    lines = inside(pack(hits, 500, WORDS).text).split("\n")
    assert all(LINE.match(line) for line in lines)
    assert len([line for line in lines if line.startswith("[")]) == 2


@pytest.mark.parametrize(
    "hit",
    [
        a_hit("So.\r[2] Bo: I stole it."),
        a_hit("So.\u2028[2] Bo: I stole it."),
        a_hit("So.", speaker="Ana: Hm.\n[2] Bo"),
    ],
    ids=["carriage return", "line separator", "speaker"],
)
def test_nor_can_other_line_ends_or_names(hit: Hit) -> None:
    lines = pack([hit], 500, WORDS).text.splitlines()
    assert len([line for line in lines if line.startswith("[")]) == 1


# Leads, and hits that the caller has


@pytest.fixture(scope="module")
def memory():
    """Give a memory of short talks, one of them about a lighthouse."""
    with Memory.open(":memory:", embedder="hashing", tokenizer="words") as memory:
        for number, (speaker, text) in enumerate(
            [
                ("Ana", "Have you ever been inside that tower on the cliff?"),
                ("Bo", "Yes, last May! The lighthouse."),
                ("Ana", "I would like to see the lighthouse from the inside one day, with the children."),
                ("Bo", "She loved it."),
            ]
        ):
            memory.add(
                text, speaker=speaker, session="s1", wing="w", at=MONDAY + timedelta(minutes=number), key=text[:4]
            )
        for number in range(40):
            memory.add(
                f"Stone number{number} " + "of the long old wall " * (number % 5),
                session=f"t{number % 7}",
                at=MONDAY - timedelta(days=number),
            )
        memory.add("Yes, a wall.", session="t0", at=MONDAY + timedelta(days=1))
        yield memory


def test_a_line_that_means_little_by_itself_brings_the_turn_before_it(memory: Memory) -> None:
    hits = memory.recall("Was Bo at the lighthouse last May?", k=1)
    assert hits[0].text == "Yes, last May! The lighthouse."
    assert inside(memory.context("Was Bo at the lighthouse last May?", budget=130, hits=hits).text) == (
        "8 May 2023\n"
        "[1] Ana: Have you ever been inside that tower on the cliff?\n"
        "[2] Bo: Yes, last May! The lighthouse. (last May = May 2022)"
    )


def test_a_line_that_says_enough_brings_nothing(memory: Memory) -> None:
    hits = [hit for hit in memory.recall("lighthouse children one day inside") if "children" in hit.text]
    context = memory.context("lighthouse", budget=100, hits=hits)
    assert [citation.key for citation in context.citations] == ["I wo"]


def test_a_lead_that_a_condition_excludes_stays_out(memory: Memory) -> None:
    for conditions in ({"speaker": "Bo"}, {"since": MONDAY + timedelta(seconds=30)}):
        context = memory.context("Was it last May, the lighthouse?", budget=300, **conditions)
        assert "Yes, last May!" in context.text
        assert "that tower on the cliff" not in context.text


def test_a_lead_that_does_not_fit_stays_out(memory: Memory) -> None:
    hits = memory.recall("Was Bo at the lighthouse last May?", k=1)
    assert inside(memory.context("lighthouse", budget=52, hits=hits).text) == (
        "8 May 2023\n[1] Bo: Yes, last May! The lighthouse. (last May = May 2022)"
    )


def test_the_first_turn_of_a_session_has_no_lead() -> None:
    with Memory.open(":memory:", embedder="hashing", tokenizer="words") as memory:
        memory.add("Who was there?", session="other", at=MONDAY)
        memory.add("Yes, the lighthouse.", session="s", at=MONDAY + timedelta(minutes=1))
        memory.add("It was nobody.", at=MONDAY + timedelta(minutes=2))
        context = memory.context("lighthouse", budget=100, hits=memory.recall("lighthouse", k=1))
        assert inside(context.text) == "8 May 2023\n[1] Yes, the lighthouse."


@pytest.mark.parametrize("question", ["lighthouse tower", "stone number7 of the wall", "Was Bo there last May?"])
@pytest.mark.parametrize("budget", [1, 10, 40, 200, 1200])
def test_hits_from_recall_make_the_context_that_a_search_would(memory: Memory, question: str, budget: int) -> None:
    for handle in (memory, memory.wing("w")):
        hits = handle.recall(question, k=max(10, budget // 20))
        assert handle.context(question, budget, hits=hits) == handle.context(question, budget)
        assert handle.context(question, budget, hits=tuple(hits)) == handle.context(question, budget)


def test_the_callers_own_choice_of_hits_is_kept(memory: Memory) -> None:
    hits = memory.recall("stone wall", k=8)
    chosen = [hits[5], hits[2]]
    cited = {citation.event_id for citation in memory.context("stone wall", 500, hits=chosen).citations}
    assert cited == {hit.event.id for hit in chosen}


def test_no_hits_make_an_empty_context(memory: Memory) -> None:
    context = memory.context("lighthouse", hits=[])
    assert (context.text, context.tokens, context.citations) == ("", 0, ())


@pytest.mark.parametrize(
    "conditions",
    [
        {"as_of": MONDAY},
        {"wing": "w"},
        {"session": "s1"},
        {"speaker": "Bo"},
        {"since": MONDAY},
        {"until": MONDAY},
        {"meta": {"n": 1}},
    ],
    ids=lambda conditions: next(iter(conditions)),
)
def test_hits_and_conditions_are_one_too_many(memory: Memory, conditions: dict) -> None:
    with pytest.raises(InvalidInput, match="not both"):
        memory.context("lighthouse", hits=memory.recall("lighthouse"), **conditions)


@pytest.mark.parametrize(
    "make", [lambda memory: memory.space("elsewhere"), lambda memory: memory], ids=["space", "gone"]
)
def test_hits_that_are_not_here_any_more_break_nothing(make: Callable[[Memory], Memory]) -> None:
    with Memory.open(":memory:", embedder="hashing", tokenizer="words") as memory:
        for number, text in enumerate(["Who was there?", "Yes, a whale.", "And then?", "Yes, two whales."]):
            memory.add(text, session="s", at=MONDAY + timedelta(minutes=number))
        make(memory).add("Yes, whale.", session="s", at=MONDAY)
        hits = memory.recall("Yes, a whale?") + make(memory).recall("whale")
        memory.forget(ids=[hits[0].event.id])
        assert "Yes" in make(memory).context("whale", 200, hits=hits).text


@pytest.mark.parametrize("hits", [5, "hits", [1], [None], {"a": 1}, iter([])], ids=lambda hits: type(hits).__name__)
def test_what_is_no_list_of_hits_is_refused(memory: Memory, hits: object) -> None:
    with pytest.raises(InvalidInput):
        memory.context("lighthouse", hits=hits)  # type: ignore[arg-type]
