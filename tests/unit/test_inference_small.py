"""The small embedders, the tokenizers, and the choice between them."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from everyword.errors import InvalidSetting, MissingExtra, ModelDamaged, ModelMissing
from everyword.models import weights
from everyword.models.embedders import (
    BLOCK_TEXTS,
    ColbertSmall,
    EverywordSmall,
    HashingEmbedder,
    load_embedder,
    load_named,
)
from everyword.models.protocol import LateInteraction
from everyword.models.tokenizers import load_tokenizer


def cosine(left: np.ndarray, right: np.ndarray) -> float:
    left, right = left.astype(float), right.astype(float)
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))


class TestHashing:
    embedder = HashingEmbedder()

    def vector(self, text: str) -> np.ndarray:
        return self.embedder.passages([text])[0].pooled

    def test_similar_texts_are_closer(self) -> None:
        text = self.vector("We decided to use PostgreSQL for billing")
        same_words = self.vector("For billing, PostgreSQL was decided")
        inflected = self.vector("deciding on postgres for the bills")
        other = self.vector("My sister works as a nurse in Porto")
        assert cosine(text, same_words) > cosine(text, inflected) > cosine(text, other)
        assert abs(cosine(text, other)) < 0.3

    def test_a_text_has_the_same_vector_whatever_is_beside_it(self) -> None:
        texts = [f"note {i} on the vase, the vase and the cat {i % 7}" for i in range(BLOCK_TEXTS + 9)]
        together = self.embedder.passages(texts)
        assert all(np.array_equal(self.vector(texts[i]), together[i].pooled) for i in (0, 1, 200, BLOCK_TEXTS + 8))

    def test_the_numbers_never_change(self) -> None:
        # Stored vectors depend on it: whoever changes these must change VERSION.
        pooled = self.vector("The cat sat on the mat, naïve café")
        assert self.embedder.card.label == "hashing@1"
        assert (int(pooled.argmax()), int(pooled.argmin())) == (29, 113)
        assert np.abs(pooled.astype(int)).sum() == pytest.approx(650, abs=3)

    @pytest.mark.parametrize("text", ["", "...", "\ud800", "\x00", "x" * 1_000_000, "word " * 2_000_000, "東京に住む"])
    def test_hostile_texts(self, text: str) -> None:
        question = self.embedder.question(text)
        assert question.pooled.shape == (256,)
        assert np.isfinite(question.pooled).all()
        assert question.tokens.shape[0] == 0
        assert not isinstance(self.embedder, LateInteraction)

    def test_it_is_fast(self) -> None:
        texts = [f"Ana told Ben about note {i % 50} on the trip" for i in range(2000)]
        start = time.process_time()
        self.embedder.passages(texts)
        assert 2000 / (time.process_time() - start) > 4000  # a fifth of what a quiet machine does


class TestRegistry:
    def test_settings_choose(self, tmp_path: Path) -> None:
        own = HashingEmbedder()
        assert load_embedder("none") is None
        assert load_embedder(own) is own
        assert isinstance(load_embedder(), EverywordSmall)
        assert isinstance(load_embedder("colbert-small"), ColbertSmall)
        assert isinstance(load_embedder("hashing"), HashingEmbedder)
        with pytest.raises(ModelMissing, match="nowhere"):
            load_embedder("colbert-small", folder=tmp_path / "nowhere")

    @pytest.mark.parametrize("name", ["everyword-small", "colbert-small", "hashing"])
    def test_a_card_s_name_reopens_its_embedder(self, name: str) -> None:
        assert load_named(name).card.name == name

    @pytest.mark.parametrize("spec", ["", "gpt", "Colbert-Small", 3, object()])
    def test_the_unknown_is_refused_with_the_choices(self, spec: Any) -> None:
        with pytest.raises(InvalidSetting, match=r"everyword-small.*colbert-small.*hashing.*none.*openai:MODEL@URL"):
            load_embedder(spec)


class TestTokenizers:
    def test_the_default_counts_word_pieces_without_markers(self) -> None:
        tokenizer = load_tokenizer()
        assert tokenizer.name == load_tokenizer("wordpiece").name == "wordpiece"
        assert tokenizer.count("") == 0
        assert tokenizer.count("Where does Ana live?") == 5
        assert tokenizer.count("Unbelievably") > 1
        assert tokenizer.count("a word " * 3000) == 6000  # no truncation, no padding
        assert tokenizer.count("\ud800\x00") <= 1

    @pytest.mark.parametrize(
        ("text", "count"), [("", 0), ("  \n", 0), ("Don't stop, Ana!", 7), ("v1.2_a", 3), ("naïve 東京", 2)]
    )
    def test_words_counts_words_and_marks(self, text: str, count: int) -> None:
        assert load_tokenizer("words").count(text) == count

    def test_a_file_a_function_and_an_object(self, tmp_path: Path) -> None:
        file = tmp_path / "tokenizer.json"
        file.write_bytes(weights.find_model(weights.EVERYWORD_SMALL).paths["tokenizer.json"].read_bytes())
        assert load_tokenizer(file).count("Where does Ana live?") == 5
        assert load_tokenizer(str(file)).name == str(file)
        assert load_tokenizer(len).count("abc") == 3
        assert load_tokenizer(len).name == "len"
        own = load_tokenizer("words")
        assert load_tokenizer(own) is own
        broken = tmp_path / "broken.json"
        broken.write_text("{}")
        with pytest.raises(ModelDamaged):
            load_tokenizer(broken).count("x")

    @pytest.mark.parametrize("spec", ["gpt-4", "/no/such/file.json", 7])
    def test_the_unknown_is_refused_with_the_choices(self, spec: Any) -> None:
        with pytest.raises(InvalidSetting, match="wordpiece"):
            load_tokenizer(spec)

    def test_tiktoken_is_an_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "tiktoken", None)
        with pytest.raises(MissingExtra, match=r"everyword\[tiktoken\]"):
            load_tokenizer("tiktoken:absent").count("x")

    def test_tiktoken_s_errors_are_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        package: Any = ModuleType("tiktoken")
        package.list_encoding_names = lambda: ["cl100k_base"]

        def unknown(name: str) -> None:
            raise ValueError(name) if name == "unknown" else OSError("no network")

        package.get_encoding = unknown
        monkeypatch.setitem(sys.modules, "tiktoken", package)
        with pytest.raises(InvalidSetting, match="cl100k_base"):
            load_tokenizer("tiktoken:unknown").count("x")
        with pytest.raises(ModelMissing, match="no network"):
            load_tokenizer("tiktoken:offline").count("x")

    def test_without_weights_words_are_offered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(weights, "find_spec", lambda _: None)
        monkeypatch.delenv(weights.FOLDER_VARIABLE, raising=False)
        with pytest.raises(ModelMissing, match='tokenizer="words"'):
            load_tokenizer()
