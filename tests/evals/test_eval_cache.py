"""The cache of embeddings: same vectors, no second encoding, and what it saved is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from evals.cache import CachedEmbedder, CachedLateEmbedder, CountedOnce, Encodings, open_embedder
from hypothesis import given
from hypothesis import strategies as st

from everyword.models.protocol import LateInteraction, Matches, ModelCard, Passage, Question
from everyword.models.tokenizers import load_tokenizer

COUNTED, TOKENIZER = CountedOnce(), load_tokenizer()


class Counting:
    """A tiny embedder with late interaction that counts its work."""

    def __init__(self, version: str = "1") -> None:
        self.card = ModelCard(name="counting", version=version, dims=2, token_dims=3)
        self.encoded: list[str] = []
        self.compared = 0

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        self.encoded += texts
        return [Passage(pooled=np.array([len(text), 1], np.int8), tokens=text.encode()) for text in texts]

    def question(self, text: str) -> Question:
        self.encoded.append(text)
        return Question(
            pooled=np.array([len(text), 0.5], np.float32), tokens=np.full((2, 3), len(text), dtype=np.float32)
        )

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        self.compared += 1
        lengths = np.array([len(one) for one in passages], np.float32)
        return Matches(lengths[:, None], lengths)


def test_each_text_is_encoded_once_in_its_life(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache.sqlite"
    first = Counting()
    cached = CachedLateEmbedder(first, Encodings(path))
    made = cached.passages(["a", "bb", "a"])
    assert [one.tokens for one in made] == [b"a", b"bb", b"a"]
    asked = cached.question("why")
    assert first.encoded == ["ready", "a", "bb", "why"]
    assert cached.saved_ms() == 0.0
    cached.release()

    second = Counting()
    again = CachedLateEmbedder(second, Encodings(path))
    for one, other in zip(made, again.passages(["a", "bb", "a"]), strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_array_equal(one.pooled, other.pooled)
    known = again.question("why")
    np.testing.assert_array_equal(known.pooled, asked.pooled)
    np.testing.assert_array_equal(known.tokens, asked.tokens)
    assert known.tokens.shape == (2, 3)
    assert second.encoded == []
    assert again.saved_ms() > 0.0
    assert again.saved_ms() == 0.0
    again.passages(["a", "new"])
    assert second.encoded == ["ready", "new"]
    again.release()


def test_kinds_and_models_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    first = CachedEmbedder(Counting(), Encodings(path))
    first.passages(["x"])
    assert first.question("x").pooled.dtype == np.float32
    first.release()
    other = Counting(version="2")
    second = CachedEmbedder(other, Encodings(path))
    second.passages(["x"])
    assert other.encoded == ["ready", "x"]
    second.release()


def test_everything_can_be_encoded_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    first = CachedEmbedder(Counting(), Encodings(path))
    first.passages(["x", "y"])
    first.release()
    again = Counting()
    anew = CachedEmbedder(again, Encodings(path, anew=True))
    anew.passages(["x"])
    anew.passages(["x"])
    assert again.encoded == ["ready", "x"], "once a run, whatever an earlier one kept"
    anew.release()


def test_late_matches_are_the_embedder_s_own(tmp_path: Path) -> None:
    embedder = Counting()
    cached = CachedLateEmbedder(embedder, Encodings(tmp_path / "cache.sqlite"))
    question = cached.question("q")
    first = cached.late_matches(question, [b"a", b"bbb"])
    assert first.best.tolist() == [[1.0], [3.0]]
    first.best[:] = 0  # whoever changes what it was given changes nothing for the next
    assert cached.late_matches(question, [b"a", b"bbb"]).best.tolist() == [[1.0], [3.0]]
    assert embedder.compared == 1
    cached.late_matches(question, [b"a"])
    assert embedder.compared == 2
    cached.forget_last()
    cached.late_matches(question, [b"a"])
    assert embedder.compared == 3
    cached.release()


@given(st.text(st.sampled_from("aé中ß🙂'-_.[]12 \n\t\u00a0\u200b\x00\ud800"), max_size=60) | st.text(max_size=60))
def test_words_counted_one_by_one_are_as_many_tokens_as_the_product_counts(text: str) -> None:
    assert COUNTED.count(text) == TOKENIZER.count(text)


def test_only_an_embedder_with_late_interaction_claims_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    pooled = open_embedder("hashing")
    late = open_embedder()
    assert not isinstance(pooled, LateInteraction)
    assert isinstance(late, LateInteraction)
    assert (tmp_path / ".evals" / "cache").is_dir()
    pooled.release()
    late.release()
