"""What an LLM wrote of many events: summaries of sessions, plans for concepts, and the work that is owed for them."""

from __future__ import annotations

from conformance.making import NOW, SPACE, draft, drafts, put, remove
from everyword.storage.protocol import Store
from everyword.storage.rows import PLAN, SUMMARISE, PlanRow, SessionSize, WrittenRow

HOUR = 3_600_000_000
LONG = "s" * 1_000 + "é"  # as long as a session's name may be


class WrittenConformance:
    """Holds a store to what it keeps of what LLMs write."""

    def test_a_summary_is_read_back_and_the_next_takes_its_place(self, store: Store) -> None:
        put(store, [draft("one", session=LONG), draft("two", session="s")])
        first, second = WrittenRow(LONG, 4, "llm/1", 2, '["\\ud800"]'), WrittenRow(LONG, 9, "llm/2", 0, "[]")
        with store.writer(SPACE) as writer:
            writer.put_written(first)
            writer.put_written(WrittenRow("s", 1, "llm/1", 1, "[]"))
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.written([LONG, "elsewhere"]) == {LONG: first}
            assert reader.written([]) == file.reader("nowhere").written([LONG]) == {}
            assert (reader.refusals(), file.reader("nowhere").refusals()) == (3, 0)
        with store.writer(SPACE) as writer:
            writer.put_written(second)
            writer.drop_written(["s"])
        with store.reader(SPACE) as reader:
            assert reader.written([LONG, "s"]) == {LONG: second}
        assert store.audit(deep=True).checked["written summaries"] == 1
        assert store.audit(deep=True).problems == ()

    def test_a_session_reaches_from_its_first_arrival(self, store: Store) -> None:
        seqs = put(store, [draft("one", session=LONG), draft("two", session=LONG), draft("three")])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.session_reach(LONG) == SessionSize(2, seqs[0])
            assert reader.session_reach("none") == file.reader("nowhere").session_reach(LONG) == SessionSize(0, None)
            assert reader.last_event_upto(seqs[1]) == seqs[1]
            assert reader.last_event_upto(0) is None
            assert file.reader("nowhere").last_event_upto(seqs[2]) is None

    def test_plans_are_read_in_their_order_and_go_with_their_sources(self, store: Store) -> None:
        one, two, three = put(store, drafts(["one", "two", "three"]))
        with store.writer(SPACE) as writer:
            given = {"extractor": "llm/1", "refused": False}
            assert writer.put_plan(two, body="a", sources=[one, two], **given) == 0
            assert writer.put_plan(two, body="b", sources=[two, two], **given) == 1
            assert writer.put_plan(three, body="c", sources=[three], extractor="llm/2", refused=True) == 0
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.plans_at([three, two]) == [
                PlanRow(two, 0, "llm/1", False, "a"),
                PlanRow(two, 1, "llm/1", False, "b"),
                PlanRow(three, 0, "llm/2", True, "c"),
            ]
            assert reader.plans_at([]) == file.reader("nowhere").plans_at([two]) == []
            assert reader.plans_resting_on([one]) == [(two, 0)]
            assert reader.plans_resting_on([two, three]) == [(two, 0), (two, 1), (three, 0)]
            assert file.reader("nowhere").plans_resting_on([two]) == []
            assert (reader.last_plan(), file.reader("nowhere").last_plan()) == (three, 0)
            assert reader.refusals() == 1
        with store.writer(SPACE) as writer:
            writer.drop_plans([(two, 0), (three, 0)])
        with store.reader(SPACE) as reader:
            assert [row.body for row in reader.plans_at([two, three])] == ["b"]
            assert reader.plans_resting_on([one, three]) == []
            assert reader.last_plan() == two
        assert store.audit(deep=True).checked["proposed plans"] == 1
        assert store.audit(deep=True).problems == ()

    def test_what_lost_its_event_is_told(self, store: Store) -> None:
        one, two = put(store, [draft("one", session="s"), draft("two")])
        with store.writer(SPACE) as writer:
            writer.put_written(WrittenRow("s", 1, "llm/1", 0, "[]"))
            writer.put_plan(one, extractor="llm/1", refused=False, body="a", sources=[one, two])
        remove(store, [one])
        told = [problem.what for problem in store.audit(deep=True).problems]
        assert any("written summaries are of no session" in one for one in told)
        assert any("proposed plans have lost their event" in one for one in told)
        assert any("sources of proposed plans lead nowhere" in one for one in told)

    def test_a_job_is_put_off_until_it_fails(self, store: Store) -> None:
        (one,) = put(store, drafts(["one"]))
        with store.writer(SPACE) as writer:
            writer.owe_job(SUMMARISE, one, due_at=NOW)
            writer.owe_job(SUMMARISE, one, due_at=NOW + HOUR)
            writer.owe_job(PLAN, one, due_at=NOW)
        with store.file_reader() as reader:
            assert reader.jobs(kind=SUMMARISE, due_before=NOW, limit=9) == []
            (job,) = reader.jobs(kind=SUMMARISE, due_before=NOW + HOUR, limit=9)
            assert [owed.seq for owed in reader.jobs(kind=PLAN, due_before=NOW, limit=9)] == [one]
        with store.writer(SPACE) as writer:
            writer.file.fail_job(job, error="no", due_at=NOW + 2 * HOUR)
            writer.owe_job(SUMMARISE, one, due_at=NOW)
        with store.file_reader() as reader:
            assert reader.jobs(kind=SUMMARISE, due_before=NOW + HOUR, limit=9) == []
