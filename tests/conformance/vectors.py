"""Vectors: nearest events, windows, models and their life, jobs."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.making import (
    DIMS,
    NOW,
    SPACE,
    add_model,
    direction,
    draft,
    drafts,
    naive_nearest,
    put,
    remove,
    unit_vectors,
)
from everyword.storage import nearest as pooled_module
from everyword.storage.postings import SEAL_AT
from everyword.storage.protocol import Store
from everyword.storage.rows import EMBED, Model, UnitVector
from everyword.types.events import Span

Vectors = dict[int, list[UnitVector]]


class VectorsConformance:
    """Holds a store to its vectors."""

    def _filled(
        self, store: Store, count: int, *, seed: int = 3, space: str = SPACE, model: Model | None = None
    ) -> tuple[Model, Vectors]:
        random = np.random.default_rng(seed)
        vectors: Vectors = {}
        for start in range(0, count, 50):
            made = [
                draft(f"{space} event {n}", vectors=unit_vectors(random, 1 + n % 3 // 2 * 2))
                for n in range(start, min(count, start + 50))
            ]
            with store.writer(space) as writer:
                model = model or add_model(writer)
                writer.append(made, model, now=NOW, queue=True)
                known = writer.find([one.raw_id for one in made])
            vectors |= {known[one.raw_id].seq: list(one.vectors or ()) for one in made}
        assert model is not None
        return model, vectors

    def _assert_nearest(self, store: Store, model: Model, vectors: Vectors, *, k: int = 10, allowed=None) -> None:
        random = np.random.default_rng(99)
        for _ in range(5):
            question = direction(random)
            expected = naive_nearest(vectors, question)
            if allowed is not None:
                expected = [(seq, score) for seq, score in expected if seq in set(allowed.tolist())]
            with store.reader(SPACE) as reader:
                ranking = reader.by_vector(model, question, k, allowed)
            assert ranking.seqs.tolist() == [seq for seq, _ in expected[:k]]
            np.testing.assert_allclose(ranking.scores, [score for _, score in expected[:k]], atol=1e-5)

    # Searching

    @pytest.mark.parametrize("seal_at", [32, SEAL_AT])
    def test_the_nearest_events_are_found_by_their_best_window(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, seal_at: int
    ) -> None:
        self.seal_at(monkeypatch, seal_at)
        model, vectors = self._filled(store, 200)
        for k in (1, 10, 500):
            self._assert_nearest(store, model, vectors, k=k)
        allowed = np.array(sorted(vectors)[::7], np.int64)
        self._assert_nearest(store, model, vectors, allowed=allowed)
        self._assert_nearest(store, model, vectors, allowed=np.empty(0, np.int64))
        assert store.audit().problems == ()

    def test_a_shortlist_rescored_gives_the_same_where_it_holds_the_best(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # As past the size where an exact scan is too dear, with a shortlist that leaves out a tenth.
        monkeypatch.setattr(pooled_module, "EXACT_UP_TO", 50)
        monkeypatch.setattr(pooled_module, "SHORTLIST_LEAST", 420)
        monkeypatch.setattr(pooled_module, "_NARROW", 0)
        self.seal_at(monkeypatch, 64)
        model, vectors = self._filled(store, 300)
        self._assert_nearest(store, model, vectors, k=5)
        allowed = np.array(sorted(vectors)[::2], np.int64)
        self._assert_nearest(store, model, vectors, k=3, allowed=allowed)

    def test_a_shortlist_finds_an_event_by_its_own_vector_as_it_grows(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pooled_module, "EXACT_UP_TO", 120)
        monkeypatch.setattr(pooled_module, "SHORTLIST_LEAST", 20)
        model, vectors = self._filled(store, 60)
        with store.reader(SPACE) as reader:
            reader.by_vector(model, direction(np.random.default_rng(0)), 5, None)
        for seed in (5, 6, 7):  # crosses the border in mid-life
            more = self._more(store, model, 50, seed)
            vectors |= more
            with store.reader(SPACE) as reader:
                for seq, units in list(more.items())[::9]:
                    question = units[0].pooled.astype(np.float32) / np.float32(127)
                    assert reader.by_vector(model, question, 1, None).seqs.tolist() == [seq]

    def _more(self, store: Store, model: Model, count: int, seed: int) -> Vectors:
        random = np.random.default_rng(seed)
        made = [draft(f"more {seed} {n}", vectors=unit_vectors(random)) for n in range(count)]
        seqs = put(store, made, model=model)
        return {seq: list(one.vectors or ()) for seq, one in zip(seqs, made, strict=True)}

    def test_an_empty_space_has_no_nearest(self, store: Store) -> None:
        with store.writer(SPACE) as writer:
            model = add_model(writer)
        question = direction(np.random.default_rng(1))
        put(store, drafts(["no vector yet"]), model=model)
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert len(reader.by_vector(model, question, 5, None).seqs) == 0
            assert len(file.reader("nowhere").by_vector(model, question, 5, None).seqs) == 0

    def test_vectors_of_other_spaces_are_never_near(self, store: Store) -> None:
        model, mine = self._filled(store, 20)
        _, yours = self._filled(store, 20, space="yours", model=model)
        question = next(iter(yours.values()))[0].pooled.astype(np.float32) / np.float32(127)
        with store.reader(SPACE) as reader:
            near = set(reader.by_vector(model, question, 100, None).seqs.tolist())
            assert near == set(mine)
            assert reader.by_vector(model, question, 100, np.array(sorted(yours))).seqs.tolist() == []
            assert reader.passages(model, list(yours)) == []
            assert reader.without_vectors(model, after=0, limit=9) == []

    def test_a_rolled_back_vector_does_not_haunt_later_ones(self, store: Store) -> None:
        model, vectors = self._filled(store, 10)
        random = np.random.default_rng(11)
        ghost = unit_vectors(random)
        question = ghost[0].pooled.astype(np.float32) / np.float32(127)
        with pytest.raises(ZeroDivisionError), store.writer(SPACE) as writer:  # noqa: PT012
            writer.append([draft("ghost", vectors=ghost)], model, now=NOW, queue=True)
            writer.by_vector(model, question, 1, None)
            raise ZeroDivisionError
        vectors |= self._more(store, model, 3, seed=12)
        self._assert_nearest(store, model, vectors)

    def test_other_handles_see_new_vectors(self, store: Store) -> None:
        other = self.another(store)
        model, vectors = self._filled(store, 30)
        self._assert_nearest(other, model, vectors)
        vectors |= self._more(store, model, 10, seed=8)
        self._assert_nearest(other, model, vectors)
        victim = min(vectors)
        remove(store, [victim])
        del vectors[victim]
        self._assert_nearest(other, model, vectors)

    # Windows

    def test_windows_come_in_the_order_of_events_and_of_their_texts(self, store: Store) -> None:
        model, vectors = self._filled(store, 12)
        seqs = sorted(vectors)
        order = [seqs[5], seqs[2], seqs[0], seqs[11]]
        with store.reader(SPACE) as reader:
            rows = reader.passages(model, [*order, 10**6])
        expected = [(seq, unit.span, unit.tokens) for seq in sorted(order) for unit in vectors[seq]]
        assert [(row.seq, row.span, bytes(row.tokens)) for row in rows] == expected
        assert any(len(units) == 3 for units in vectors.values())
        assert all(isinstance(row.span, Span) for row in rows)
        with store.reader(SPACE) as reader:
            assert reader.passages(model, []) == []

    def test_an_event_of_many_windows(self, store: Store) -> None:
        random = np.random.default_rng(2)
        with store.writer(SPACE) as writer:
            model = add_model(writer)
        units = unit_vectors(random, 64)
        seq, neighbour = put(
            store, [draft("long", vectors=units), draft("short", vectors=unit_vectors(random))], model=model
        )
        with store.reader(SPACE) as reader:
            assert len(reader.passages(model, [seq])) == 64
            assert len(reader.passages(model, [neighbour])) == 1
            assert reader.tally().vectors == 65
        self._assert_nearest_of_one(store, model, seq, units[63])
        assert remove(store, [seq])["windows"] == 64
        assert store.audit().problems == ()

    def _assert_nearest_of_one(self, store: Store, model: Model, seq: int, unit: UnitVector) -> None:
        question = unit.pooled.astype(np.float32) / np.float32(127)
        with store.reader(SPACE) as reader:
            assert reader.by_vector(model, question, 1, None).seqs.tolist() == [seq]

    # Removing

    @pytest.mark.parametrize("seal_at", [32, SEAL_AT])
    def test_what_is_removed_is_nowhere_in_the_vectors(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, seal_at: int
    ) -> None:
        self.seal_at(monkeypatch, seal_at)
        model, vectors = self._filled(store, 120)
        self._assert_nearest(store, model, vectors)
        gone = sorted(vectors)[::3] + sorted(vectors)[90:]
        remove(store, sorted(set(gone)))
        for seq in set(gone):
            del vectors[seq]
        with store.reader(SPACE) as reader:
            assert reader.passages(model, gone) == []
            assert reader.tally().vectors == sum(map(len, vectors.values()))
        self._assert_nearest(store, model, vectors, k=500)
        assert store.audit().problems == ()
        vectors |= self._more(store, model, 40, seed=21)
        self._assert_nearest(store, model, vectors, k=500)
        assert store.audit().problems == ()

    def test_all_vectors_may_go_and_new_ones_come(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 16)
        model, vectors = self._filled(store, 40)
        self._assert_nearest(store, model, vectors)
        remove(store, list(vectors))
        self._assert_nearest(store, model, {})
        fresh = self._more(store, model, 20, seed=4)
        self._assert_nearest(store, model, fresh)
        assert store.audit().problems == ()

    # Models

    def test_a_model_takes_over_when_it_is_complete(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 16)
        old, vectors = self._filled(store, 40)
        random = np.random.default_rng(31)
        with store.writer(SPACE) as writer:
            new = add_model(writer, "newer", "building")
        assert [(model.name, model.state) for model in self._models(store)] == [
            ("tiny", "active"),
            ("newer", "building"),
        ]
        remade: Vectors = {}
        after = 0
        while True:
            with store.reader(SPACE) as reader:
                rows = reader.without_vectors(new, after=after, limit=7)
            if not rows:
                break
            batch = {seq: unit_vectors(random, 2) for seq, _ in rows[:-1]} if after == 0 else None
            batch = batch or {seq: unit_vectors(random, 2) for seq, _ in rows}
            with store.writer(SPACE) as writer:
                writer.put_vectors(new, batch)
            remade |= batch
            after = rows[-1][0]
            self._assert_nearest(store, old, vectors)  # the old ones serve meanwhile
        missing = sorted(set(vectors) - set(remade))
        assert len(missing) == 1
        with store.file_writer() as writer:
            writer.activate(new)
        assert [(model.name, model.state) for model in self._models(store)] == [
            ("tiny", "retired"),
            ("newer", "active"),
        ]
        active = self._models(store)[1]
        with store.file_reader() as reader:
            assert [job.seq for job in reader.jobs(kind=EMBED, limit=99)] == missing
        self._assert_nearest(store, active, remade)
        dropped = 0
        while True:
            with store.writer(SPACE) as writer:
                step = writer.file.drop_vectors(self._models_of(writer)["tiny"], limit=9)
            if not step:
                break
            assert step <= 9
            dropped += step
        assert dropped == sum(map(len, vectors.values()))
        assert [model.name for model in self._models(store)] == ["newer"]
        with store.writer(SPACE) as writer:
            writer.put_vectors(active, {missing[0]: unit_vectors(random)})
        with store.file_reader() as reader:
            assert reader.jobs(limit=9) == []
        assert store.audit().problems == ()

    def _models(self, store: Store) -> list[Model]:
        with store.file_reader() as reader:
            return reader.models()

    def _models_of(self, reader) -> dict[str, Model]:
        return {model.name: model for model in reader.file.models()}

    def test_beginning_another_model_retires_the_one_that_was_being_built(self, store: Store) -> None:
        with store.writer(SPACE) as writer:
            first = add_model(writer, "first", "building")
            add_model(writer, "second", "building")
        states = {model.name: model.state for model in self._models(store)}
        assert states == {"first": "retired", "second": "building"}
        with store.file_writer() as writer:
            assert writer.drop_vectors(first, limit=10) == 0
        assert {model.name for model in self._models(store)} == {"second"}

    def test_the_number_of_a_dropped_model_never_names_another_ones_vectors(self, store: Store) -> None:
        random = np.random.default_rng(17)
        with store.writer(SPACE) as writer:
            building = add_model(writer, "building", "building")
            active = add_model(writer, "active", "active")
        put(store, [draft("one", vectors=unit_vectors(random))], model=active)
        with store.reader(SPACE) as reader:
            reader.by_vector(active, direction(random), 1, None)
        with store.writer(SPACE) as writer:
            writer.file.activate(building)
            while writer.file.drop_vectors(active, limit=100):
                pass
            third = add_model(writer, "third", "building")
            known = writer.log(limit=1)[0][0]
            units = unit_vectors(random, 1)
            writer.put_vectors(third, {known: units})
            writer.file.activate(third)
        self._assert_nearest(store, third, {known: units})

    def test_put_vectors_keeps_what_is_there_and_leaves_out_what_is_gone(self, store: Store) -> None:
        model, vectors = self._filled(store, 10)
        random = np.random.default_rng(7)
        first, gone = sorted(vectors)[:2]
        remove(store, [gone])
        with store.writer(SPACE) as writer:
            writer.put_vectors(model, {first: unit_vectors(random), gone: unit_vectors(random)})
            writer.put_vectors(model, {})
        del vectors[gone]
        self._assert_nearest(store, model, vectors)
        assert store.audit().problems == ()

    def test_without_vectors_lists_what_a_model_has_not_seen(self, store: Store) -> None:
        model, vectors = self._filled(store, 5)
        late = put(store, drafts(["late one", "later one"]))
        with store.reader(SPACE) as reader:
            rows = reader.without_vectors(model, after=0, limit=10)
            assert [seq for seq, _ in rows] == late
            assert [event.text for _, event in rows] == ["late one", "later one"]
            assert reader.without_vectors(model, after=late[0], limit=10)[0][0] == late[1]
            assert len(reader.without_vectors(model, after=0, limit=1)) == 1
        assert set(late).isdisjoint(vectors)

    # Jobs

    def test_an_event_without_vectors_leaves_a_job_that_its_vectors_settle(self, store: Store) -> None:
        seqs = put(store, drafts(["one", "two", "three"]))
        random = np.random.default_rng(5)
        with store.file_reader() as reader:
            jobs = reader.jobs(limit=10)
        assert [(job.space, job.kind, job.seq, job.attempts, job.error) for job in jobs] == [
            (SPACE, EMBED, seq, 0, None) for seq in seqs
        ]
        with store.writer(SPACE) as writer:
            model = add_model(writer)
            writer.put_vectors(model, {seqs[1]: unit_vectors(random)})
        with store.reader(SPACE) as reader:
            assert [job.seq for job in reader.file.jobs(kind=EMBED, limit=10)] == [seqs[0], seqs[2]]
            assert len(reader.file.jobs(limit=1)) == 1
            assert reader.file.jobs(kind="other", limit=10) == []
            assert reader.tally().pending == 2
        assert store.audit().problems == ()

    def test_no_job_is_left_where_none_is_asked_for(self, store: Store) -> None:
        with store.writer(SPACE) as writer:
            writer.append(drafts(["words alone"]), None, now=NOW, queue=False)
        with store.file_reader() as reader:
            assert reader.jobs(limit=9) == []
        assert store.audit().problems == ()

    def test_a_failed_job_waits_and_remembers_why(self, store: Store) -> None:
        seqs = put(store, drafts(["one", "two"]))
        with store.file_writer() as writer:
            writer.fail_job(writer.jobs(limit=1)[0], error="no network", due_at=NOW + 60)
        with store.file_reader() as reader:
            assert [job.seq for job in reader.jobs(due_before=NOW, limit=9)] == [seqs[1]]
            failed = reader.jobs(due_before=NOW + 60, limit=9)[0]
            assert (failed.seq, failed.attempts, failed.error) == (seqs[0], 1, "no network")
            assert len(reader.jobs(limit=9)) == 2
        with store.file_writer() as writer:
            writer.drop_job(failed)
        with store.file_reader() as reader:
            assert [job.seq for job in reader.jobs(limit=9)] == [seqs[1]]

    def test_why_work_could_not_be_done_at_once_is_kept_and_it_is_due_as_before(self, store: Store) -> None:
        seqs = put(store, drafts(["one", "two"]))
        put(store, drafts(["elsewhere"]), space="other")
        with store.writer(SPACE) as writer:
            writer.note_failure(EMBED, seqs[:1], error="no network \ud800")
        with store.file_reader() as reader:
            jobs = reader.jobs(due_before=NOW, limit=9)
        assert [(job.attempts, job.error) for job in jobs] == [(0, "no network \ufffd"), (0, None), (0, None)]

    def test_vectors_put_into_one_space_settle_no_job_of_another(self, store: Store) -> None:
        (mine,), (yours,) = put(store, drafts(["mine"])), put(store, drafts(["yours"]), space="yours")
        random = np.random.default_rng(6)
        with store.writer(SPACE) as writer:
            model = add_model(writer)
            writer.put_vectors(model, {mine: unit_vectors(random), yours: unit_vectors(random)})
        with store.file_reader() as reader:
            assert [(job.space, job.seq) for job in reader.jobs(limit=9)] == [("yours", yours)]

    def test_removing_an_event_removes_its_job(self, store: Store) -> None:
        seqs = put(store, drafts(["one", "two"]))
        remove(store, seqs[:1])
        with store.file_reader() as reader:
            assert [job.seq for job in reader.jobs(limit=9)] == seqs[1:]

    def test_the_dimensions_of_a_model_are_kept(self, store: Store) -> None:
        with store.file_writer() as writer:
            made = writer.add_model(name="n", version="v2", dims=DIMS, token_dims=4, state="active")
        assert self._models(store) == [made]
        assert (made.name, made.version, made.dims, made.token_dims, made.state) == ("n", "v2", DIMS, 4, "active")
