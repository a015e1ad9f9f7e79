"""The log: appending, reading back, order, filters, sessions, spaces, transactions."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from conformance.making import NOW, SPACE, START, draft, drafts, found, put, remove
from everyword.errors import Closed, StoreError
from everyword.storage.protocol import Store
from everyword.storage.rows import Cursor, EventRange, Outline
from everyword.types.events import EVERYTHING, Event, Filter

PAGE = 7


def _texts(rows) -> list[str]:
    return [event.text for _, event in rows]


class LogConformance:
    """Holds a store to its log."""

    # Appending and reading back

    def test_an_event_is_read_back_as_it_was_written(self, store: Store) -> None:
        zone = timezone(timedelta(hours=5, minutes=45))
        one = draft(
            "Tea with “Ana” \x00 at 5 🍵\n",
            key="k-1",
            wing="project",
            session="s1",
            speaker="Ana",
            role="user",
            at=datetime(2026, 4, 2, 10, 0, 0, 123456, zone),
            meta={"n": 1, "deep": {"list": [1, 2.5, None, True, "é"]}},
        )
        with store.writer(SPACE) as writer:
            (stored,) = writer.append([one], None, now=NOW, queue=True)
        with store.reader(SPACE) as reader:
            known = reader.find([one.raw_id])[one.raw_id]
            by_key = reader.find_key("k-1")
            fetched = reader.fetch([known.seq])[known.seq]
            begun = reader.find_between(one.raw_id[:3] + bytes(13), one.raw_id[:3] + b"\xff" * 13)
            beside = reader.find_between(bytes(16), one.raw_id[:15])
        assert known.event == fetched == stored
        assert begun == [known]
        assert beside == []
        assert by_key is not None
        assert by_key == known
        assert stored.id == one.event.id
        assert stored.text == one.event.text
        assert stored.space == SPACE
        assert (stored.key, stored.wing, stored.session, stored.speaker, stored.role) == (
            "k-1",
            "project",
            "s1",
            "Ana",
            "user",
        )
        assert stored.at == one.event.at
        assert stored.at.utcoffset() == timedelta(hours=5, minutes=45)
        assert stored.meta == one.event.meta
        assert stored.recorded_at == datetime(2026, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize(
        "text", ["\x00", "a\x00b", "\ud800", "x\udfff\ud800y", "\ufeffbom", "\r\n\t", "🧠" * 1000, "w" * 1_000_000]
    )
    def test_any_text_comes_back_unchanged(self, store: Store, text: str) -> None:
        (seq,) = put(store, [draft(text)])
        with store.reader(SPACE) as reader:
            assert reader.fetch([seq])[seq].text == text
            assert [event.text for _, event in reader.log(limit=10)] == [text]

    @pytest.mark.parametrize(
        "at",
        [
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
            datetime(9999, 12, 31, 23, 59, 59, 999999, timezone(timedelta(hours=-12))),
            datetime(1900, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32))),
        ],
    )
    def test_the_ends_of_time_are_kept(self, store: Store, at: datetime) -> None:
        (seq,) = put(store, [draft("then", at=at, session="s")])
        with store.reader(SPACE) as reader:
            event = reader.fetch([seq])[seq]
            assert event.at.replace(tzinfo=None) == at.replace(tzinfo=None)
            assert event.at.utcoffset() == at.utcoffset()
            assert len(reader.sessions(EVERYTHING)) == 1
            assert _texts(reader.page(EVERYTHING, limit=5)) == ["then"]
            assert _texts(reader.page(EVERYTHING, newest_first=True, limit=5)) == ["then"]

    def test_looking_up_what_is_not_there_gives_nothing(self, store: Store) -> None:
        put(store, [draft("one")])
        with store.file_reader() as reader:
            for space in (SPACE, "nowhere"):
                assert reader.reader(space).find([b"x" * 16]) == {}
                assert reader.reader(space).find_key("k") is None
                assert reader.reader(space).fetch([999]) == {}
                assert reader.reader(space).fetch([]) == {}
            assert reader.reader("nowhere").find([draft("one").raw_id]) == {}
            assert reader.reader("nowhere").page(EVERYTHING, limit=5) == []
            assert reader.reader("nowhere").log(limit=5) == []
            assert reader.reader("nowhere").sessions(EVERYTHING) == []
            assert reader.reader("nowhere").tally().events == 0
            assert found(reader.reader("nowhere"), "one") == []
            assert reader.reader("nowhere").receipts_after(0, limit=1) == []

    def test_an_empty_append_changes_nothing(self, store: Store) -> None:
        put(store, [])
        with store.file_reader() as reader:
            assert reader.total_events() == 0

    def test_seqs_rise_in_the_order_of_arrival_and_are_never_used_twice(self, store: Store) -> None:
        first = put(store, drafts(["a", "b", "c"]))
        remove(store, first[1:])
        later = put(store, drafts(["d", "e"]))
        assert first == sorted(first)
        assert later == sorted(later)
        assert later[0] > first[-1]

    def test_recorded_time_never_runs_backwards(self, store: Store) -> None:
        with store.writer(SPACE) as writer:
            (first,) = writer.append([draft("one")], None, now=NOW, queue=True)
            (second,) = writer.append([draft("two")], None, now=NOW - 5_000_000, queue=True)
        assert second.recorded_at >= first.recorded_at

    def test_an_import_keeps_when_an_event_was_first_learned_but_never_the_future(self, store: Store) -> None:
        old, future = NOW - 10_000_000, NOW + 10_000_000
        with store.writer(SPACE) as writer:
            kept, capped = writer.append(
                [draft("old", recorded_at=old), draft("new", recorded_at=future)], None, now=NOW, queue=True
            )
        assert kept.recorded_at == START - timedelta(seconds=10)
        assert capped.recorded_at == START

    # Order and cursors

    def test_pages_follow_the_time_of_happening_and_cover_everything_once(self, store: Store) -> None:
        # Written out of order, several at the same moment.
        made = [draft(f"event {n}", at=START + timedelta(hours=(n * 7) % 10)) for n in range(30)]
        seqs = put(store, made)
        expected = [seq for _, seq in sorted((one.event.at, seq) for one, seq in zip(made, seqs, strict=True))]
        for newest_first in (False, True):
            read: list[int] = []
            after: Cursor | None = None
            with store.reader(SPACE) as reader:
                while page := reader.page(EVERYTHING, after=after, newest_first=newest_first, limit=PAGE):
                    assert len(page) <= PAGE
                    read += [cursor.seq for cursor, _ in page]
                    after = page[-1][0]
            assert read == (expected[::-1] if newest_first else expected)

    def test_pages_take_filters(self, store: Store) -> None:
        made = [draft(f"event {n}", speaker="Ana" if n % 3 else "Bo", at=START + timedelta(hours=n)) for n in range(20)]
        put(store, made)
        with store.reader(SPACE) as reader:
            first = reader.page(Filter(speaker="Bo"), limit=3)
            rest = reader.page(Filter(speaker="Bo"), after=first[-1][0], limit=100)
        assert _texts(first + rest) == [f"event {n}" for n in range(0, 20, 3)]

    def test_the_log_is_read_in_the_order_of_arrival(self, store: Store) -> None:
        seqs = put(store, [draft(f"event {n}", at=START - timedelta(hours=n)) for n in range(10)])
        with store.reader(SPACE) as reader:
            first = reader.log(limit=4)
            rest = reader.log(after=first[-1][0], limit=100)
        assert [seq for seq, _ in first + rest] == seqs
        assert _texts(first + rest) == [f"event {n}" for n in range(10)]

    # Filters

    def _several(self) -> list:
        return [
            draft("0", wing="w1", session="s1", speaker="Ana", at=START, meta={"n": 1, "ok": True}),
            draft("1", wing="w1", session="s2", speaker="Bo", at=START + timedelta(days=1), meta={"n": 1.5}),
            draft("2", wing="w2", session="s1", speaker="Ana", at=START + timedelta(days=2), meta={"n": "1"}),
            draft("3", at=START + timedelta(days=3), meta={"n": None, "ok": False}),
            draft("4", speaker="ana", at=START + timedelta(days=4), meta={"a": {"b": [1, {"c": "é"}]}}),
            draft("5", session="S1", at=START + timedelta(days=5), recorded_at=NOW - 1_000_000),
        ]

    @pytest.mark.parametrize(
        ("which", "expected"),
        [
            (Filter(wing="w1"), "01"),
            (Filter(wing="W1"), ""),
            (Filter(project="w1"), "01345"),
            (Filter(project=""), "345"),
            (Filter(session="s1"), "02"),
            (Filter(speaker="Ana"), "02"),
            (Filter(since=START + timedelta(days=2)), "2345"),
            (Filter(until=START + timedelta(days=2)), "01"),
            (Filter(since=START + timedelta(days=1), until=START + timedelta(days=1)), ""),
            (Filter(as_of=START), "012345"),
            (Filter(as_of=START - timedelta(seconds=1)), "5"),
            (Filter(as_of=START - timedelta(days=9)), ""),
            (Filter(wing="w1", session="s1"), "0"),
            (Filter(session="s1", speaker="Ana", since=START + timedelta(hours=1)), "2"),
            (Filter(meta={"n": 1}), "0"),
            (Filter(meta={"n": 1.5}), "1"),
            (Filter(meta={"n": "1"}), "2"),
            (Filter(meta={"n": None}), "3"),
            (Filter(meta={"ok": True}), "0"),
            (Filter(meta={"ok": False}), "3"),
            (Filter(meta={"n": 1, "ok": True}), "0"),
            (Filter(meta={"n": 1, "ok": False}), ""),
            (Filter(meta={"a": {"b": [1, {"c": "é"}]}}), "4"),
            (Filter(meta={"a": {"b": [1]}}), ""),
            (Filter(meta={"b": 1}), ""),
            (Filter(speaker="Ana", meta={"n": "1"}), "2"),
        ],
    )
    def test_a_filter_lets_through_what_meets_all_its_conditions(
        self, store: Store, which: Filter, expected: str
    ) -> None:
        seqs = put(store, self._several())
        with store.reader(SPACE) as reader:
            allowed = reader.matching(which)
            assert allowed is not None
            assert allowed.tolist() == [seqs[int(n)] for n in expected]
            assert "".join(_texts(reader.page(which, limit=50))) == expected

    def test_no_condition_lets_everything_through(self, store: Store) -> None:
        put(store, self._several())
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.matching(EVERYTHING) is None
            none = file.reader("nowhere").matching(Filter(speaker="Ana"))
            assert none is not None
            assert len(none) == 0

    @pytest.mark.parametrize(
        "name",
        ["plain", "with space", "do.t", "quo'te", 'quo"te', "back\\slash", "é", "", "$", "a[0]", "名前", "new\nline"],
    )
    def test_members_of_meta_of_any_name_and_value_are_found(self, store: Store, name: str) -> None:
        values = [
            "text",
            "é",
            'q"\\uote',
            "",
            0,
            -1,
            10**30,
            1.25,
            True,
            False,
            None,
            [],
            {},
            [1, [2]],
            {"b": 1, "a": 2},
        ]
        seqs = put(store, [draft(f"event {n}", meta={name: value}) for n, value in enumerate(values)])
        with store.reader(SPACE) as reader:
            for seq, value in zip(seqs, values, strict=True):
                allowed = reader.matching(Filter(meta={name: value}))
                assert allowed is not None
                assert allowed.tolist() == [seq], value

    def test_members_of_meta_compare_whatever_the_order_of_their_names(self, store: Store) -> None:
        (seq,) = put(store, [draft("x", meta={"a": {"x": 1, "y": 2}})])
        with store.reader(SPACE) as reader:
            allowed = reader.matching(Filter(meta={"a": {"y": 2, "x": 1}}))
        assert allowed is not None
        assert allowed.tolist() == [seq]

    # Sessions

    def test_sessions_tell_their_wings_speakers_size_and_times_the_latest_first(self, store: Store) -> None:
        put(store, self._several())
        with store.reader(SPACE) as reader:
            sessions = reader.sessions(EVERYTHING)
            of_bo = reader.sessions(Filter(speaker="Bo"))
            assert reader.sessions(EVERYTHING, limit=2) == sessions[:2]
            assert reader.sessions(Filter(speaker="Ana"), limit=1) == reader.sessions(Filter(speaker="Ana"))[:1]
        assert [session.name for session in sessions] == ["S1", "s1", "s2"]
        both = sessions[1]
        assert both.wings == ("w1", "w2")
        assert both.speakers == ("Ana",)
        assert both.events == 2
        assert (both.first_at, both.last_at) == (START, START + timedelta(days=2))
        assert [session.name for session in of_bo] == ["s2"]

    # Counts over time

    def test_events_are_counted_over_time_and_speakers_listed(self, store: Store) -> None:
        put(store, self._several())
        day = 86_400_000_000
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            found = reader.extent(EVERYTHING)
            assert found.first_at is not None
            counted = reader.counted(EVERYTHING, begin=found.first_at, width=day, parts=9)
            later = reader.counted(EVERYTHING, begin=found.first_at + day, width=day, parts=8)
            speakers, wings = reader.speakers(limit=10), reader.wings(limit=10)
            events = [event for _, event in reader.page(EVERYTHING, limit=100)]
            assert reader.speakers(limit=1) == speakers[:1]
            of_one = reader.speakers(wing=wings[0], limit=10)
            assert file.reader("nowhere").extent(EVERYTHING) == EventRange(0, None, None)
            assert file.reader("nowhere").counted(EVERYTHING, begin=0, width=1, parts=2) == [0, 0]
            assert file.reader("nowhere").speakers(limit=1) == file.reader("nowhere").wings(limit=1) == []
        days = [(event.at - events[0].at).days for event in events]
        assert found.events == sum(counted) == len(events)
        assert counted == [days.count(number) for number in range(9)]
        assert later == counted[1:]
        assert speakers == sorted({event.speaker for event in events if event.speaker})
        assert wings == sorted({event.wing for event in events if event.wing})
        assert of_one == sorted({event.speaker for event in events if event.speaker and event.wing == wings[0]})

    # Outlines, and what was said around an event

    def test_an_outline_tells_where_an_event_stands_and_who_spoke(self, store: Store) -> None:
        zone = timezone(timedelta(hours=-5))
        said, bare = put(
            store,
            [
                draft("I moved.", session="s1", speaker="Ana", role="user", at=START.astimezone(zone)),
                draft("It rained.", at=START + timedelta(microseconds=1)),
            ],
        )
        with store.reader(SPACE) as reader:
            outlines = reader.outlines([bare, said])
        assert outlines == {
            said: Outline(session="s1", speaker="Ana", role="user", at=NOW, source="user", recorded_at=NOW),
            bare: Outline(session=None, speaker=None, role=None, at=NOW + 1, source="user", recorded_at=NOW),
        }
        assert outlines[said].speaker == "Ana"

    def test_outlines_leave_out_what_is_not_here(self, store: Store) -> None:
        mine, gone = put(store, drafts(["mine", "gone"], session="s"))
        (yours,) = put(store, [draft("yours", session="s")], space="yours")
        remove(store, [gone])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.outlines([mine, gone, yours, 999_999, -1]).keys() == {mine}
            assert reader.outlines([]) == {}
            assert file.reader("nowhere").outlines([mine]) == {}

    def test_a_run_is_in_the_order_in_which_things_were_said(self, store: Store) -> None:
        # They arrive in another order, and the middle three are turns of one moment: those stand as they came.
        hours = [5, 0, 3, 3, 9, 3, 1]
        seqs = put(store, [draft(f"turn {n}", session="s", at=START + timedelta(hours=h)) for n, h in enumerate(hours)])
        said = [seqs[n] for n in (1, 6, 2, 3, 5, 0, 4)]
        with store.reader(SPACE) as reader:
            assert reader.around([seqs[3]], 10) == [said]
            assert reader.around([seqs[3]], 1) == [said[2:5]]
            assert reader.around([seqs[3]], 2) == [said[1:6]]

    def test_a_run_stops_where_its_session_does(self, store: Store) -> None:
        seqs = put(store, drafts([f"turn {n}" for n in range(6)], session="s"))
        with store.reader(SPACE) as reader:
            runs = reader.around([seqs[0], seqs[5], seqs[2], seqs[0]], 2)
            assert runs == [seqs[:3], seqs[3:], seqs[:5], seqs[:3]]
            assert reader.around([seqs[2]], 0) == [[seqs[2]]]
            assert reader.around([], 2) == []

    def test_a_run_never_leaves_its_session(self, store: Store) -> None:
        names = ["a", "b", "A", "a", "b", None, "a", None]
        seqs = put(store, [draft(f"turn {n}", session=name) for n, name in enumerate(names)])
        with store.reader(SPACE) as reader:
            runs = reader.around(seqs, 5)
        a, b = [seqs[0], seqs[3], seqs[6]], [seqs[1], seqs[4]]
        assert runs == [a, b, [seqs[2]], a, b, [seqs[5]], a, [seqs[7]]]

    def test_a_run_never_leaves_its_space_and_knows_no_strangers(self, store: Store) -> None:
        mine = put(store, drafts(["a", "b", "c"], session="s"))
        yours = put(store, drafts(["a", "b", "c", "d"], session="s"), space="yours")
        remove(store, [mine[1]])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.around([mine[0]], 5) == [[mine[0], mine[2]]]
            assert file.reader("yours").around([yours[0]], 5) == [yours]
            assert list(filter(None, reader.around([yours[0], mine[1], mine[2], 999_999], 5))) == [[mine[0], mine[2]]]
            assert list(filter(None, file.reader("nowhere").around(mine, 5))) == []

    def test_a_writer_sees_the_turns_that_it_wrote(self, store: Store) -> None:
        (first,) = put(store, drafts(["one"], session="s"))
        with store.writer(SPACE) as writer:
            writer.append([draft("two", session="s")], None, now=NOW, queue=True)
            (run,) = writer.around([first], 1)
            assert run[0] == first
            assert writer.fetch(run)[run[1]].text == "two"
            assert writer.outlines(run).keys() == set(run)

    # Spaces

    def test_spaces_never_see_each_other(self, store: Store) -> None:
        one = draft("the same words", key="k", session="s", speaker="Ana")
        (mine,) = put(store, [one], space="mine")
        (yours,) = put(store, [one], space="yours")
        with store.file_reader() as reader:
            assert reader.spaces() == ["mine", "yours"]
            assert mine != yours
            for space, own, other in (("mine", mine, yours), ("yours", yours, mine)):
                known = reader.reader(space).find_key("k")
                assert known is not None
                assert known.seq == own
                assert known.event.space == space
                assert reader.reader(space).fetch([own, other]).keys() == {own}
                assert [seq for seq, _ in reader.reader(space).log(limit=9)] == [own]
                assert [cursor.seq for cursor, _ in reader.reader(space).page(EVERYTHING, limit=9)] == [own]
                assert found(reader.reader(space), "words") == [own]
                assert found(reader.reader(space), "words", allowed=np.array([other])) == []
                allowed = reader.reader(space).matching(Filter(speaker="Ana"))
                assert allowed is not None
                assert allowed.tolist() == [own]
        assert remove(store, [mine], space="yours").get("events", 0) == 0
        with store.file_reader() as reader:
            assert reader.reader("mine").tally().events == reader.reader("yours").tally().events == 1
            assert reader.total_events() == 2

    def test_a_tally_counts_one_space(self, store: Store) -> None:
        put(store, self._several())
        put(store, [draft("elsewhere", session="x")], space="other")
        with store.reader(SPACE) as reader:
            tally = reader.tally()
        assert (tally.events, tally.sessions, tally.speakers, tally.wings) == (6, 3, 3, 2)
        assert (tally.first_at, tally.last_at) == (NOW, NOW + 5 * 86_400_000_000)
        assert (tally.pending, tally.vectors) == (6, 0)

    # Transactions

    def test_an_error_inside_a_writer_undoes_all_of_it(self, store: Store) -> None:
        kept = put(store, drafts(["kept words"]))
        with store.reader(SPACE) as reader:
            found(reader, "kept")  # fills what a store may keep in memory

        def fail() -> None:
            with store.writer(SPACE) as writer:
                writer.append(drafts(["lost words", "more lost words"]), None, now=NOW, queue=True)
                writer.remove(np.array(kept))
                writer.file.set_fact("colour", "blue")
                assert found(writer, "lost") != []
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        with store.reader(SPACE) as reader:
            assert _texts(reader.log(limit=9)) == ["kept words"]
            assert found(reader, "words") == kept
            assert reader.file.fact("colour") is None
            assert len(reader.file.jobs(limit=9)) == 1
        assert store.audit().problems == ()

    def test_what_a_rolled_back_writer_searched_does_not_haunt_later_events(self, store: Store) -> None:
        put(store, drafts(["first"]))
        with pytest.raises(ZeroDivisionError), store.writer(SPACE) as writer:  # noqa: PT012
            writer.append([draft("ghost words")], None, now=NOW, queue=True)
            found(writer, "ghost")
            raise ZeroDivisionError
        (seq,) = put(store, [draft("solid matter")])
        with store.reader(SPACE) as reader:
            assert found(reader, "ghost") == []
            assert found(reader, "solid") == [seq]

    def test_a_store_works_on_after_an_error_in_a_reader(self, store: Store) -> None:
        put(store, drafts(["one"]))
        with pytest.raises(ZeroDivisionError), store.file_reader():
            raise ZeroDivisionError
        put(store, drafts(["two"]))
        with store.file_reader() as reader:
            assert reader.total_events() == 2

    def test_a_reader_keeps_its_snapshot_while_others_write(self, store: Store) -> None:
        put(store, drafts(["old words"]))

        def write() -> None:
            put(store, [draft("new words")])

        with store.reader(SPACE) as reader:
            before = reader.log(limit=9)
            thread = threading.Thread(target=write)
            thread.start()
            thread.join(0.5)  # a store may let the writer in now, or when this reader is done
            assert reader.log(limit=9) == before
            assert reader.file.total_events() == 1
            assert reader.fetch(found(reader, "words")).keys() == {before[0][0]}
        thread.join(10)
        with store.reader(SPACE) as reader:
            assert len(found(reader, "words")) == reader.file.total_events() == 2

    def test_a_writer_sees_what_it_wrote(self, store: Store) -> None:
        with store.writer(SPACE) as writer:
            writer.append(drafts(["fresh words"]), None, now=NOW, queue=True)
            assert len(found(writer, "fresh")) == 1
            assert writer.file.total_events() == 1

    def test_many_threads_may_write(self, store: Store) -> None:
        def write(number: int) -> None:
            for n in range(10):
                put(store, [draft(f"thread {number} event {n}")])
                with store.reader(SPACE) as reader:
                    assert len(found(reader, f"{number}")) >= 1

        threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.reader(SPACE) as reader:
            assert len(reader.log(limit=100)) == reader.tally().events == 60
        assert store.audit().problems == ()

    def test_another_handle_sees_what_was_committed(self, store: Store) -> None:
        other = self.another(store)
        put(store, drafts(["one", "two"]))
        with other.reader(SPACE) as reader:
            assert len(found(reader, "one")) == 1
        (seq,) = put(other, [draft("three")])
        with store.reader(SPACE) as reader:
            assert found(reader, "three") == [seq]
        remove(other, [seq])
        with store.reader(SPACE) as reader:
            assert found(reader, "three") == []

    # Facts and closing

    def test_facts_are_kept(self, store: Store) -> None:
        with store.file_writer() as writer:
            assert writer.fact("colour") is None
            writer.set_fact("colour", "blue")
            writer.set_fact("colour", "green")
        with store.file_reader() as reader:
            assert reader.fact("colour") == "green"

    def test_a_closed_store_says_so(self, store: Store) -> None:
        put(store, drafts(["one"]))
        store.close()
        store.close()
        for use in (store.file_reader, store.file_writer):
            with pytest.raises(Closed), use():
                pass
        for call in (store.scrub, store.audit, store.schema, store.size, lambda: store.backup("anywhere")):
            with pytest.raises(Closed):
                call()

    def test_errors_are_never_the_drivers(self, store: Store) -> None:
        one = draft("one", key="k")
        put(store, [one])
        with pytest.raises(StoreError):
            put(store, [one])  # the same id again: the layer above never does this
        with store.file_reader() as reader:
            assert reader.total_events() == 1
        assert store.audit().problems == ()

    def test_an_event_has_the_values_of_its_type(self, store: Store) -> None:
        (seq,) = put(store, [draft("plain")])
        with store.reader(SPACE) as reader:
            event = reader.fetch([seq])[seq]
        assert isinstance(event, Event)
        assert (event.key, event.wing, event.session, event.speaker, event.role) == (None,) * 5
        assert event.meta == {}
