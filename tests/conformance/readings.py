"""Readings of events by the reader and by LLMs, the work that they owe, and what goes with what is forgotten."""

from __future__ import annotations

from conformance.making import NOW, SPACE, draft, drafts, put, remove
from conformance.statements import change, put_stated
from everyword.storage.protocol import Store
from everyword.storage.rows import EMBED, READ

HOUR = 3_600_000_000
MANY = 1_000


def put_readings(store: Store, bodies: dict[int, str], *, sources: dict[int, list[int]] | None = None) -> None:
    """Keep readings of events, with the events whose words they use."""
    with store.writer(SPACE) as writer:
        for seq, body in bodies.items():
            writer.put_reading(seq, extractor="llm/1", body=body, sources=(sources or {}).get(seq, []))


def read_jobs(store: Store) -> list[int]:
    """List the events that wait to be read."""
    with store.file_reader() as reader:
        return [job.seq for job in reader.jobs(kind=READ, limit=MANY)]


class ReadingsConformance:
    """Holds a store to what it keeps of LLMs."""

    def test_a_reading_is_read_back_and_a_second_takes_its_place(self, store: Store) -> None:
        one, two, three = put(store, drafts(["one", "two", "three"]))
        put_readings(store, {one: '{"é": "\\ud800"}', two: "2"}, sources={one: [two, three]})
        put_readings(store, {one: "new"}, sources={one: [three]})
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.readings([one, two, three]) == {one: "new", two: "2"}
            assert reader.readings([three]) == reader.readings([]) == file.reader("nowhere").readings([one]) == {}
            assert reader.resting_on([two]) == []
            assert reader.resting_on([three, one]) == [one]
            assert reader.resting_on([]) == file.reader("nowhere").resting_on([three]) == []

    def test_what_is_removed_takes_its_reading_and_its_job_along(self, store: Store) -> None:
        one, two, three = put(store, drafts(["one", "two", "three"]))
        put_readings(store, {one: "1", two: "2"}, sources={one: [three], two: [one, three]})
        with store.writer(SPACE) as writer:
            writer.owe_readings([one, three])
        remove(store, [one])
        with store.reader(SPACE) as reader:
            assert reader.readings([one, two, three]) == {two: "2"}
            assert reader.resting_on([one]) == []
            assert reader.resting_on([three]) == [two]
        assert read_jobs(store) == [three]
        assert store.audit(deep=True).problems == ()
        assert store.audit(deep=True).checked["readings"] == 1

    def test_dropped_readings_go_with_their_sources_and_with_what_servers_said(self, store: Store) -> None:
        one, two, three = put(store, drafts(["one", "two", "three"]))
        put_readings(store, {one: "1", two: "2"}, sources={one: [three], two: [three]})
        with store.writer(SPACE) as writer:
            writer.owe_readings([three])
            (job,) = writer.file.take_jobs(READ, now=NOW, until=NOW + HOUR, limit=1)
            writer.file.fail_job(job, error="it said: one", due_at=NOW)
            writer.drop_readings([one])
        with store.reader(SPACE) as reader:
            assert reader.readings([one, two]) == {two: "2"}
            assert reader.resting_on([three]) == [two]
            assert [job.error for job in reader.file.jobs(kind=READ, limit=MANY)] == [None]

    def test_verify_finds_a_reading_without_its_event_and_deriving_anew_drops_it(self, store: Store) -> None:
        (one,) = put(store, [draft("one")])
        put_readings(store, {one: "1", 99: "lost"}, sources={one: [98]})
        told = [problem.what for problem in store.audit(deep=False).problems]
        assert any("readings" in what and "no event" in what for what in told)
        assert any("sources" in what for what in told)
        with store.writer(SPACE) as writer:
            writer.drop_statements(None)
        assert store.audit(deep=False).problems == ()
        with store.reader(SPACE) as reader:
            assert reader.readings([one, 99]) == {one: "1"}

    # By the reader

    def test_readings_of_the_model_are_read_back_and_later_ones_take_their_place(self, store: Store) -> None:
        one, two, three = put(store, drafts(["one", "two", "three"]))
        with store.writer(SPACE) as writer:
            writer.put_model_readings({one: '{"é": "\\ud800"}', two: "2"}, model="old")
            writer.put_model_readings({two: "new"}, model="new")
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.model_readings([one, two, three]) == {one: ("old", '{"é": "\\ud800"}'), two: ("new", "new")}
            assert reader.model_readings([three]) == reader.model_readings([]) == {}
            assert file.reader("nowhere").model_readings([one]) == {}
        with store.writer(SPACE) as writer:
            writer.drop_statements(None)  # what the reader found is kept: it need not read again
            assert set(writer.model_readings([one, two])) == {one, two}
            writer.drop_model_readings()
            assert writer.model_readings([one, two]) == {}

    def test_an_event_takes_the_readings_of_the_model_along(self, store: Store) -> None:
        one, two = put(store, drafts(["one", "two"]))
        (same,) = put(store, [draft("one")], space="other")
        for space, seqs in ((SPACE, (one, two)), ("other", (same,))):
            with store.writer(space) as writer:
                writer.put_model_readings(dict.fromkeys(seqs, "{}"), model="m")
        remove(store, [one])
        with store.file_reader() as file:
            assert set(file.reader(SPACE).model_readings([one, two])) == {two}
            assert set(file.reader("other").model_readings([same])) == {same}
        audit = store.audit(deep=True)
        assert (audit.problems, audit.checked["model readings"]) == ((), 2)

    def test_verify_finds_a_reading_of_the_model_without_its_event(self, store: Store) -> None:
        (one,) = put(store, [draft("one")])
        with store.writer(SPACE) as writer:
            writer.put_model_readings({one: "{}", 99: "{}"}, model="m")
        assert any("readings of the model" in problem.what for problem in store.audit(deep=False).problems)
        with store.writer(SPACE) as writer:
            writer.drop_statements(None)
            assert set(writer.model_readings([one, 99])) == {one}
        assert store.audit(deep=False).problems == ()

    # The work

    def test_work_is_owed_once_and_taken_by_one_until_its_lease_ends(self, store: Store) -> None:
        one, two = put(store, drafts(["one", "two"]))
        with store.writer(SPACE) as writer:
            writer.owe_readings([one, two])
            writer.owe_readings([one])
        assert read_jobs(store) == [one, two]
        with store.file_writer() as writer:
            (first,) = writer.take_jobs(READ, now=NOW, until=NOW + HOUR, limit=1)
            (second,) = writer.take_jobs(READ, now=NOW, until=NOW + HOUR, limit=9)
            assert (first.seq, second.seq, first.space) == (one, two, SPACE)
            assert writer.take_jobs(READ, now=NOW, until=NOW + HOUR, limit=9) == []
            again = writer.take_jobs(READ, now=NOW + HOUR, until=NOW + 2 * HOUR, limit=9)
            assert [job.seq for job in again] == [one, two]
            assert writer.take_jobs("another", now=NOW + 9 * HOUR, until=NOW, limit=9) == []

    def test_work_is_finished_once(self, store: Store) -> None:
        seqs = put(store, drafts(["one", "two"]))
        with store.writer(SPACE) as writer:
            writer.owe_readings(seqs)
            jobs = writer.file.take_jobs(READ, now=NOW, until=NOW + HOUR, limit=9)
            assert writer.file.finish_jobs(jobs[:1]) == jobs[:1]
            assert writer.file.finish_jobs(jobs) == jobs[1:]
            assert writer.file.finish_jobs([]) == []
        assert read_jobs(store) == []
        with store.file_reader() as reader:
            assert [job.seq for job in reader.jobs(kind=EMBED, limit=MANY)] == seqs

    def test_the_unread_are_those_without_a_reading_or_a_job_the_newest_first(self, store: Store) -> None:
        roles = (None, "user", "Tool", "assistant", "USER")
        seqs = put(store, [draft(f"event {n}", role=role) for n, role in enumerate(roles)])
        put(store, [draft("elsewhere")], space="other")
        put_readings(store, {seqs[1]: "1"})
        with store.writer(SPACE) as writer:
            writer.owe_readings([seqs[3]])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.unread(but_roles=["tool"], limit=9) == [seqs[4], seqs[0]]
            assert reader.unread(but_roles=["tool"], limit=1) == [seqs[4]]
            assert reader.unread(but_roles=["user"], limit=9) == [seqs[2], seqs[0]]
            assert file.reader("nowhere").unread(but_roles=["tool"], limit=9) == []

    # What prompts are made of, and what is undone

    def test_names_come_as_written_the_most_spoken_of_first(self, store: Store) -> None:
        first, _ = put_stated(store, draft("a"), about="Ana")
        put_stated(store, draft("b"), about="ana")
        third, _ = put_stated(store, draft("c"), about="Bo")
        put_stated(store, draft("d"), about=None)
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            (name, seq), *rest = reader.names_known(limit=9)
            assert (name.casefold(), seq) == ("ana", first)
            assert rest == [("Bo", third)]
            assert len(reader.names_known(limit=1)) == 1
            assert file.reader("nowhere").names_known(limit=9) == []

    def test_what_was_refused_goes_and_the_rest_of_the_journal_stays(self, store: Store) -> None:
        made = draft("I live here")
        seq, statement = put_stated(store, made)
        with store.writer(SPACE) as writer:
            writer.put_changes(
                [(seq, change(made.event, "reject")), (seq, change(made.event, "add", statement=statement.id))]
            )
            writer.drop_refusals([seq])
            assert writer.change_counts() == {"add": 1}

    def test_what_was_said_after_some_turns_is_the_next_that_arrived_in_their_session(self, store: Store) -> None:
        seqs = put(store, drafts([f"turn {n}" for n in range(5)], session="s"))
        put(store, [draft("elsewhere", session="t")])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.said_after([seqs[0]]) == [seqs[1]]
            assert reader.said_after([seqs[0], seqs[3]]) == [seqs[1], seqs[4]]
            assert reader.said_after([seqs[4]]) == []
            assert file.reader("nowhere").said_after([seqs[0]]) == []
