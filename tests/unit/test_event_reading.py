"""Reading events: what is hidden from the reader, how dates are told, and how readings are scored."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from evals.reading import calibration_error, same_date, scores

from everyword import Memory
from everyword.knowledge.reading import read_event, said_date, turn_of
from everyword.models.reader import decoding
from everyword.models.reader.reader import TextReader, TurnReading
from everyword.models.reader.rows import RowWriter, Side, Turn, sentences
from everyword.models.tokenizers import Encoding, open_tokenizer
from everyword.models.weights import EVERYWORD_SMALL, find_model
from everyword.text.spans import points_back, prose
from everyword.types.events import Event, Span
from everyword.types.statements import SaidDate, StatementKind

MONDAY = datetime(2026, 3, 9, 10, tzinfo=UTC)

PASTED = """The build broke again, I blame the cache.
```python
cache = {}
```
2026-03-09 10:00:01 INFO worker started
> you wrote this last week
| name | value |
We move to Redis on Friday. [photo: a cat on a sofa]
"""


def test_the_reader_sees_prose_alone_at_the_same_places() -> None:
    seen = prose(PASTED)
    assert len(seen) == len(PASTED)
    assert [line.strip() for line in seen.splitlines() if line.strip()] == [
        "The build broke again, I blame the cache.",
        "We move to Redis on Friday.",
    ]
    assert seen.index("We move") == PASTED.index("We move")


def test_two_readers_find_the_same_with_the_same_confidence() -> None:
    turns = [
        turn_of(Event(text=text, speaker="Ana", at=MONDAY, recorded_at=MONDAY))
        for text in ("I moved to Lisbon with Ben, and I like it.", PASTED, "Call Dr. Bashir by Friday! " * 40)
    ]
    readers = [TextReader.shipped() for _ in range(2)]  # each with a session of its own
    first, second = ([reader.read(turn, turns[0]) for turn in turns] for reader in readers)
    assert first == second
    assert all(reading.statements for reading in first)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('I\'m currently reading "The Lean Startup".', 'I\'m currently reading "The Lean Startup"'),
        ("I watched “Inception.” We liked it.", "I watched “Inception.”"),
        ('"The Santa Clause" is my favorite film!', '"The Santa Clause" is my favorite film'),
        ("The landlord gave us notice (Eigenbedarf), sadly.", "The landlord gave us notice (Eigenbedarf)"),
    ],
)
def test_a_statement_keeps_both_marks_of_a_pair(text: str, whole: str) -> None:
    event = Event(text=text, speaker="Ana", at=MONDAY, recorded_at=MONDAY)
    assert read_event(TextReader.shipped(), event).statements[0].quote == whole


@pytest.mark.parametrize(
    "text",
    [
        "From now on never touch Cargo.lock without asking me",
        "Please use config.yaml instead of settings.py from now on",
        "We deploy with Fly.io and Python 3.12",
        "The old regex parser in src/parse.rs falls over on German invoices",
    ],
)
def test_a_word_with_marks_in_it_is_never_cut(text: str) -> None:
    event = Event(text=f"{text}.", speaker="Ana", at=MONDAY, recorded_at=MONDAY)
    found = read_event(TextReader.shipped(), event)
    assert [one.quote for one in found.statements] == [text]
    values = [text[slice(*one.value)] for one in found.statements if one.value]
    words = [word for said in (*values, *(one.text for one in found.names)) for word in said.split()]
    assert words
    assert set(words) <= set(text.split())


def test_what_was_redacted_is_a_mark_at_the_end_of_a_statement_and_no_statement() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        memory.add("The wifi password is hunter2-Heron! please keep it.", speaker="Ana")
        memory.add("The alarm code is 4711 and the cat is called Miso.", speaker="Ana")
        assert {one.quote for one in memory.statements() if one.kind is not StatementKind.TASK} == {
            "The wifi password is [redacted: password]",
            "The alarm code is [redacted: access code]",
            "the cat is called Miso",
        }


def test_a_single_letter_at_the_end_is_no_conjunction() -> None:
    for text in ("I take vitamin E", "I work at Factory E", "my favourite letter is Y"):
        event = Event(text=text, speaker="Ana", at=MONDAY, recorded_at=MONDAY)
        assert [one.quote for one in read_event(TextReader.shipped(), event).statements] == [text]


def test_a_statement_does_not_end_in_a_conjunction() -> None:
    texts = (
        "We held some fairs and got to meet some people. It was great!",
        "I like Jay and Lin because their songs are also very nice",
        "family love and support is the best!",
    )
    for text in texts:
        event = Event(text=text, speaker="Ana", at=MONDAY, recorded_at=MONDAY)
        quotes = [one.quote for one in read_event(TextReader.shipped(), event).statements]
        assert quotes
        assert [one for one in quotes if one.endswith((" and", " because"))] == []


@pytest.mark.parametrize(
    ("text", "cut", "kind", "whole"),
    [
        ("I have to renew it by May because of the visa. Bye!", "I have to renew it by May because of the", "task",
         "I have to renew it by May because of the visa"),
        ("I live in Bristol with two cats, you know", "I live in Bristol with", "attribute",
         "I live in Bristol with two cats"),
        ("Hi! Rui and Inês want to hang in Lousã on Sunday", "and Inês want to hang in Lousã on Sunday", "plan",
         "Rui and Inês want to hang in Lousã on Sunday"),
        ("Sure. The old tenant of Dona Graça would go out", "Dona Graça would go out", "plan",
         "The old tenant of Dona Graça would go out"),
        ("I have to go there for the 10:30 train. Bye", "I have to go there for", "task",
         "I have to go there for the 10:30 train"),
        ("It is what I dreamt of. Bye", "It is what I dreamt of", "insight", "It is what I dreamt of"),
        ("It was on but I slept", "It was on", "event", "It was on"),
        ("I wrote to my sister Ana", "my sister Ana", "relationship", "my sister Ana"),
        ("I worry that " + "so " * 40 + "ends", "I worry that", "insight", "I worry"),
    ],
)  # fmt: skip
def test_a_statement_cut_within_a_phrase_is_widened_to_its_clause(text: str, cut: str, kind: str, whole: str) -> None:
    assert _quotes(text, (cut, kind)) == [whole]


def test_a_statement_is_not_widened_into_another_one_or_over_what_was_hidden() -> None:
    text = "I promised Amit that I'd send the quote"
    assert _quotes(text, ("I promised Amit that", "task"), ("I'd send the quote", "task")) == [
        "I promised Amit",
        "I'd send the quote",
    ]
    assert _quotes("I like the [photo: a cat] cat", ("I like the", "preference")) == ["I like the"]


class _Found:
    """A reader that finds these statements."""

    def __init__(self, *statements: decoding.FoundStatement) -> None:
        self._statements = statements

    def read(self, turn: Turn, before: Turn | None = None) -> TurnReading:
        return TurnReading(statements=self._statements)


def _quotes(text: str, *found: tuple[str, str]) -> list[str]:
    """Read a text in which the reader found these words as statements of these kinds."""
    statements = [
        decoding.FoundStatement(
            start=text.index(words),
            end=text.index(words) + len(words),
            score=0.9,
            kind=kind,
            kind_score=0.9,
            mode="asserted",
            state=None,
            about="speaker",
            about_text=None,
            relation=None,
            value=None,
            lasting=0.5,
        )
        for words, kind in found
    ]
    reader = cast("TextReader", _Found(*statements))
    return [one.quote for one in read_event(reader, _turn(text)).statements]


def test_a_word_for_what_was_named_before_points_back_wherever_it_stands() -> None:
    for text in ("It is a lovely town", "I'm stoked for my game there", "we're all from the same firm", "I told him"):
        assert points_back(text), text
    for text in ("I have a game in Seattle this month", "My sister keeps her bees on a roof", "I said that I am vegan"):
        assert not points_back(text), text


@pytest.mark.parametrize("text", ["09:30", "$500", "", "   ", "ok :-)", "> but that is what he said\n", "``` open"])
def test_short_texts_lose_only_quotations_and_code(text: str) -> None:
    assert prose(text).strip() in (text.strip(), "")
    assert (prose(text).strip() == "") == text.startswith((">", "```", " ")) or not text


def test_what_is_told_decides_the_direction_of_a_date() -> None:
    text = "dentist on Friday"
    span = Span(0, len(text))
    ahead = said_date(text, span, MONDAY, kind="plan", state="open")
    back = said_date(text, span, MONDAY, kind="event", state=None)
    done = said_date(text, span, MONDAY, kind="task", state="done")
    assert [one and one.start.date().isoformat() for one in (ahead, back, done)] == [
        "2026-03-13",
        "2026-03-06",
        "2026-03-06",
    ]
    assert said_date(text, Span(0, 7), MONDAY, kind="plan", state="open") is None
    assert said_date("I swim every Friday", Span(0, 19), MONDAY, kind="habit", state=None) is None


def test_an_event_without_a_speaker_is_read_as_its_role() -> None:
    assert turn_of(Event(text="Hi", at=MONDAY, recorded_at=MONDAY)).speaker == "user"
    assert turn_of(Event(text="Hi", role="assistant", at=MONDAY, recorded_at=MONDAY)).speaker == "assistant"
    assert turn_of(Event(text="Hi", speaker="Ana", at=MONDAY, recorded_at=MONDAY)).at == "2026-03-09"


@pytest.fixture(scope="module")
def writer() -> RowWriter:
    tokenizer = open_tokenizer(find_model(EVERYWORD_SMALL).paths["tokenizer.json"])

    def tokenize(text: str) -> Encoding:
        ids, tokens, offsets, words = tokenizer.encode(text)
        return Encoding(ids[1:-1], tokens[1:-1], offsets[1:-1], words[1:-1])

    return RowWriter(tokenize)


def _turn(text: str, speaker: str = "Ana") -> Event:
    return Event(text=text, speaker=speaker, at=MONDAY, recorded_at=MONDAY)


def test_a_row_keeps_the_place_of_every_word(writer: RowWriter) -> None:
    turn = turn_of(_turn("We moved to Porto, near Mia. " * 40))
    rows = list(writer.windows(turn, turn_of(_turn("Where are you now?", "Ben"))))
    assert len(rows) > 1
    read: set[int] = set()
    for row in rows:
        assert len(row.ids) == len(row.segments) == len(row.shapes) == len(row.starts) == len(row.first)
        assert len(row.ids) <= 512
        for n in row.own():
            read.update(range(row.starts[n], row.ends[n]))
    assert {n for n, char in enumerate(turn.text) if not char.isspace()} == read


def test_a_pair_has_both_quotes_and_what_surrounds_them(writer: RowWriter) -> None:
    one, two = turn_of(_turn("I live in Porto. It rains.")), turn_of(_turn("I left Porto"))
    row = writer.pair(Side(one, Span(0, 15), "Ana", None), Side(two, Span(0, 12), "Ana", one))
    assert sorted(set(row.segments)) == [0, 1, 3, 4]
    assert len(row.ids) == len(row.segments) == len(row.shapes)


def test_a_choice_has_what_is_around_each_answer_and_the_turn_before(writer: RowWriter) -> None:
    long = "We talked about the garden for an hour. " * 20 + "I live in Porto. " + "It rained all day. " * 20
    start = long.index("I live")
    one, two = turn_of(_turn(long)), turn_of(_turn("I left Porto"))
    row = writer.choice(
        "Where does Ana live?", Side(one, Span(start, start + 15), "", None), Side(two, Span(0, 12), "", one)
    )
    assert sorted(set(row.segments)) == [0, 1, 2, 3, 4]  # 3: no turn is before the first
    shown = [n for n, segment in enumerate(row.segments) if segment == 1 and row.starts[n] >= 0]
    assert min(row.starts[n] for n in shown) <= start < start + 15 <= max(row.ends[n] for n in shown)
    assert len(row.ids) == len(row.segments) == len(row.shapes) < 256


def test_sentences_cover_the_text_and_long_ones_are_split() -> None:
    text = "Hi there! how are you\n- buy milk " + "and more, " * 60
    found = sentences(text)
    assert "".join(text[a:b] for a, b in found).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert max(end - start for start, end in found) < 220


def test_the_best_span_is_in_order_and_not_too_long() -> None:
    import numpy as np

    begins, ends = np.array([0.0, 5.0, 1.0, 0.0]), np.array([9.0, 0.0, 1.0, 6.0])
    assert decoding.best_span(begins, ends, 4)[1:] == (1, 3)
    assert decoding.best_span(begins, ends, 2)[1:] == (0, 0)
    assert decoding.answer([-1, -1], [-1, -1], np.zeros((2, 2))) is None


def test_scores_are_sums_with_intervals_around_them() -> None:
    found = scores([{"statements": (3, 4, 5)}, {"statements": (1, 2, 5)}, {}])["statements"]
    assert found.precision[0] == pytest.approx(4 / 6)
    assert found.recall[0] == pytest.approx(0.4)
    assert found.recall[1] <= found.recall[0] <= found.recall[2]
    assert found.told == 10


def test_dates_are_the_same_if_they_cover_mostly_the_same_days() -> None:
    week = (datetime(2026, 3, 9, tzinfo=UTC), datetime(2026, 3, 16, tzinfo=UTC))
    assert same_date(SaidDate(week[0], week[1], "this week"), week)
    assert same_date(SaidDate(week[0], datetime(2027, 1, 1, tzinfo=UTC), "since Monday"), week)
    assert not same_date(SaidDate(week[1], datetime(2026, 3, 23, tzinfo=UTC), "next week"), week)


def test_events_wait_for_a_reader_that_can_not_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYWORD_READER", str(tmp_path / "nothing here"))
    with Memory.open(tmp_path / "m.db", embedder="hashing", background=False) as memory:
        memory.add("I live in Porto.", speaker="Ana")
        with pytest.warns(UserWarning, match="not read into statements until the model is available"):
            assert memory.statements() == []
        assert memory.stats().behind["statements"] == 1
    monkeypatch.delenv("EVERYWORD_READER")
    with Memory.open(tmp_path / "m.db", embedder="hashing", background=False) as memory:
        assert [one.value for one in memory.statements()] == ["Porto"]
        assert [one.object_name for one in memory.facts("Ana")] == ["Porto"]


def test_calibration_error_is_how_far_confidence_is_from_what_is_right() -> None:
    assert calibration_error([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == pytest.approx(0)
    assert calibration_error([(0.9, False), (0.1, False)]) == pytest.approx(0.5)
