"""Marks of events and counts of recalls, as a store keeps them."""

from __future__ import annotations

from datetime import timedelta

from conformance.making import SPACE, START, draft, drafts, put, remove
from everyword.storage.protocol import Access, MarkFilter, MarkRow, Store
from everyword.types.events import Span
from everyword.types.times import to_micros

ANY = MarkFilter()


class AttentionConformance:
    """What attention asks of a store."""

    def test_marks_come_back_newest_first_and_by_kind(self, store: Store) -> None:
        first, second = put(store, drafts(["one two", "three four"]))
        rows = [
            MarkRow(first, "goal", Span(0, 3), {"strength": 0.5}),
            MarkRow(first, "goal", Span(4, 7), {}),
            MarkRow(second, "deed", Span(0, 5), {}),
            MarkRow(second, "goal", Span(6, 10), {"é": "\U0001f600"}),
        ]
        with store.writer(SPACE) as writer:
            writer.put_marks(rows)
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.marks("goal", ANY, limit=10) == [rows[3], rows[0], rows[1]]
            assert reader.marks("deed", ANY, limit=10) == [rows[2]]
            assert reader.marks("goal", ANY, limit=1) == [rows[3]]
            assert file.reader("elsewhere").marks("goal", ANY, limit=10) == []
            # In the order of arrival, each event once, from behind one.
            assert reader.marked_after(["goal", "deed"], after=0, limit=10) == [first, second]
            assert reader.marked_after(["goal", "deed"], after=0, limit=1) == [first]
            assert reader.marked_after(["deed"], after=0, limit=10) == [second]
            assert reader.marked_after(["goal"], after=second, limit=10) == []
            assert file.reader("elsewhere").marked_after(["goal"], after=0, limit=10) == []

    def test_marks_are_filtered_by_wing_and_by_what_was_known(self, store: Store) -> None:
        later = to_micros(START)[0] - 1
        here, there = put(store, [draft("a", wing="work", recorded_at=later), draft("b", recorded_at=later + 1)])
        with store.writer(SPACE) as writer:
            writer.put_marks([MarkRow(seq, "goal", Span(0, 1), {}) for seq in (here, there)])
        with store.reader(SPACE) as reader:
            in_wing = reader.marks("goal", MarkFilter(wing="work"), limit=9)
            then = reader.marks("goal", MarkFilter(as_of=START - timedelta(microseconds=1)), limit=9)
        assert [row.seq for row in in_wing] == [here]
        assert [row.seq for row in then] == [here]

    def test_removing_an_event_removes_its_marks_and_counts(self, store: Store) -> None:
        gone, kept = put(store, drafts(["one", "two"]))
        with store.writer(SPACE) as writer:
            writer.put_marks([MarkRow(seq, "goal", Span(0, 3), {}) for seq in (gone, kept)])
            writer.put_accesses({gone: Access(2, 5), kept: Access(1, 7)})
        remove(store, [gone])
        with store.reader(SPACE) as reader:
            assert [row.seq for row in reader.marks("goal", ANY, limit=9)] == [kept]
            assert reader.accesses([gone, kept]) == {kept: Access(1, 7)}
        assert store.audit().problems == ()

    def test_counts_add_up_and_what_is_gone_is_not_counted(self, store: Store) -> None:
        one, two = put(store, drafts(["one", "two"]))
        with store.writer(SPACE) as writer:
            writer.put_accesses({one: Access(2, 50), two: Access(1, 9), 99_999: Access(1, 1)})
            writer.put_accesses({one: Access(3, 20)})
        with store.reader(SPACE) as reader:
            assert reader.accesses([one, two, 99_999]) == {one: Access(5, 50), two: Access(1, 9)}
            assert reader.most_recalled(limit=9) == [one, two]
            assert reader.most_recalled(limit=1) == [one]

    def test_all_marks_can_be_dropped(self, store: Store) -> None:
        (seq,) = put(store, drafts(["one"]))
        with store.writer(SPACE) as writer:
            writer.put_marks([MarkRow(seq, "goal", Span(0, 3), {})])
            writer.drop_marks()
        with store.reader(SPACE) as reader:
            assert reader.marks("goal", ANY, limit=9) == []

    def test_the_newest_events_and_the_wings(self, store: Store) -> None:
        made = [draft(str(n), wing="work" if n % 2 else None, at=START + timedelta(minutes=n)) for n in range(5)]
        seqs = put(store, made)
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.newest_events(None, limit=3) == seqs[:1:-1]
            assert reader.newest_events("work", limit=9) == [seqs[3], seqs[1]]
            assert reader.wing_counts() == {"work": 2, None: 3}
            assert file.reader("elsewhere").wing_counts() == {}
            known = reader.fetch(seqs)[seqs[0]].recorded_at
            before = known - timedelta(seconds=1)
            assert reader.newest_events("work", as_of=known, limit=9) == [seqs[3], seqs[1]]
            assert reader.newest_events(None, as_of=before, limit=9) == []
            assert reader.wing_counts(as_of=known) == {"work": 2, None: 3}
            assert reader.wing_counts(as_of=before) == {}

    def test_marks_are_in_one_transaction_with_the_rest(self, store: Store) -> None:
        (seq,) = put(store, drafts(["one"]))
        try:
            with store.writer(SPACE) as writer:
                writer.put_marks([MarkRow(seq, "goal", Span(0, 3), {})])
                raise ValueError
        except ValueError:
            pass
        with store.reader(SPACE) as reader:
            assert reader.marks("goal", ANY, limit=9) == []
