"""Statements: versions, the journal and tags, as a store keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from conformance.making import SPACE, START, draft, drafts, put, remove
from everyword.storage.protocol import Store
from everyword.storage.rows import Draft, StatementFilter, StatementText
from everyword.types.events import Change, Event, Filter, Span
from everyword.types.statements import (
    Category,
    SaidDate,
    Slot,
    Stance,
    Statement,
    StatementDraft,
    StatementKind,
    Status,
    adopt,
)
from everyword.types.times import to_micros

ANY = StatementFilter()
MANY = 10_000
ODD = ["a NUL \x00 inside", "tea 🍵", "\\ud83d", "\\\x01 \\", "\x01d83d", "\x1aB64:eA==", '"']


def stated(event: Event, quote: str | None = None, *, replaces: str | None = None, **fields) -> Statement:
    """Make the statement of an event; whatever is not given is plain."""
    words = event.text if quote is None else quote
    start = event.text.index(words)
    given = {
        "kind": StatementKind.ATTRIBUTE,
        "content": f"{event.speaker}: {words}",
        "category": Category.IDENTITY,
        "quote": words,
        "event_id": event.id,
        "span": Span(start, start + len(words)),
        "speaker": event.speaker,
        "about": "Ana",
        "confidence": 0.75,
        "valid_from": event.at,
    }
    return adopt(StatementDraft(**{**given, **fields}), recorded_at=START, replaces=replaces)


def put_stated(store: Store, made: Draft, *, space: str = SPACE, **fields) -> tuple[int, Statement]:
    """Append an event and the statement that it states."""
    (seq,) = put(store, [made], space=space)
    statement = stated(made.event, **fields)
    with store.writer(space) as writer:
        writer.put_statement(seq, statement)
    return seq, statement


def listed(store: Store, which: StatementFilter = ANY, *, space: str = SPACE) -> list[Statement]:
    """Read the statements that a filter lets through."""
    with store.reader(space) as reader:
        return [statement for _, statement in reader.statements(which, limit=MANY)]


def change(event: Event, action: str, *, statement: str | None = None, target: str | None = None) -> Change:
    """Make an entry of the journal."""
    return Change(
        at=START, action=action, reason=f"{action}ed", statement_id=statement, target_id=target, event_id=event.id
    )


class StatementsConformance:
    """Holds a store to its statements."""

    # Reading back

    @pytest.mark.parametrize("odd", [*ODD, "half \ud83d of it", "\ud83d"], ids=ascii)
    def test_whatever_is_stated_is_read_back_where_only_its_words_are_asked_for(self, store: Store, odd: str) -> None:
        seq, _ = put_stated(store, draft("I live in Lisbon.", speaker="Ana"), content=odd)
        with store.reader(SPACE) as reader:
            assert reader.statement_texts([seq]) == [StatementText(seq, odd, True)]

    @pytest.mark.parametrize("odd", ODD, ids=ascii)
    def test_names_are_known_as_they_were_written(self, store: Store, odd: str) -> None:
        seq, _ = put_stated(store, draft("I live in Lisbon.", speaker="Ana"), about=odd)
        with store.reader(SPACE) as reader:
            assert reader.names_known(limit=9) == [(odd, seq)]

    def test_a_statement_is_read_back_as_it_was_written(self, store: Store) -> None:
        made = draft("Since the divorce I live in “Lisbon” 🍵, not in Porto.", speaker="Ana")
        seq, statement = put_stated(
            store,
            made,
            quote="I live in “Lisbon” 🍵",
            kind=StatementKind.FACT,
            category=Category.LIFESTYLE,
            date=SaidDate(datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 4, 1, tzinfo=UTC), "in March", False, True),
            entities=("Lisbon", "Porto"),
            negated=True,
            tags=("topic:lifestyle", "relationship:family"),
            slot=Slot("Ana", "lives_in"),
            value="“Lisbon” 🍵",
            stance=Stance.CHANGED,
            extractor="reader/1",
        )
        with store.reader(SPACE) as reader:
            assert reader.statement(statement.id) == statement
            assert reader.statements_of([seq]) == {seq: [statement]}
        assert listed(store) == [statement]
        assert statement.quote == made.event.text[slice(*statement.span)]

    @pytest.mark.parametrize(
        "text", ["a\x00b I live here", "x\udfff\ud800y I live here", "\ufeff🧠 I live here", "\r\n\x85I live here"]
    )
    def test_a_quote_is_read_from_any_text(self, store: Store, text: str) -> None:
        _, statement = put_stated(store, draft(text), quote="I live here", about=None)
        (read,) = listed(store)
        assert read.quote == "I live here"
        assert read == statement
        assert store.audit(deep=True).problems == ()

    def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        _, statement = put_stated(store, draft("I live here"))
        with store.file_reader() as reader:
            for space in (SPACE, "nowhere"):
                assert reader.reader(space).statement("st_nothing") is None
                assert reader.reader(space).statements_of([99]) == {}
                assert reader.reader(space).statements_of([]) == {}
                assert reader.reader(space).standing("nobody", limit=5) == []
                assert reader.reader(space).versions(["st_nothing"]) == {}
                assert reader.reader(space).changes(["st_nothing"]) == []
                assert reader.reader(space).changes([]) == []
                assert reader.reader(space).stating(["nobody"]) == []
                assert reader.reader(space).stating([]) == []
                assert reader.reader(space).abouts_of([99]) == set()
                assert reader.reader(space).said_earlier(99, limit=5) == []
            assert reader.reader("nowhere").statement(statement.id) is None
            assert reader.reader("nowhere").statement_counts() == reader.reader("nowhere").tag_counts() == {}
            assert reader.reader("nowhere").change_counts() == {}
            assert set(reader.reader("nowhere").cursors().values()) == {0}

    # Which ones

    def test_filters_let_through_what_meets_all_their_conditions(self, store: Store) -> None:
        made = [
            ("0", {"kind": StatementKind.DECISION, "about": "ANA", "tags": ("topic:a",)}, "w"),
            ("1", {"about": "Bo", "tags": ("topic:a", "topic:b")}, None),
            ("2", {"about": None, "valid_to": START}, "w"),  # says itself that it is over
        ]
        for text, fields, wing in made:
            put_stated(store, draft(text, wing=wing), **fields)

        def texts(**which) -> str:
            return "".join(statement.quote for statement in listed(store, StatementFilter(**which)))

        assert texts() == "012"
        assert texts(kind=StatementKind.DECISION) == "0"
        assert texts(about="ana") == texts(about="Ana") == "0"
        assert texts(status=Status.CURRENT) == "01"
        assert texts(status=Status.RETRACTED) == "2"
        assert texts(tag="topic:a") == "01"
        assert texts(tag="topic:b") == "1"
        assert texts(tag="topic") == ""
        assert texts(wing="w") == "02"
        assert texts(wing="W") == ""
        assert texts(wing="w", status=Status.CURRENT) == "0"

    @pytest.mark.parametrize("newest_first", [False, True])
    def test_pages_cover_everything_once_in_order(self, store: Store, newest_first: bool) -> None:
        made = [draft(f"statement {n}") for n in range(25)]
        for one in made:
            put_stated(store, one)
        read: list[str] = []
        after = 0
        with store.reader(SPACE) as reader:
            while page := reader.statements(ANY, after=after, newest_first=newest_first, limit=7):
                assert len(page) <= 7
                read += [statement.quote for _, statement in page]
                after = page[-1][0]
        texts = [one.event.text for one in made]
        assert read == (texts[::-1] if newest_first else texts)

    def test_what_stands_about_one_is_the_newest_first_and_not_what_is_closed(self, store: Store) -> None:
        statements = [put_stated(store, draft(f"statement {n}"), about="Ana")[1] for n in range(5)]
        put_stated(store, draft("another's"), about="Bo")
        with store.writer(SPACE) as writer:
            writer.close_statement(statements[3].id, status=Status.SUPERSEDED, valid_to=START, at=to_micros(START)[0])
            assert [one.quote for one in writer.standing("aNa", limit=3)] == [
                "statement 4",
                "statement 2",
                "statement 1",
            ]

    def test_what_is_current_is_found_by_any_of_its_keys_the_newest_first(self, store: Store) -> None:
        seqs = put(store, drafts([f"statement {n}" for n in range(4)]))
        with store.file_writer() as file:
            writer = file.writer(SPACE)
            events = writer.fetch(seqs)
            statements = [stated(events[seq]) for seq in seqs]
            for seq, statement, keys in zip(seqs, statements, ([1, 2], [2, -3], [2], [4]), strict=True):
                writer.put_statement(seq, statement, keys)
            assert writer.standing_by([2, -3], limit=9) == [statements[2], statements[1], statements[0]]
            assert writer.standing_by([2], limit=2) == [statements[2], statements[1]]
            assert writer.standing_by([1], limit=9) == [statements[0]]
            assert writer.standing_by([5], limit=9) == writer.standing_by([], limit=9) == []
            assert file.writer("nowhere").standing_by([2], limit=9) == []
            writer.close_statement(statements[1].id, status=Status.RETRACTED, valid_to=None, at=1)
            assert writer.standing_by([2, -3], limit=9) == [statements[2], statements[0]]
        remove(store, [seqs[2]])
        with store.reader(SPACE) as reader:
            assert reader.standing_by([2, -3], limit=9) == [statements[0]]
        assert store.audit(deep=True).problems == ()

    def test_statements_are_read_with_their_events_and_whether_they_hold(self, store: Store) -> None:
        one, first = put_stated(store, draft("I live in Lisbon"), content="Ana lives in “Lisbon”")
        two, _ = put_stated(store, draft("I live in Porto"), content="Ana lives in Porto")
        with store.writer(SPACE) as writer:
            writer.close_statement(first.id, status=Status.SUPERSEDED, valid_to=None, at=1)
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.statement_texts([two, one, 99]) == [
                StatementText(one, "Ana lives in “Lisbon”", False),
                StatementText(two, "Ana lives in Porto", True),
            ]
            assert reader.statement_texts([two]) == [StatementText(two, "Ana lives in Porto", True)]
            assert reader.statement_texts([]) == file.reader("nowhere").statement_texts([one]) == []

    # Closing, and what was known when

    def test_a_closed_statement_ends_and_is_still_there(self, store: Store) -> None:
        _, statement = put_stated(store, draft("I live in Lisbon"))
        ends = START + timedelta(days=3)
        with store.writer(SPACE) as writer:
            writer.close_statement(statement.id, status=Status.RETRACTED, valid_to=ends, at=to_micros(ends)[0])
        (closed,) = listed(store)
        assert closed == replace(statement, status=Status.RETRACTED, valid_to=ends)

    def test_as_of_shows_what_was_known_and_as_it_was_known(self, store: Store) -> None:
        _, statement = put_stated(store, draft("I live in Lisbon"))
        learned = START + timedelta(days=3)
        with store.writer(SPACE) as writer:
            # It ended long before that was learned.
            writer.close_statement(statement.id, status=Status.SUPERSEDED, valid_to=START, at=to_micros(learned)[0])

        def at(moment: datetime, status: Status | None = None) -> list[Statement]:
            return listed(store, StatementFilter(as_of=moment, status=status))

        second = timedelta(seconds=1)
        assert at(START - second) == []
        assert at(START) == at(learned - second) == [statement]
        assert at(learned - second, Status.CURRENT) == [statement]
        assert at(learned - second, Status.SUPERSEDED) == []
        assert at(learned, Status.CURRENT) == []
        assert at(learned, Status.SUPERSEDED) == listed(store)

    def test_a_chain_is_read_from_any_of_its_versions_the_oldest_first(self, store: Store) -> None:
        _, first = put_stated(store, draft("version 1"))
        _, second = put_stated(store, draft("version 2"), replaces=first.id)
        _, third = put_stated(store, draft("version 3"), replaces=second.id)
        _, beside = put_stated(store, draft("version 2b"), replaces=first.id)
        _, other = put_stated(store, draft("another matter"))
        chain = [first, second, third, beside]
        with store.reader(SPACE) as reader:
            found = reader.versions([other.id, *(version.id for version in chain)])
            assert found == {other.id: [other], **{version.id: chain for version in chain}}

    # The journal

    def test_the_journal_tells_what_was_done_in_order(self, store: Store) -> None:
        made = drafts(["I live in Lisbon", "I still do", "I moved to Porto"])
        (one, still, moved) = put(store, made)
        first, second = stated(made[0].event), stated(made[2].event)
        told = [
            (one, change(made[0].event, "add", statement=first.id)),
            (still, change(made[1].event, "none", target=first.id)),
            (moved, change(made[2].event, "update", statement=second.id, target=first.id)),
        ]
        with store.writer(SPACE) as writer:
            writer.put_statement(one, first)
            writer.put_statement(moved, second)
            writer.put_changes(told)
        with store.reader(SPACE) as reader:
            assert reader.changes([first.id]) == [entry for _, entry in told]
            assert reader.changes([second.id]) == [told[2][1]]
            assert reader.change_counts() == {"add": 1, "none": 1, "update": 1}
            assert reader.stating(["ana"]) == [one, still, moved]
            assert reader.abouts_of([still]) == {"ana"}

    def test_a_statement_can_get_the_number_back_that_it_had(self, store: Store) -> None:
        made = drafts(["I live in Lisbon", "I moved to Porto"])
        seqs = put(store, made)
        first, second = (stated(one.event) for one in made)
        with store.writer(SPACE) as writer:
            writer.put_statement(seqs[0], first)
            writer.put_statement(seqs[1], second)
            numbers = writer.statement_numbers(seqs)
            writer.drop_statements(["ana"])
            writer.put_statement(seqs[1], second)
            writer.put_statement(seqs[0], first, number=numbers[first.id])
        with store.reader(SPACE) as reader:
            assert reader.statement_numbers([seqs[0]]) == {first.id: numbers[first.id]}
            assert reader.statement_numbers([seqs[1]])[second.id] > numbers[second.id]
            assert [one.id for _, one in reader.statements(StatementFilter(), limit=9)] == [first.id, second.id]

    # Tags

    def test_tags_are_counted_and_filter_events(self, store: Store) -> None:
        seqs = put(store, drafts(["zero", "one", "two"]))
        with store.writer(SPACE) as writer:
            writer.put_tags({seqs[0]: ("topic:a", "topic:b"), seqs[2]: ("topic:a",)})
            writer.put_tags({seqs[0]: ("topic:a",)})
        with store.reader(SPACE) as reader:
            assert list(reader.tag_counts().items()) == [("topic:a", 2), ("topic:b", 1)]
            for tag, expected in (("topic:a", [seqs[0], seqs[2]]), ("topic:b", [seqs[0]]), ("topic:", [])):
                allowed = reader.matching(Filter(tag=tag))
                assert allowed is not None
                assert allowed.tolist() == expected

    def test_only_what_is_current_is_counted_by_kind(self, store: Store) -> None:
        put_stated(store, draft("one"), kind=StatementKind.TASK)
        put_stated(store, draft("two"), kind=StatementKind.TASK)
        put_stated(store, draft("three"), kind=StatementKind.DECISION)
        put_stated(store, draft("four"), kind=StatementKind.DECISION, valid_to=START)
        with store.reader(SPACE) as reader:
            assert list(reader.statement_counts().items()) == [("task", 2), ("decision", 1)]

    # Removing

    def test_removing_an_event_takes_all_that_was_derived_from_it(self, store: Store) -> None:
        kept_seq, kept = put_stated(store, draft("stays"))
        gone_seq, gone = put_stated(store, draft("goes"), replaces=kept.id)
        with store.writer(SPACE) as writer:
            writer.put_tags({kept_seq: ("topic:a",), gone_seq: ("topic:a", "topic:b")})
            events = writer.fetch([kept_seq, gone_seq])
            writer.put_changes(
                [
                    (kept_seq, change(events[kept_seq], "add", statement=kept.id)),
                    (gone_seq, change(events[gone_seq], "update", statement=gone.id, target=kept.id)),
                ],
            )
        assert remove(store, [gone_seq])["statements"] == 1
        assert listed(store) == [kept]
        with store.reader(SPACE) as reader:
            assert reader.tag_counts() == {"topic:a": 1}
            assert reader.change_counts() == {"add": 1}
            assert reader.versions([gone.id]) == {}
        assert store.audit(deep=True).problems == ()

    def test_what_is_about_some_is_dropped_with_its_journal_and_the_rest_stays(self, store: Store) -> None:
        ana_seq, ana = put_stated(store, draft("about Ana"), about="Ana")
        bo_seq, bo = put_stated(store, draft("about Bo"), about="Bo")
        with store.writer(SPACE) as writer:
            events = writer.fetch([ana_seq, bo_seq])
            writer.put_changes(
                [
                    (ana_seq, change(events[ana_seq], "add", statement=ana.id)),
                    (bo_seq, change(events[bo_seq], "none", target=ana.id)),
                    (bo_seq, change(events[bo_seq], "add", statement=bo.id)),
                ],
            )
            writer.put_tags({ana_seq: ("topic:a",)})
        with store.writer(SPACE) as writer:
            writer.drop_statements(["ana"])
        assert listed(store) == [bo]
        with store.reader(SPACE) as reader:
            assert reader.changes([ana.id]) == []
            assert [entry.action for entry in reader.changes([bo.id])] == ["add"]
            assert reader.tag_counts() == {"topic:a": 1}
        with store.writer(SPACE) as writer:
            writer.drop_statements(None)
        with store.reader(SPACE) as reader:
            assert reader.statements(ANY, limit=5) == []
            assert reader.change_counts() == reader.tag_counts() == {}

    # Spaces

    def test_nothing_of_one_space_shows_in_another(self, store: Store) -> None:
        # The same event in both: the same ids on each side of the wall.
        mine, one = put_stated(store, draft("the same words"), tags=("topic:a",))
        yours, same = put_stated(store, draft("the same words"), space="yours", tags=("topic:a",))
        assert one.id == same.id
        _, only_yours = put_stated(store, draft("your words"), space="yours", replaces=same.id)
        with store.writer("yours") as writer:
            writer.put_tags({yours: ("topic:a",)})
            writer.put_changes([(yours, change(writer.fetch([yours])[yours], "add", statement=one.id))])
            writer.close_statement(one.id, status=Status.SUPERSEDED, valid_to=START, at=to_micros(START)[0])
            writer.set_cursor("statements", yours)
        with store.reader(SPACE) as reader:
            assert reader.statement(one.id) == one
            assert reader.statement(only_yours.id) is None
            assert reader.versions([one.id]) == {one.id: [one]}
            assert reader.standing("ana", limit=5) == [one]
            assert reader.changes([one.id]) == []
            assert reader.tag_counts() == {}
            assert reader.statements_of([mine, yours]) == {mine: [one]}
            assert reader.stating(["ana"]) == [mine]
            assert reader.abouts_of([yours]) == set()
            assert reader.cursor("statements") == 0
        with store.writer("yours") as writer:
            writer.drop_statements(None)
            writer.remove(np.array([yours], np.int64))
        assert listed(store) == [one]

    # What had been said before, and what is behind

    def test_what_was_said_earlier_is_in_the_session_before_it_in_time_and_in_arrival(self, store: Store) -> None:
        days = [2, 0, 4, 1, 3]
        made = [draft(f"turn {day}", session="s", at=START + timedelta(days=day)) for day in days]
        seqs = dict(zip(days, put(store, made), strict=True))
        (other, bare) = put(store, [draft("elsewhere", session="t"), draft("alone")])
        with store.reader(SPACE) as reader:
            assert reader.said_earlier(seqs[4], limit=9) == [seqs[2], seqs[0]]
            # Day 4 comes later in time; days 1 and 2 had arrived before.
            assert reader.said_earlier(seqs[3], limit=9) == [seqs[2], seqs[1], seqs[0]]
            assert reader.said_earlier(seqs[3], limit=2) == [seqs[2], seqs[1]]
            assert reader.said_earlier(seqs[0], limit=9) == []
            assert reader.said_earlier(other, limit=9) == reader.said_earlier(bare, limit=9) == []

    def test_the_cursor_of_each_view_is_kept(self, store: Store) -> None:
        first, second, last = put(store, drafts(["one", "two", "three"]))
        with store.writer(SPACE) as writer:
            assert (set(writer.cursors().values()), writer.last_seq) == ({0}, last)
            writer.set_cursor("facts", first)
            writer.set_cursor("facts", second)
            writer.set_cursor("statements", last)
        with store.writer(SPACE) as writer:
            assert (writer.cursor("facts"), writer.cursor("statements"), writer.cursor("concepts")) == (second, last, 0)
            assert [writer.count_behind(seq) for seq in (0, second, last)] == [3, 1, 0]
            writer.remove(np.array([last], np.int64))
        with store.reader(SPACE) as reader:  # what is gone is behind nobody, and its number is not given again
            assert (reader.last_seq, reader.count_behind(second)) == (last, 0)

    def test_a_transaction_that_fails_leaves_no_statement(self, store: Store) -> None:
        (seq,) = put(store, [draft("I live here")])

        def fail() -> None:
            with store.writer(SPACE) as writer:
                writer.put_statement(seq, stated(draft("I live here").event))
                writer.put_tags({seq: ("topic:a",)})
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert listed(store) == []
        with store.reader(SPACE) as reader:
            assert reader.tag_counts() == {}
