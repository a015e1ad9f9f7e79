"""Large spaces are searched by an index: what it finds, by what score, under filters, and as the space changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from conformance.making import DIMS, NOW, SPACE, add_model, direction, draft, naive_nearest, put, remove, unit_vectors
from everyword.settings import Settings
from everyword.storage.postgres import PostgresStore, snapshot
from everyword.storage.postgres import writer as postgres_writer
from everyword.storage.rows import Model, UnitVector
from everyword.storage.sql import writer
from postgres_server import Server

Vectors = dict[int, list[UnitVector]]


@pytest.fixture
def store(location: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    monkeypatch.setattr(writer, "SEAL_AT", 64)
    monkeypatch.setattr(postgres_writer, "NEAR_FROM", 256)
    opened = PostgresStore(location, Settings(durability="normal"))
    yield opened
    opened.close()


def _filled(store: PostgresStore, count: int, *, space: str = SPACE, model: Model | None = None, seed: int = 1):
    random = np.random.default_rng(seed)
    made = [draft(f"{space} {seed} {n}", vectors=unit_vectors(random, 1 + n % 2)) for n in range(count)]
    with store.writer(space) as one:
        model = model or add_model(one)
        for start in range(0, count, 50):
            one.append(made[start : start + 50], model, now=NOW, queue=True)
        known = one.find([each.raw_id for each in made])
    return model, {known[each.raw_id].seq: list(each.vectors or ()) for each in made}


def _indexed(store: PostgresStore, model: Model) -> bool:
    with store.snapshot() as seen:
        found = seen.space(SPACE)
        assert found is not None
        return model.id in seen.near[found.id].indexed


def _share_found(store: PostgresStore, model: Model, vectors: Vectors, *, k: int = 10, allowed=None) -> float:
    """Ask questions; every score must be exact, and all but few of the true nearest found."""
    random = np.random.default_rng(5)
    hits = wanted = 0
    for _ in range(10):
        question = direction(random)
        exact = naive_nearest(vectors, question)
        scores = dict(exact)
        if allowed is not None:
            exact = [pair for pair in exact if pair[0] in set(allowed.tolist())]
        with store.reader(SPACE) as reader:
            ranking = reader.by_vector(model, question, k, allowed)
        np.testing.assert_allclose(ranking.scores, [scores[seq] for seq in ranking.seqs.tolist()], atol=1e-4)
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
        hits += len({seq for seq, _ in exact[:k]} & set(ranking.seqs.tolist()))
        wanted += min(k, len(exact))
    return hits / wanted if wanted else 1.0


def test_a_space_that_grows_gets_an_index_and_finds_the_same(store: PostgresStore) -> None:
    model, vectors = _filled(store, 100)
    assert store.tend() == 0
    assert not _indexed(store, model)
    _, more = _filled(store, 300, model=model, seed=2)
    vectors |= more
    assert not _indexed(store, model)  # wanted, and searched as before until it is there
    assert _share_found(store, model, vectors) == 1.0
    assert store.tend() == 1
    assert _indexed(store, model)
    assert store.tend() == 0
    assert _share_found(store, model, vectors) > 0.97
    assert store.audit().problems == ()


def test_the_index_is_what_answers(store: PostgresStore) -> None:
    model, _ = _filled(store, 400)
    store.tend()
    from everyword.storage.nearest import unit_bounds
    from everyword.storage.postgres.snapshot import query

    with store.snapshot() as seen:
        found = seen.space(SPACE)
        assert found is not None
        low, high = unit_bounds(model.id)
        sql = query("nearest").format(space=found.id, low=low, high=high, dims=DIMS, where="")
        seen.connection.execute("SET LOCAL enable_sort = off")  # so few rows are sorted sooner than searched
        plan = seen.raw_rows(f"EXPLAIN {sql}", [direction(np.random.default_rng(1)).tolist(), 10])
    assert any("Index Scan using near_" in row[0] for row in plan), plan


@pytest.mark.parametrize("narrow", [snapshot._NARROW, 0])
@pytest.mark.parametrize("step", [2, 97])
def test_filters_keep_what_is_found(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, narrow: int, step: int
) -> None:
    monkeypatch.setattr(snapshot, "_NARROW", narrow)
    model, vectors = _filled(store, 500)
    store.tend()
    allowed = np.array(sorted(vectors)[::step], np.int64)
    assert _share_found(store, model, vectors, allowed=allowed) > 0.97
    with store.reader(SPACE) as reader:
        for none in (np.empty(0, np.int64), np.array([10**9])):
            assert len(reader.by_vector(model, direction(np.random.default_rng(1)), 5, none).seqs) == 0


def test_what_is_written_later_is_found_and_what_is_removed_is_not(store: PostgresStore) -> None:
    model, vectors = _filled(store, 400)
    store.tend()
    _, more = _filled(store, 60, model=model, seed=3)
    vectors |= more
    late = unit_vectors(np.random.default_rng(9))
    (seq,) = put(store, [draft("late")], model=model)
    with store.writer(SPACE) as one:
        one.put_vectors(model, {seq: late})
    vectors[seq] = late
    for at, units in [*list(more.items())[::10], (seq, late)]:
        question = units[0].pooled.astype(np.float32) / np.float32(127)
        with store.reader(SPACE) as reader:
            assert reader.by_vector(model, question, 1, None).seqs.tolist() == [at]
    gone = sorted(vectors)[::3]
    remove(store, gone)
    for at in gone:
        del vectors[at]
    assert _share_found(store, model, vectors) > 0.97
    assert store.audit().problems == ()


def test_tenants_are_in_indexes_of_their_own(store: PostgresStore) -> None:
    model, mine = _filled(store, 400)
    _, yours = _filled(store, 400, space="yours", model=model, seed=4)
    assert store.tend() == 2
    question = next(iter(yours.values()))[0].pooled.astype(np.float32) / np.float32(127)
    with store.file_reader() as file:
        reader = file.reader(SPACE)
        assert set(reader.by_vector(model, question, 50, None).seqs.tolist()) <= set(mine)
        assert set(file.reader("yours").by_vector(model, question, 50, None).seqs.tolist()) <= set(yours)


def test_an_index_that_was_half_built_is_built_anew(store: PostgresStore, location: str, postgres: Server) -> None:
    model, vectors = _filled(store, 400)
    store.tend()
    schema = location.rpartition("=")[2]
    postgres.as_admin(
        f"UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text LIKE '{schema}.near_%_{model.id}'"
    )
    postgres.as_admin(f"UPDATE {schema}.near_spaces SET state = 'filled'")
    assert store.tend() == 1
    assert _share_found(store, model, vectors) > 0.97


def test_a_space_whose_vectors_all_went_is_done(store: PostgresStore) -> None:
    model, vectors = _filled(store, 400)
    remove(store, sorted(vectors))
    store.tend()
    assert store.tend() == 0
    _, vectors = _filled(store, 400, model=model, seed=2)
    assert store.tend() == 1
    assert _indexed(store, model)


def test_a_dropped_model_leaves_no_vectors_there(store: PostgresStore, location: str, postgres: Server) -> None:
    model, vectors = _filled(store, 400)
    store.tend()
    with store.writer(SPACE) as one:
        newer = add_model(one, "newer", "building")
        one.file.activate(newer)
        while one.file.drop_vectors(model, limit=1000):
            pass
    schema = location.rpartition("=")[2]
    assert postgres.as_admin(f"SELECT count(*) FROM {schema}.near") == [(0,)]
    assert postgres.as_admin(f"SELECT count(*) FROM {schema}.near_spaces") == [(0,)]
    assert len(vectors) == 400


def test_the_audit_finds_vectors_that_are_not_searched(store: PostgresStore, location: str, postgres: Server) -> None:
    _filled(store, 400)
    store.tend()
    schema = location.rpartition("=")[2]
    postgres.as_admin(f"DELETE FROM {schema}.near WHERE unit = (SELECT min(unit) FROM {schema}.near)")
    assert store.audit().problems != ()


def test_a_partitioned_store_gets_its_indexes_too(store: PostgresStore, location: str, postgres: Server) -> None:
    model, vectors = _filled(store, 100)
    with store.plain_connection() as connection:
        connection.execute("SELECT partition_by_space(3)")
    _, more = _filled(store, 300, model=model, seed=2)
    vectors |= more
    assert store.tend() == 1
    assert _share_found(store, model, vectors) > 0.97
    assert store.audit().problems == ()
