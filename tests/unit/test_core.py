"""The values, errors and settings that everything else speaks in."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import pytest

from everyword import errors
from everyword.errors import EverywordError, InvalidSetting, InvalidTime, MissingExtra
from everyword.extras import need
from everyword.settings import Settings
from everyword.text.spans import WINDOW_CHARS, TextWindow, sentences, windows
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import EVERYTHING, Event, Filter, Hit, Report, Score, Span, Written, WrittenBatch
from everyword.types.times import as_datetime, from_micros, to_micros, utc_now

ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, EverywordError) and kind is not EverywordError
]


# Errors


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_says_what_to_do_and_knows_its_codes(kind: type[EverywordError]) -> None:
    assert kind.__doc__
    assert str(kind()) == kind.__doc__.strip()
    assert str(kind("What.", fix="Do this.")) == "What. Do this."
    assert 400 <= kind.status < 600
    assert 1 <= kind.exit_code < 64


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))
    assert drawn == {kind.__name__ for kind in ERRORS}


def test_each_kind_of_failure_ends_the_command_line_with_its_own_code() -> None:
    direct = [kind for kind in ERRORS if "exit_code" in vars(kind)]
    assert len({kind.exit_code for kind in direct}) == len(direct)


# Times


def test_times_are_read_from_what_people_write() -> None:
    assert as_datetime("2026-04-02T10:00Z") == datetime(2026, 4, 2, 10, tzinfo=UTC)
    assert as_datetime(" 2026-04-02 10:00 ") == datetime(2026, 4, 2, 10, tzinfo=UTC)
    assert as_datetime("20260402T100000+0100").utcoffset() == timedelta(hours=1)
    assert as_datetime(date(2026, 4, 2)) == datetime(2026, 4, 2, tzinfo=UTC)
    assert utc_now().tzinfo is UTC


def test_a_zones_rules_become_its_offset_at_that_moment() -> None:
    moment = as_datetime(datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=9), "JST")))
    assert moment.tzinfo == timezone(timedelta(hours=9))


class _NoOffset(tzinfo):
    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return None

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None


def test_zones_that_cannot_be_kept_are_refused() -> None:
    for zone in (_NoOffset(), timezone(timedelta(microseconds=1))):
        with pytest.raises(InvalidTime):
            as_datetime(datetime(2026, 1, 1, tzinfo=zone))


def test_microseconds_are_exact_at_the_ends_of_the_calendar() -> None:
    for moment in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)):
        assert from_micros(*to_micros(moment)) == moment
    assert to_micros(datetime(1970, 1, 1, tzinfo=UTC)) == (0, 0)
    assert to_micros(datetime(1970, 1, 1)) == (0, 0)


# Spans


def test_sentences_end_where_readers_see_it() -> None:
    text = 'He said "Stop." Then he left! Version 2.3 came…  你好。再见！\nA new line'
    assert [text[start:end] for start, end in sentences(text)] == [
        'He said "Stop."',
        "Then he left!",
        "Version 2.3 came…",
        "你好。",
        "再见！",
        "A new line",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "My doctor is Dr. Brandt now.",
        "Ask Mr. Ode, Mrs. Ode or Prof. Lindt.",
        "I like citrus, e.g. lemons, i.e. sour fruit.",
        "It is red vs. blue today.",
        "The room is No. 5 on the left.",
        "George W. Bush met J. K. Ode.",
        "J. Smith wrote it.",
        "Wir treffen uns am 3. Mai um zehn.",
        "Zum 50. Geburtstag gab es z. B. Kuchen.",
        "Smith Jr. was late, at 9 a.m. sharp.",
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str) -> None:
    assert sentences(text) == [Span(0, len(text))]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Did I? No. I stayed.", ["Did I?", "No.", "I stayed."]),
        ("We chose plan B. We left.", ["We chose plan B.", "We left."]),
        ("So do I. Then we ate.", ["So do I.", "Then we ate."]),
        ("I am 34. My wife is 30.", ["I am 34.", "My wife is 30."]),
        ("i am 34. my wife is 30.", ["i am 34.", "my wife is 30."]),
        (
            "We ate cake, pie etc. Then we left at 9 p.m. It rained.",
            ["We ate cake, pie etc.", "Then we left at 9 p.m.", "It rained."],
        ),
        ("See Dr.\nBrandt called.", ["See Dr.", "Brandt called."]),
        ("I ate 3. Marching is fun.", ["I ate 3.", "Marching is fun."]),
    ],
)
def test_a_sentence_ends_where_a_word_only_looks_abbreviated(text: str, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == pieces


def test_a_short_text_is_one_window_and_a_long_one_several() -> None:
    assert windows("short") == [TextWindow(Span(0, 5), "short")]
    text = "word " * 1000
    spans = [window.span for window in windows(text)]
    assert len(spans) == 5
    assert all(text[start - 1].isspace() for start, _ in spans[1:])  # cut between words
    assert len(windows("你" * 1000)) > len(windows("a" * 1000))  # a Chinese character is a token


def test_windows_end_where_sentences_end_and_do_not_overlap() -> None:
    text = " ".join(f"This is sentence number {number}, and it is not short." for number in range(60))
    found = windows(text)
    assert [text[span.start : span.end] for span, _ in found] == [window.text for window in found]
    assert " ".join(window.text for window in found) == text
    assert all(window.text.endswith("short.") for window in found)
    sizes = [len(window.text) for window in found]
    assert max(sizes) <= WINDOW_CHARS
    assert max(sizes) < 1.3 * min(sizes)  # of about the same size


def _encoded(text: str) -> str:
    return "".join(window.text for window in windows(text))


LOG = [f"2026-04-0{1 + n % 9} 10:00:{n:02} INFO request {n} served in {n} ms" for n in range(40)]


@pytest.mark.parametrize(
    ("block", "skipped"),
    [
        (["```python", *(f"value_{n} = compute({n})" for n in range(40)), "```"], "compute(30)"),
        (LOG, "request 30 served"),
        ([f"| {n} | {n * n} | {n / 7:.3f} |" for n in range(40)], "| 30 |"),
        (
            [f"> line {word} of what you wrote" for word in "one two three four five six seven eight nine ten".split()],
            "line six",
        ),
        (["aGVsbG8gd29ybGQh" * 60], "aGVsbG8gd29ybGQh" * 6),
    ],
    ids=["code", "log", "numbers", "quotation", "base64"],
)
def test_only_the_beginning_of_a_block_is_encoded(block: list[str], skipped: str) -> None:
    text = "\n".join(["Here is what I found.", *block, "So the disk was full."])
    encoded = _encoded(text)
    assert skipped in text
    assert skipped not in encoded
    assert "Here is what I found." in encoded
    assert "So the disk was full." in encoded
    assert block[1 if block[0].startswith("`") else 0][:20] in encoded
    assert len(encoded) < len(text) / 2


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{n}. Take {word} to Ana's flat." for n, word in enumerate("bread milk rice tea jam salt".split())),
        "\n".join(f"| {row} |" for row in ("Mon | yoga", "Tue | swim", "Wed | run", "Thu | rest", "Fri | climb")),
        "See https://example.org/a/long/path?with=some&parameters=that-are-not-so-short-at-all-but-still-an-address",
        "```\nshort\n```",
    ],
    ids=["list", "table of words", "address", "short code"],
)  # fmt: skip
def test_lists_tables_of_words_and_addresses_are_encoded_whole(text: str) -> None:
    assert all(word in _encoded(text) for word in text.replace("```", "").split())


def test_a_text_of_nothing_but_data_has_a_window() -> None:
    for text in ("9" * 5000, "\n".join("12345" for _ in range(400)), "```\n" * 10, " ", "\n" * 20, ""):
        assert windows(text)


# Words


def test_stop_words_count_only_when_there_is_nothing_else() -> None:
    assert question_terms("Where is the river?") == question_terms("river")
    assert question_terms("to be or not to be")
    assert question_terms("the who") != question_terms("")
    assert question_terms("?!") == {}


def test_a_possessive_is_its_owner() -> None:
    assert (
        question_terms("Ana's flat").keys() <= term_counts("Ana has a flat").keys() | term_counts("Ana's flat").keys()
    )
    assert not question_terms("Ana’s").keys().isdisjoint(term_counts("Ana").keys())


def test_a_name_ranks_ahead_of_the_word_it_looks_like() -> None:
    name, word = term_counts("Mr Banks"), term_counts("the banks")
    asked = question_terms("Banks")
    assert len(asked.keys() & name.keys()) > len(asked.keys() & word.keys()) > 0


# Values and settings


def test_values_cannot_be_changed() -> None:
    values = (
        (Event(text="x"), "text"),
        (Filter(), "speaker"),
        (Report(checked={}), "problems"),
        (Settings(), "read_only"),
    )
    for value, field in values:
        with pytest.raises(AttributeError):
            setattr(value, field, "y")


def test_filters_know_when_they_are_empty() -> None:
    assert EVERYTHING.empty
    assert Filter().empty
    assert not Filter(speaker="Ana").empty


def test_a_batch_counts_itself() -> None:
    batch = WrittenBatch([Written(event=Event(text="a", id="1"), new=True), Written(event=Event(text="b"), new=False)])
    assert (batch.added, batch.known, batch.ids) == (1, 1, ["1", ""])


def test_a_hit_quotes_and_explains() -> None:
    hit = Hit(event=Event(text="one two three"), score=1.0, span=Span(4, 7), scores=(Score(stage="words", score=2.0),))
    assert (hit.text, hit.quote) == ("one two three", "two")
    assert hit.explain() == [{"stage": "words", "score": 2.0, "rank": None, "why": ""}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("durability", "fast"),
        *(("busy_timeout_s", wrong) for wrong in (0, -1, "5", None, True, float("inf"), float("nan"), 1e10)),
        *(("max_text_bytes", wrong) for wrong in ("big", 0, 1.5, None)),
        ("max_meta_bytes", -1),
        ("max_name_chars", "64"),
        ("llm_read_past", None),
        ("llm_tokens_per_day", -1),
        ("pool_size", 0),
        ("read_only", "false"),
        ("extract", None),
        ("profile", 1),
        ("secret_patterns", 5),
    ],
)
def test_settings_are_checked(name: str, value: object) -> None:
    with pytest.raises(InvalidSetting, match=name):
        Settings(**{name: value})  # type: ignore[arg-type]


def test_a_missing_package_names_the_extra_that_brings_it() -> None:
    assert need("json", extra="x").loads("1") == 1
    with pytest.raises(MissingExtra, match=r"pip install 'everyword\[postgres\]'"):
        need("no_such_package_here", extra="postgres")
