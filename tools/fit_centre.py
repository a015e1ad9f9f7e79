"""Fit the centre that concepts are compared from: python -m tools.fit_centre CONVERSATIONS...

Each line of a file (JSONL, or .xz) is a conversation: {"id", "turns": [{"text", "speaker", "role"?}]}. Turns pass
through a memory, as they do in use; the mean of their vectors goes to src/everyword/models/codecs.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from everyword import Memory
from everyword.models.embedders import CODECS

TURNS = 2_500
LEAST_CHARACTERS = 30  # a shorter turn is a greeting or an answer


def turns(path: Path) -> Iterator[dict[str, Any]]:
    """Read the turns of a file that say something."""
    data = path.read_bytes()
    for line in (lzma.decompress(data) if path.suffix == ".xz" else data).splitlines():
        conversation = json.loads(line)
        for turn in conversation["turns"]:
            if len(turn["text"]) > LEAST_CHARACTERS:
                given = {key: turn[key] for key in ("text", "speaker", "role") if turn.get(key)}
                yield {**given, "session": conversation["id"]}


def main() -> None:
    """Compute the mean vector of the turns of some files and store it for the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conversations", nargs="+", type=Path)
    found = [turn for path in parser.parse_args().conversations for turn in turns(path)]
    random.Random(0).shuffle(found)
    with Memory.open(":memory:", reader="none", fold=False) as memory:
        memory.add_many(found[:TURNS])
        with memory.scope.reader() as reader:
            model = next(one for one in reader.file.models() if one.state == "active")
            vectors = reader.pooled(model, [seq for seq, _ in reader.log(after=0, limit=TURNS)])
    mean = np.mean(np.array(list(vectors.values()), np.float64), axis=0)
    path = CODECS / f"centre-{model.name}-{model.version}.npy"
    np.save(path, np.rint(mean).astype(np.int8))
    print(f"{path.name}: the mean of {len(vectors)} vectors, of length {np.linalg.norm(mean) / 127:.2f}")


if __name__ == "__main__":
    main()
