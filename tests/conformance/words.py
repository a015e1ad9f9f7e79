"""The lexical index: ranking as the textbook says, sealing, removing, rebuilding beside the index in use."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from conformance.making import NOW, SPACE, append, asked, draft, drafts, found, naive_bm25, put, remove
from everyword.storage.postings import SEAL_AT, terms_of
from everyword.storage.protocol import Store
from everyword.storage.rows import Rebuild
from everyword.text.terms import searchable_terms

VOCABULARY = [f"w{n}x" for n in range(60)]
WEIGHTS = [1 / (n + 1) for n in range(60)]  # as in language: few words are common, many are rare


def _texts(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    # Under 40 words: such lengths are stored exactly, so that scores must agree to float precision.
    return [" ".join([*draw.choices(VOCABULARY, WEIGHTS, k=draw.randint(1, 18)), f"n{n}"]) for n in range(count)]


def _assert_ranked_alike(store: Store, texts: dict[int, str], question: str, k: int, allowed=None) -> None:
    expected = naive_bm25(texts, asked(question))
    if allowed is not None:
        expected = [(seq, score) for seq, score in expected if seq in set(allowed.tolist())]
    with store.reader(SPACE) as reader:
        ranking = reader.by_words(asked(question), k, allowed)
    assert len(ranking.seqs) == min(k, len(expected))
    assert len(set(ranking.seqs.tolist())) == len(ranking.seqs)
    np.testing.assert_allclose(ranking.scores, [score for _, score in expected[:k]], rtol=1e-4)
    exact = dict(expected)
    np.testing.assert_allclose(ranking.scores, [exact[seq] for seq in ranking.seqs.tolist()], rtol=1e-4)


class WordsConformance:
    """Holds a store to its lexical index."""

    # Ranking

    @pytest.mark.parametrize("question", ["w0x", "w3x w40x", "w1x w1x w2x n7", "w59x n3 n200", "absent", "absent w5x"])
    @pytest.mark.parametrize("seal_at", [64, SEAL_AT])
    def test_words_rank_by_bm25(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, question: str, seal_at: int
    ) -> None:
        self.seal_at(monkeypatch, seal_at)
        made = drafts(_texts(300))
        seqs: list[int] = []
        for start in range(0, 300, 50):
            seqs += put(store, made[start : start + 50])
        texts = {seq: one.event.text for seq, one in zip(seqs, made, strict=True)}
        for k in (1, 10, 1000):
            _assert_ranked_alike(store, texts, question, k)
        allowed = np.array(seqs[::3], np.int64)
        _assert_ranked_alike(store, texts, question, 20, allowed)

    def test_past_the_size_of_the_tail_nothing_is_missed_and_nothing_ranks_otherwise(self, store: Store) -> None:
        count = SEAL_AT + 700
        made = drafts(_texts(count, seed=2))
        seqs: list[int] = []
        for start in range(0, count, 900):  # a batch crosses the border
            seqs += put(store, made[start : start + 900])
        texts = {seq: one.event.text for seq, one in zip(seqs, made, strict=True)}
        with store.reader(SPACE) as reader:
            for n in (0, 1, SEAL_AT - 1, SEAL_AT, count - 1):
                assert found(reader, f"n{n}") == [seqs[n]]
        _assert_ranked_alike(store, texts, "w0x w30x n4100 n5", 50)
        _assert_ranked_alike(store, texts, "w59x", 5000)
        assert store.audit().problems == ()

    def test_among_equals_the_newer_comes_first(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 8)
        seqs = put(store, drafts(["same words"] * 5, speaker=None)[:1] + drafts([f"same words {n}" for n in range(12)]))
        with store.reader(SPACE) as reader:
            ranked = found(reader, "same", k=6)
        assert ranked[0] == seqs[0]  # the shortest
        assert ranked[1:] == seqs[:7:-1]

    def test_weights_of_terms_count(self, store: Store) -> None:
        first, second = put(store, drafts(["apple pie", "banana pie"]))
        (apple,), (banana,) = asked("apple"), asked("banana")
        with store.reader(SPACE) as reader:
            assert reader.by_words({apple: 2.0, banana: 1.0}, 5, None).seqs.tolist() == [first, second]
            assert reader.by_words({apple: 1.0, banana: 2.0}, 5, None).seqs.tolist() == [second, first]
            assert reader.by_words({}, 5, None).seqs.tolist() == []

    def test_the_rarest_terms_are_chosen_by_what_there_is_to_read(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.seal_at(monkeypatch, 8)
        put(store, drafts([f"common {'often' if n % 4 else 'seldom'} n{n}" for n in range(64)]))
        (common,), (often,), (seldom,) = asked("common"), asked("often"), asked("seldom")
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            assert reader.rarest([common, often, seldom], 1 << 20) == [seldom, often, common]
            assert reader.rarest([common, often, seldom], 1) == [seldom]  # one at least
            assert file.reader("elsewhere").rarest([common], 1) == [common]

    def test_only_allowed_events_are_ranked(self, store: Store) -> None:
        seqs = put(store, drafts([f"pie {n}" for n in range(10)]))
        with store.reader(SPACE) as reader:
            assert found(reader, "pie", allowed=np.array([], np.int64)) == []
            assert sorted(found(reader, "pie", allowed=np.array(seqs[2:4]))) == seqs[2:4]
            assert found(reader, "pie", allowed=np.array([10**9])) == []

    def test_a_speaker_is_found_by_name(self, store: Store) -> None:
        (seq,) = put(store, [draft("I moved to Lisbon", speaker="Ana")])
        with store.reader(SPACE) as reader:
            assert found(reader, "Ana") == [seq]

    def test_an_event_without_words_is_no_trouble(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 4)
        seqs = put(store, drafts(["?!", "…", "word"]))
        seqs += put(store, drafts(["—", "¡!", "another word"]))
        with store.reader(SPACE) as reader:
            assert sorted(found(reader, "word")) == [seqs[2], seqs[5]]
        assert store.audit().problems == ()
        remove(store, seqs[:2])
        assert store.audit().problems == ()

    def test_long_and_repetitive_events_keep_their_order(self, store: Store) -> None:
        long, short = put(store, drafts(["needle " + "hay " * 5000, "needle " * 300 + "hay"]))
        with store.reader(SPACE) as reader:
            assert found(reader, "needle") == [short, long]

    # Removing

    @pytest.mark.parametrize("seal_at", [16, SEAL_AT])
    def test_what_is_removed_is_nowhere_in_the_words(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, seal_at: int
    ) -> None:
        self.seal_at(monkeypatch, seal_at)
        made = drafts(_texts(50))
        seqs: list[int] = []
        for start in range(0, 50, 10):
            seqs += put(store, made[start : start + 10])
        with store.reader(SPACE) as reader:
            found(reader, "w0x")
        gone, stay = seqs[::2], seqs[1::2]
        outcome = remove(store, gone)
        assert outcome["events"] == 25
        texts = {seq: made[seqs.index(seq)].event.text for seq in stay}
        with store.reader(SPACE) as reader:
            for n, seq in enumerate(seqs):
                assert found(reader, f"n{n}") == ([seq] if seq in stay else [])
            assert set(found(reader, "w0x w1x w2x")) <= set(stay)
        _assert_ranked_alike(store, texts, "w0x w7x", 100)
        assert store.audit().problems == ()

    def test_everything_may_be_removed_and_written_again(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 16)
        made = drafts(_texts(40))
        remove(store, put(store, made))
        with store.reader(SPACE) as reader:
            assert found(reader, "w0x") == []
            assert reader.file.total_events() == 0
        assert store.audit().problems == ()
        seqs = put(store, made)
        _assert_ranked_alike(store, {s: one.event.text for s, one in zip(seqs, made, strict=True)}, "w0x w1x", 100)
        assert store.audit().problems == ()

    def test_removing_nothing_is_nothing(self, store: Store) -> None:
        put(store, drafts(["one"]))
        assert remove(store, []).get("events", 0) == 0
        assert remove(store, [12345]).get("events", 0) == 0
        assert remove(store, [1], space="nowhere").get("events", 0) == 0
        assert store.audit().problems == ()

    # Rebuilding

    def _rebuild(self, store: Store, begun: Rebuild, *, step: int = 16, between=lambda: None) -> bool:
        """Fill and adopt a generation as the engine does; `between` happens between two transactions."""
        upto = words = 0
        while True:
            with store.writer(SPACE) as writer:
                rows = [(seq, terms_of(searchable_terms(event))) for seq, event in writer.log(after=upto, limit=step)]
                words += sum(terms.length for _, terms in rows)
                if len(rows) < step:
                    return writer.adopt_words(begun, rows, upto=upto, words=words)
                writer.index_words(begun, rows)
            upto = rows[-1][0]
            between()

    def _begin(self, store: Store) -> Rebuild:
        with store.writer(SPACE) as writer:
            return writer.restart_words()

    def _drop(self, store: Store, limit: int = 7) -> None:
        while True:
            with store.writer(SPACE) as writer:
                if not writer.drop_postings(limit=limit):
                    return

    def test_rebuilt_words_rank_the_same_while_others_append(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.seal_at(monkeypatch, 16)
        made = drafts(_texts(120))
        seqs = put(store, made[:90])
        waiting = list(made[90:])

        def another_one() -> None:
            if waiting:
                seqs.extend(put(store, [waiting.pop(0)]))
            with store.reader(SPACE) as reader:
                assert found(reader, "n0") == [seqs[0]]

        assert self._rebuild(store, self._begin(store), between=another_one)
        while waiting:
            another_one()
        self._drop(store)
        texts = {seq: one.event.text for seq, one in zip(seqs, made, strict=True)}
        _assert_ranked_alike(store, texts, "w0x w9x n100 n3", 200)
        assert store.audit().problems == ()
        with store.reader(SPACE) as reader:
            for n in range(120):
                assert found(reader, f"n{n}") == [seqs[n]]

    def test_a_removal_during_a_rebuild_makes_it_begin_again(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.seal_at(monkeypatch, 16)
        made = drafts(_texts(80))
        seqs = put(store, made)
        victims = [seqs[3], seqs[70]]

        def forget_two() -> None:
            if victims:
                remove(store, [victims.pop()])

        assert not self._rebuild(store, self._begin(store), between=forget_two)
        assert store.audit().problems == ()
        assert self._rebuild(store, self._begin(store))
        self._drop(store)
        with store.reader(SPACE) as reader:
            assert found(reader, "n3") == found(reader, "n70") == []
            assert found(reader, "n4") == [seqs[4]]
        assert store.audit().problems == ()

    def test_of_two_rebuilds_at_once_one_wins(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 16)
        seqs = put(store, drafts(_texts(60)))
        first, second = self._begin(store), self._begin(store)
        assert first.generation != second.generation
        assert self._rebuild(store, second)
        assert not self._rebuild(store, first)
        self._drop(store)
        with store.reader(SPACE) as reader:
            assert found(reader, "n59") == [seqs[59]]
        assert store.audit().problems == ()

    def test_an_abandoned_rebuild_leaves_nothing_of_what_is_removed(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.seal_at(monkeypatch, 16)
        seqs = put(store, drafts(_texts(60)))
        begun = self._begin(store)
        with store.writer(SPACE) as writer:  # half way, then the process died
            rows = [(seq, terms_of(searchable_terms(event))) for seq, event in writer.log(limit=32)]
            writer.index_words(begun, rows)
        remove(store, seqs[:10])
        assert not self._rebuild(store, replace(begun, generation=begun.generation + 1000))
        assert self._rebuild(store, self._begin(store))
        self._drop(store)
        assert store.audit().problems == ()

    def test_a_rebuild_of_an_empty_space_is_fine(self, store: Store) -> None:
        assert self._rebuild(store, self._begin(store))
        (seq,) = put(store, [draft("word")])
        with store.reader(SPACE) as reader:
            assert found(reader, "word") == [seq]
        assert store.audit().problems == ()

    def test_other_handles_follow_a_rebuild(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seal_at(monkeypatch, 16)
        other = self.another(store)
        seqs = put(store, drafts(_texts(40)))
        with other.reader(SPACE) as reader:
            found(reader, "w0x")
        assert self._rebuild(store, self._begin(store))
        self._drop(store)
        seqs += put(store, [draft("after the rebuild")])
        with other.reader(SPACE) as reader:
            assert found(reader, "rebuild") == [seqs[-1]]
            assert found(reader, "n5") == [seqs[5]]

    def test_a_batch_and_single_appends_give_the_same_index(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.seal_at(monkeypatch, 16)
        made = drafts(_texts(40))
        with store.writer("batch") as writer:
            append(writer, made)
        for one in made:
            with store.writer("single") as writer:
                writer.append([one], None, now=NOW, queue=True)
        with store.file_reader() as reader:
            for question in ("w0x", "w3x w4x n7"):
                ranked = [reader.reader(space).by_words(asked(question), 99, None) for space in ("batch", "single")]
                np.testing.assert_allclose(ranked[0].scores, ranked[1].scores, rtol=1e-5)
        assert store.audit().problems == ()
