"""Our WordPiece gives what the tokenizers package gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from effort import effort
from everyword.errors import ModelDamaged
from everyword.models.tokenizers import Encoding, WordPiece, open_tokenizer
from everyword.models.weights import EVERYWORD_SMALL, find_model

PATH = find_model(EVERYWORD_SMALL, only=("tokenizer.json",)).paths["tokenizer.json"]
ROOT = Path(__file__).parent.parent.parent
# Scripts that both know in the same version of Unicode.
LETTERS = st.characters(max_codepoint=0x5FF) | st.sampled_from("中文한글かなไทยअ😀👩‍👩‍👧️ İßǅﬁ \u200b\u00ad\u2028…“”—")


@pytest.fixture(scope="module")
def theirs() -> Any:
    loaded = Tokenizer.from_file(str(PATH))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def same(ours: Encoding, theirs: Any) -> bool:
    found = (theirs.ids, theirs.tokens, theirs.offsets, theirs.word_ids)
    return (ours.ids, ours.tokens, ours.offsets, ours.word_ids) == found


def test_the_default_model_needs_no_package() -> None:
    assert isinstance(open_tokenizer(PATH), WordPiece)


def test_documents_are_split_alike(theirs: Any) -> None:
    ours = open_tokenizer(PATH)
    lines = [line for path in ROOT.rglob("docs/*.md") for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 500
    for line in lines:
        assert same(ours.encode(line), theirs.encode(line)), line


@settings(max_examples=effort(60, 300), deadline=None)
@given(parts=st.lists(LETTERS | st.sampled_from(["[SEP]", "a" * 101, "\x00", "\r\n"]), max_size=40))
def test_any_text_is_split_alike(theirs: Any, parts: list[str]) -> None:
    ours, text = open_tokenizer(PATH), "".join(parts)
    assert same(ours.encode(text), theirs.encode(text))
    assert same(ours.encode(text, add_special_tokens=False), theirs.encode(text, add_special_tokens=False))


def test_another_kind_of_tokenizer_is_left_to_the_package(tmp_path: Path) -> None:
    document = json.loads(PATH.read_text(encoding="utf-8"))
    document["normalizer"]["lowercase"] = False
    other = tmp_path / "tokenizer.json"
    other.write_text(json.dumps(document), encoding="utf-8")
    assert isinstance(open_tokenizer(other), Tokenizer)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"model": null, "normalizer": null}', "\x00"])
def test_a_damaged_file_is_named(tmp_path: Path, content: str) -> None:
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text(content, encoding="utf-8")
    with pytest.raises(ModelDamaged, match=r"tokenizer\.json"):
        open_tokenizer(damaged)
