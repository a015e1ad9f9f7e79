"""What is newest, and counts of recalls, as a store keeps them."""

from __future__ import annotations

from datetime import timedelta

from conformance.making import SPACE, START, draft, drafts, put, remove
from conformance.statements import put_stated
from everyword.storage.protocol import Store
from everyword.storage.rows import Access
from everyword.types.statements import TO_DO, StatementKind, Status
from everyword.types.times import to_micros


class AttentionConformance:
    """What attention asks of a store."""

    def test_the_newest_statements_of_some_kinds_come_with_their_events_closed_ones_too(self, store: Store) -> None:
        kinds = (StatementKind.TASK, StatementKind.PLAN, StatementKind.FACT, StatementKind.TASK)
        made = [put_stated(store, one, kind=kind) for one, kind in zip(drafts("abcd"), kinds, strict=True)]
        put_stated(store, draft("e"), kind=StatementKind.TASK, space="elsewhere")
        with store.writer(SPACE) as writer:
            writer.close_statement(made[0][1].id, status=Status.RETRACTED, valid_to=None, at=to_micros(START)[0])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            newest = reader.newest_statements(TO_DO, limit=9)
            assert [(seq, one.quote) for seq, one in newest] == [(made[n][0], "abcd"[n]) for n in (3, 1, 0)]
            assert [one.status for _, one in newest] == [Status.CURRENT, Status.CURRENT, Status.RETRACTED]
            assert reader.newest_statements(TO_DO, limit=2) == newest[:2]
            assert reader.newest_statements(TO_DO, wing="nobody's", limit=2) == []
            assert reader.newest_statements([StatementKind.FACT], limit=9) == [made[2]]
            assert reader.newest_statements([], limit=9) == []
            assert file.reader("nowhere").newest_statements(TO_DO, limit=9) == []

    def test_removing_an_event_removes_its_counts(self, store: Store) -> None:
        gone, kept = put(store, drafts(["one", "two"]))
        with store.writer(SPACE) as writer:
            writer.put_accesses({gone: Access(2, 5), kept: Access(1, 7)})
        remove(store, [gone])
        with store.reader(SPACE) as reader:
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
