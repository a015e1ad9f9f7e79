"""The small embedders, the tokenizers, and the choice between them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as RealTokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from recollect.core.errors import InvalidSetting, MissingExtra, ModelDamaged, ModelMissing
from recollect.inference import weights
from recollect.inference.hashing import BLOCK_TEXTS, HashingEmbedder
from recollect.inference.late import ColbertSmall
from recollect.inference.protocol import LateInteraction
from recollect.inference.registry import load_embedder, load_named
from recollect.inference.static import StaticEmbedder
from recollect.inference.tokens import load_tokenizer

WORDS = {"[UNK]": 0, "cat": 1, "kitten": 2, "invoice": 3}
VECTORS = np.array([[0, 0, 1], [1, 0, 0], [0.9, 0.1, 0], [0, 1, 0]])


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
        start = time.perf_counter()
        self.embedder.passages(texts)
        assert 2000 / (time.perf_counter() - start) > 4000  # a fifth of what a quiet machine does


class TestStatic:
    @pytest.fixture(params=["npy", "F32", "F16"])
    def folder(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        tokenizer = RealTokenizer(WordLevel(WORDS, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = Whitespace()
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        if request.param == "npy":
            np.save(tmp_path / "matrix.npy", VECTORS.astype(np.float32))
        else:
            matrix = VECTORS.astype({"F32": np.float32, "F16": np.float16}[request.param])
            write_safetensors(tmp_path / "model.safetensors", matrix, request.param)
        return tmp_path

    def test_a_text_is_the_mean_of_its_tokens(self, folder: Path) -> None:
        embedder = StaticEmbedder(folder=folder)
        assert embedder.card.dims == 3
        cat, kitten, invoice = (embedder.question(word).pooled for word in ("cat", "kitten", "invoice"))
        assert cosine(cat, kitten) > 0.9 > cosine(cat, invoice)
        assert embedder.question("cat invoice").pooled == pytest.approx([0.5**0.5, 0.5**0.5, 0], abs=1e-3)
        assert embedder.passages(["cat"])[0].pooled.tolist() == [127, 0, 0]
        assert not embedder.question("").pooled.any()
        assert np.isfinite(embedder.question("\ud800\x00" * 100_000).pooled).all()

    def test_other_files_are_another_version(self, folder: Path) -> None:
        before = StaticEmbedder(folder=folder).card
        path = folder / "tokenizer.json"
        path.write_text(path.read_text() + "\n")
        assert StaticEmbedder(folder=folder).card.version != before.version

    def test_damaged_or_unfit_files_are_refused(self, folder: Path) -> None:
        (matrix,) = (path for path in folder.iterdir() if path.suffix != ".json")
        np.save(folder / "short.npy", np.ones((2, 3), np.float32))
        with pytest.raises(ModelMissing, match="one"):
            StaticEmbedder(folder=folder)
        (folder / "short.npy").rename(folder / "short.bin")
        matrix.write_bytes(matrix.read_bytes()[:20])
        with pytest.raises(ModelDamaged):
            StaticEmbedder(folder=folder).question("cat")
        matrix.unlink()
        (folder / "short.bin").rename(folder / "short.npy")
        with pytest.raises(ModelDamaged, match="token 3"):
            StaticEmbedder(folder=folder).question("invoice")
        (folder / "manifest.json").write_text('{"sha256": {"tokenizer.json": "00", "short.npy": "00"}}')
        with pytest.raises(ModelDamaged, match="pinned"):
            StaticEmbedder(folder=folder)

    def test_without_weights_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(weights, "find_spec", lambda _: None)
        with pytest.raises(ModelMissing, match=r"recollect\[static\]"):
            StaticEmbedder()
        with pytest.raises(ModelMissing, match=r"tokenizer\.json"):
            StaticEmbedder(folder=tmp_path / "nowhere")


class TestRegistry:
    def test_settings_choose(self, tmp_path: Path) -> None:
        own = HashingEmbedder()
        assert load_embedder("none") is None
        assert load_embedder(own) is own
        assert isinstance(load_embedder(), ColbertSmall)
        assert isinstance(load_embedder("colbert-small"), ColbertSmall)
        assert isinstance(load_embedder("hashing"), HashingEmbedder)
        with pytest.raises(ModelMissing, match="nowhere"):
            load_embedder("colbert-small", folder=tmp_path / "nowhere")

    @pytest.mark.parametrize("name", ["colbert-small", "hashing"])
    def test_a_card_s_name_reopens_its_embedder(self, name: str) -> None:
        assert load_named(name).card.name == name

    @pytest.mark.parametrize("spec", ["", "gpt", "Colbert-Small", 3, object()])
    def test_the_unknown_is_refused_with_the_choices(self, spec: Any) -> None:
        with pytest.raises(InvalidSetting, match=r"colbert-small.*hashing.*none.*openai:MODEL@URL"):
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
        file.write_bytes(weights.find_model(weights.COLBERT_SMALL).paths["tokenizer.json"].read_bytes())
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
        with pytest.raises(MissingExtra, match=r"recollect\[tiktoken\]"):
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


def write_safetensors(path: Path, matrix: np.ndarray, dtype: str) -> None:
    entry = {"dtype": dtype, "shape": matrix.shape, "data_offsets": [0, matrix.nbytes]}
    header = json.dumps({"__metadata__": {"format": "np"}, "embeddings": entry}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + matrix.tobytes())
