"""Everyword's own embedder: the real weights of packages/everyword-models, and a memory that changes over to them."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import ModelDamaged, ModelMissing
from everyword.models.embedders import EverywordSmall, load_embedder
from everyword.models.weights import EVERYWORD_SMALL, find_model
from told import ASKED, TEXTS

NEVER_SAID = ["What is the name of Ben's daughter?", "When did Ben visit the museum of glass?"]


@pytest.fixture(scope="module")
def embedder() -> EverywordSmall:
    return EverywordSmall()


def test_punctuation_is_not_stored(embedder: EverywordSmall) -> None:
    plain, dotted = embedder.passages(["Ana moved to Lisbon", "Ana... moved, (to) Lisbon!!!"])
    assert len(plain.tokens) == len(dotted.tokens)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="everyword-models"):
        find_model(EVERYWORD_SMALL, folder=tmp_path)
    for name, path in find_model(EVERYWORD_SMALL).paths.items():
        (tmp_path / name).write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelDamaged, match="SHA-256"):
        find_model(EVERYWORD_SMALL, folder=tmp_path)


def test_a_memory_of_another_model_changes_over_and_finds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, "hashing") as memory:
        for text in TEXTS:
            memory.add(text)
    with Memory.open(path, "everyword-small") as memory:
        memory.admin.rebuild()
        for text, best in ASKED:
            assert memory.recall(text, k=1)[0].event.text == TEXTS[best]
    # The file remembers by which model it was written.
    with Memory.open(path) as memory:
        assert memory.recall(ASKED[0][0], k=1)[0].event.text == TEXTS[0]
        assert not memory.notices


def test_its_confidence_tells_what_was_said_from_what_never_was(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", "everyword-small") as memory:
        for text in TEXTS:
            memory.add(text.split(": ", 1)[1], speaker="Ana" if "Ana" in text else "Ben")
        told = [memory.recall(text).confidence for text, _ in ASKED]
        never = [memory.recall(text).confidence for text in NEVER_SAID]
    assert min(one or 0 for one in told) > 0.7
    assert max(1 if one is None else one for one in never) < 0.5


def test_memories_of_one_process_share_the_model() -> None:
    gc.collect()  # memories of earlier tests may still hold the model
    held = load_embedder()
    assert load_embedder("everyword-small") is held
    kept = weakref.ref(held)
    del held
    assert kept() is None, "a model that no memory uses any more must be freed"
