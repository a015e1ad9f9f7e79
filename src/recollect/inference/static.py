"""An embedder that starts at once: each token has a vector, and a text is the mean of its tokens'."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import ModelDamaged, ModelMissing
from recollect.inference.codec import to_int8, unit
from recollect.inference.protocol import ModelCard, Passage, Question
from recollect.inference.text import well_formed
from recollect.inference.tokens import open_tokenizer
from recollect.inference.weights import Carrier, ModelFiles, PinnedModel, find_model, take_folder

TOKENIZER = "tokenizer.json"
MATRIX = "embeddings.safetensors"
MATRIX_SUFFIXES = (".safetensors", ".npy")
MAX_CHARACTERS = 16_000  # the mean of so many words does not move any more

# safetensors' names of the number formats that a matrix may have
DTYPES = {"F16": "<f2", "F32": "<f4"}

WORDLLAMA = PinnedModel(
    name="static",
    sha256={
        TOKENIZER: "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
        MATRIX: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    },
    carrier=Carrier(
        package="wordllama",
        requirement="wordllama==0.2.2.post0",
        paths={
            TOKENIZER: "tokenizers/l2_supercat_tokenizer_config.json",
            MATRIX: "weights/l2_supercat_256.safetensors",
        },
    ),
    extra="static",
)


class StaticEmbedder:
    """Encode by looking up: thousands of texts a second, and nothing to load but a tokenizer."""

    repeatable = True  # the same text gives the same bytes on the same machine: `verify` may compare them

    def __init__(self, *, folder: str | os.PathLike[str] | None = None) -> None:
        files = find_model(WORDLLAMA) if folder is None else _any_model(Path(folder))
        self._tokenizer = files.paths[TOKENIZER]
        self._matrix_file = next(path for name, path in files.paths.items() if name != TOKENIZER)
        self._version = hashlib.sha256("".join(files.sha256.values()).encode()).hexdigest()[:8]

    @property
    def card(self) -> ModelCard:
        """Say what these vectors are comparable with."""
        return ModelCard(name=WORDLLAMA.name, version=self._version, dims=self._dims)

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        return [Passage(pooled=to_int8(self._vector(text)), tokens=b"") for text in texts]

    def question(self, text: str) -> Question:
        """Encode a question."""
        return Question(pooled=self._vector(text), tokens=np.empty((0, 0), np.float32))

    def _vector(self, text: str) -> NDArray[np.float32]:
        words = well_formed(text[:MAX_CHARACTERS])
        ids = open_tokenizer(self._tokenizer).encode(words, add_special_tokens=False).ids
        if not ids:
            return np.zeros(self._dims, np.float32)
        if max(ids) >= len(self._matrix):
            raise ModelDamaged(f"{self._matrix_file} has no vector for token {max(ids)}: not of this tokenizer.")
        rows: NDArray[np.float32] = np.asarray(self._matrix[ids], np.float32)
        return unit(rows.mean(axis=0))

    @property
    def _dims(self) -> int:
        return int(self._matrix.shape[1])

    @cached_property
    def _matrix(self) -> NDArray[Any]:
        return _read_matrix(self._matrix_file)


def _any_model(folder: Path) -> ModelFiles:
    """Find a tokenizer.json and one matrix in a folder."""
    found = folder.iterdir() if folder.is_dir() else ()
    matrices = [path.name for path in found if path.suffix in MATRIX_SUFFIXES]
    if len(matrices) != 1 or not (folder / TOKENIZER).is_file():
        raise ModelMissing(
            f"{folder} must hold a {TOKENIZER} and one {' or '.join(MATRIX_SUFFIXES)} file.",
            fix="Name another folder, or none: pip install 'recollect[static]' brings a model.",
        )
    return take_folder(folder, (TOKENIZER, matrices[0]))


def _read_matrix(path: Path) -> NDArray[Any]:
    """Map the matrix into memory, so that only the rows that are used are read."""
    try:
        matrix: NDArray[Any] = np.load(path, mmap_mode="r") if path.suffix == ".npy" else _map_safetensors(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelDamaged(f"{path} can't be read as a matrix: {error}", fix="Replace the file.") from error
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise ModelDamaged(f"{path} is not a matrix of numbers.", fix="Replace the file.")
    return matrix


def _map_safetensors(path: Path) -> NDArray[Any]:
    """Map the largest tensor of a file: 8 bytes of length, a JSON header, then the numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise ValueError("its header is cut off")
        header: dict[str, Any] = json.loads(file.read(length))
    header.pop("__metadata__", None)
    tensor: Any = max(header.values(), key=lambda entry: entry["data_offsets"][1] - entry["data_offsets"][0])
    start = 8 + length + tensor["data_offsets"][0]
    return np.memmap(path, DTYPES[tensor["dtype"]], "r", offset=start, shape=tuple(tensor["shape"]))
