"""Properties of the parts that everything stands on: spans, words, times, ids, postings."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from effort import effort
from everyword import Memory
from everyword.storage.postings import (
    LENGTHS,
    Postings,
    best,
    chunks_of,
    flatten,
    length_step,
    pack,
    terms_of,
    unpack,
    unpack_terms,
    without,
)
from everyword.text.spans import MAX_WINDOWS, WINDOW_CHARS, searchable_spans, sentences, windows
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import Event, Span, content_of, event_id, fingerprint, identity_of, raw_event_id
from everyword.types.times import as_datetime, from_micros, to_micros

# Anything Python calls a string: NUL, lone surrogates, marks, every script.
any_text = st.text(st.characters(codec=None), max_size=400)
han = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=2, max_size=12)
kana = st.text(st.characters(min_codepoint=0x3041, max_codepoint=0x3096), min_size=2, max_size=12)
hangul = st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), min_size=2, max_size=12)
latin_word = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=15)

quick = settings(max_examples=effort(40, 150), deadline=None, suppress_health_check=list(HealthCheck))


# Spans


@quick
@given(any_text)
@example("")
@example("\n\n")
@example("a. b! c? …d")
@example("。。你好。「再见！」然后")
@example("no end")
@example(" \ud800. \x00! ")
def test_sentences_cover_all_but_white_space_in_order(text: str) -> None:
    spans = sentences(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert not text[at:start].strip()
        piece = text[start:end]
        assert piece == piece.strip()
        at = end
    assert not text[at:].strip()


@quick
@given(any_text, st.integers(0, 400), st.integers(0, 400))
def test_sentences_of_a_part_lie_in_it(text: str, one: int, other: int) -> None:
    low, high = sorted((min(one, len(text)), min(other, len(text))))
    for start, end in sentences(text, Span(low, high)):
        assert low <= start < end <= high


@quick
@given(st.text(st.sampled_from("ab cd.\n你好é🧠"), max_size=200).map(lambda text: text * 40))
@example("x" * 1_000_000)
@example("```\n" + "x = 1\n" * 2_000)
@example("你" * 10_000)
@example("word " * 5_000)
@example(" " * 5_000)
def test_windows_hold_what_is_searchable_of_a_text_once(text: str) -> None:
    found = windows(text)
    assert 1 <= len(found) <= MAX_WINDOWS
    for before, after in pairwise(found):
        assert before.span.start < before.span.end <= after.span.start
    assert all(len(window.text) <= WINDOW_CHARS for window in found)
    if len(found) < MAX_WINDOWS:
        searchable = "".join(text[start:end] for start, end in searchable_spans(text))
        assert "".join("".join(window.text for window in found).split()) == "".join(searchable.split())


# Words


def _found(question: str, text: str) -> bool:
    asked = question_terms(question)
    held = term_counts(text)
    return bool(asked) and all(term in held for term in asked)


def _shares(question: str, text: str) -> bool:
    return not question_terms(question).keys().isdisjoint(term_counts(text).keys())


@quick
@given(st.one_of(han, kana, hangul), st.data())
def test_any_part_of_unspaced_text_is_found(text: str, data) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assume(term_counts(text[start:end]))
    assert _found(text[start:end], text)
    assert _found(text[start:end], f"before {text}. after")


@quick
@given(st.lists(st.sampled_from("café naïve Zoë Łódź Ångström São über résumé señor İzmir Dvořák Đorđe ﬁn".split())))
def test_accented_words_are_found_without_accents_and_the_other_way(words: list[str]) -> None:
    import unicodedata

    plain_of = str.maketrans({"Ł": "L", "ł": "l", "Đ": "D", "đ": "d", "ﬁ": "fi"})
    for word in words:
        decomposed = unicodedata.normalize("NFD", word.translate(plain_of))
        plain = "".join(char for char in decomposed if not unicodedata.combining(char))
        for text, question in ((word, plain), (plain, word), (unicodedata.normalize("NFD", word), word)):
            assert _shares(question, f"I met {text} there"), (question, text)
            assert _shares(question.lower(), f"I met {text} there"), (question, text)
            assert _shares(question, f"i met {text.lower()} there"), (question, text)


@quick
@given(
    st.sampled_from(
        "Jean-Luc O'Brien v2.3.1 1,200 1200 3.14 ana@example.org C++ C# A/B 2026-04-02 10:30 R&D x86_64 Zoë's".split()
    )
)
def test_names_and_numbers_are_found_as_they_are_written(name: str) -> None:
    assert _found(name, f"We saw {name} there.")
    assert _found(name, f"({name}), and more")
    assert _found(f"What about {name}?", f"It was {name}, what about it")


def test_numbers_are_kept_whole() -> None:
    assert not _found("1200", "the year 12 and 00")
    assert _shares("1,200", "it costs 1200 euros")
    assert _found("1200", "it costs 1,200 euros")
    assert _shares("1,234,567.89", "it costs 1234567.89 euros")
    assert not _found("v2.3.1", "v2 and 3 and 1")


@quick
@given(latin_word)
def test_words_are_found_whatever_their_case(word: str) -> None:
    for question in (word, word.upper(), word.title()):
        for text in (word, word.upper(), word.title()):
            assert _shares(question, f"zzz {text} qqq"), (question, text)


def test_english_is_stemmed() -> None:
    for question, text in (("moving", "She moved."), ("cities", "a city"), ("run", "running"), ("houses", "the house")):
        assert _found(question, text), (question, text)


@quick
@given(any_text)
@example("a" * 1_000_000)
@example("'s")
@example("’s 's's--'s.")
@example("\ud800\udfff")
@example("a_b__c_")
@example("++ # C# c++ ++")
@example("1,234,567.89,")
def test_any_text_can_be_analysed_the_same_way_twice(text: str) -> None:
    counts = term_counts(text)
    assert counts == term_counts(text)
    assert all(-(1 << 63) <= term < 1 << 63 and count > 0 for term, count in counts.items())
    assert all(count > 0 for count in question_terms(text).values())


@quick
@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_plain_text_gives_the_same_terms_beside_other_text(text: str) -> None:
    # Plain ASCII takes a faster way; a letter of another script at the end must change nothing before it.
    counts, beside = term_counts(text), term_counts(text + " 字")
    counts.update(term_counts("字"))
    assert counts == beside


@quick
@given(any_text, any_text)
def test_texts_side_by_side_have_the_terms_of_both(one: str, other: str) -> None:
    both = Counter(term_counts(one))
    both.update(term_counts(other))
    assert term_counts(one, other) == both


# Times

offsets = st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds)))
moments = st.datetimes(datetime.min, datetime.max, timezones=st.one_of(st.just(UTC), offsets))


@quick
@given(moments)
@example(datetime.min.replace(tzinfo=timezone(timedelta(hours=14))))
@example(datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))))
def test_a_time_comes_back_with_its_zone(moment: datetime) -> None:
    micros, offset = to_micros(moment)
    back = from_micros(micros, offset)
    assert back.replace(tzinfo=None) == moment.replace(tzinfo=None)
    assert back.utcoffset() == moment.utcoffset()
    from_micros(micros)  # in UTC, where it may be off the calendar: never an error
    again = as_datetime(moment.isoformat())
    assert (again.replace(tzinfo=None), again.utcoffset()) == (moment.replace(tzinfo=None), moment.utcoffset())


@quick
@given(moments, moments)
def test_stored_times_are_ordered_as_times_are(one: datetime, other: datetime) -> None:
    assert (to_micros(one)[0] < to_micros(other)[0]) == (one < other)


# Ids


@quick
@given(st.binary(min_size=16, max_size=16))
def test_an_id_comes_back(raw: bytes) -> None:
    assert raw_event_id(event_id(raw)) == raw


@quick
@given(st.text(max_size=40))
@example("ev_")
@example("ev_" + "z" * 32)
@example("ev_" + "0" * 31)
@example("ev_" + "0" * 32 + "\n")
@example("ev_" + "٠" * 32)
def test_what_is_no_id_is_none(text: str) -> None:
    raw = raw_event_id(text)
    assert raw is None or event_id(raw) == text


field = st.one_of(st.none(), st.text(st.characters(codec=None), max_size=8))


@quick
@given(st.lists(field, max_size=4), st.lists(field, max_size=4))
@example(["1:a"], ["", "a"])
@example(["-"], [None])
@example([""], [None])
@example(["a", "b"], ["ab"])
def test_different_fields_have_different_fingerprints(one: list, other: list) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


@quick
@given(any_text, st.one_of(st.none(), latin_word), moments)
def test_the_same_content_has_the_same_id_whatever_its_zone(text: str, session: str | None, at: datetime) -> None:
    assume(datetime(2, 1, 1, tzinfo=UTC) < at < datetime(9998, 1, 1, tzinfo=UTC))
    here = Event(text=text, session=session, at=at)
    there = Event(text=text, session=session, at=at.astimezone(timezone(timedelta(hours=5))))
    assert content_of(here) == content_of(there)
    assert identity_of(None, content_of(here)) != identity_of("key", content_of(here))


# Postings

seq_lists = st.lists(st.integers(1, 1 << 31), min_size=1, max_size=60, unique=True).map(sorted)


def _postings(seqs: list[int]) -> Postings:
    count = len(seqs)
    return Postings(
        np.array(seqs, np.int64),
        np.arange(1, count + 1, dtype=np.uint8),
        np.arange(count, dtype=np.uint8)[::-1].copy(),
    )


@quick
@given(seq_lists)
@example([5])
@example([1, 65_536])
@example([1, 65_537])
@example([7, 7 + (1 << 31)])
def test_a_chunk_comes_back(seqs: list[int]) -> None:
    postings = _postings(seqs)
    back = unpack(seqs[0], pack(postings))
    for part, other in zip(postings, back, strict=True):
        np.testing.assert_array_equal(part, other)


@quick
@given(seq_lists, st.data())
def test_a_chunk_without_some_events_holds_the_others(seqs: list[int], data) -> None:
    gone = data.draw(st.lists(st.one_of(st.sampled_from(seqs), st.integers(1, 100)), max_size=60))
    postings = _postings(seqs)
    kept = without(seqs[0], pack(postings), np.array(gone, np.int64))
    left = [seq for seq in seqs if seq not in gone]
    if not left:
        assert kept is None
        return
    assert kept is not None
    back = unpack(*kept)
    assert back.seqs.tolist() == left
    mask = ~np.isin(postings.seqs, gone)
    np.testing.assert_array_equal(back.counts, postings.counts[mask])
    np.testing.assert_array_equal(back.lengths, postings.lengths[mask])


terms = st.dictionaries(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(1, 100_000), max_size=30)


@quick
@given(terms)
def test_the_terms_of_an_event_come_back(counts: dict[int, int]) -> None:
    made = terms_of(counts)
    read, often = unpack_terms(made.packed)
    assert dict(zip(read.tolist(), often.tolist(), strict=True)) == {
        term: min(count, 255) for term, count in counts.items()
    }
    assert made.length == sum(counts.values())


@quick
@given(st.lists(terms, max_size=8))
def test_chunks_hold_just_what_the_events_hold(events: list[dict[int, int]]) -> None:
    rows = [(seq, made.length, made.packed) for seq, made in enumerate(map(terms_of, events), 1)]
    held = {
        (term, seq): count
        for term, first, chunk in chunks_of(flatten(rows))
        for seq, count in zip(*(part.tolist() for part in unpack(first, chunk)[:2]), strict=True)
    }
    assert held == {
        (term, seq): min(count, 255) for seq, counts in enumerate(events, 1) for term, count in counts.items()
    }


@quick
@given(st.integers(0, 10_000_000))
def test_a_length_is_kept_within_a_few_percent(length: int) -> None:
    kept = float(LENGTHS[length_step(length)])
    assert kept == length if length < 40 else abs(kept - length) / length < 0.04


@quick
@given(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), max_size=40), st.integers(1, 50))
def test_the_best_are_the_best_and_the_newer_first_among_equals(scores: list[float], k: int) -> None:
    ranking = best(np.arange(len(scores), dtype=np.int64), np.array(scores, np.float32), k)
    expected = sorted(range(len(scores)), key=lambda seq: (-scores[seq], -seq))[:k]
    assert ranking.seqs.tolist() == expected


# Any text in a memory


@settings(max_examples=effort(15, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(any_text.filter(lambda text: text.strip()), min_size=1, max_size=5, unique=True))
@example(["\x00", "\ud800", "w" * 1_000_000])
def test_any_text_is_read_back_equal(texts: list[str]) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with Memory.open(":memory:", embedder="hashing", tokenizer="words") as memory:
        batch = memory.add_many([{"text": text, "at": at} for text in texts])
        assert [memory.get(id).text for id in batch.ids] == texts
        for text in texts:
            hits = memory.recall(text, k=10)
            if term_counts(text):
                assert text in {hit.text for hit in hits}
            for hit in hits:
                assert 0 <= hit.span.start <= hit.span.end <= len(hit.text)
        assert memory.context(texts[0], budget=40).tokens <= 40
        assert memory.admin.verify().ok
        memory.forget(ids=batch.ids)
        assert memory.admin.verify().ok
