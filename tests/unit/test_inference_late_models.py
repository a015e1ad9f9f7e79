"""What holds for every model that ships with token vectors, with its real weights."""

from __future__ import annotations

import numpy as np
import pytest

from everyword.models.embedders import ColbertSmall, EverywordSmall, LateInteractionEmbedder
from everyword.models.onnx import MANY_TEXTS
from everyword.models.protocol import LateInteraction, Passage
from told import ASKED, TEXTS


def same(left: Passage, right: Passage) -> bool:
    return left.tokens == right.tokens and np.array_equal(left.pooled, right.pooled)


@pytest.fixture(scope="module", params=[ColbertSmall, EverywordSmall])
def embedder(request: pytest.FixtureRequest) -> LateInteractionEmbedder:
    return request.param()


def test_a_question_finds_its_passage(embedder: LateInteraction) -> None:
    passages = embedder.passages(TEXTS)
    pooled = np.stack([passage.pooled for passage in passages]).astype(np.float32) / 127
    for text, best in ASKED:
        question = embedder.question(text)
        matches = embedder.late_matches(question, [passage.tokens for passage in passages])
        assert matches.best.mean(axis=1).argmax() == best
        assert best in np.argsort(pooled @ question.pooled)[-2:]


def test_shapes_and_lengths_are_those_of_the_card(embedder: LateInteraction) -> None:
    card = embedder.card
    question = embedder.question("Where does Ana live?")
    (passage,) = embedder.passages(["I moved to Lisbon in March."])
    assert isinstance(embedder, LateInteraction)
    assert question.pooled.shape == (card.dims,)
    assert question.pooled.dtype == question.tokens.dtype == np.float32
    assert question.tokens.shape[1] == card.token_dims
    assert np.allclose(np.linalg.norm(question.tokens, axis=1), 1, atol=1e-4)
    assert np.linalg.norm(question.pooled) == pytest.approx(1, abs=1e-4)
    assert passage.pooled.shape == (card.dims,)
    assert passage.pooled.dtype == np.int8
    assert len(passage.tokens) % (1 + card.token_dims // 4) == 0


def test_a_text_has_the_same_vectors_alone_and_in_a_batch(embedder: LateInteraction) -> None:
    many = [f"{text} ({i})" for i in range(MANY_TEXTS // len(TEXTS) + 1) for text in TEXTS]
    together = embedder.passages(many)
    few = embedder.passages(many[:8])
    alone = [embedder.passages([text])[0] for text in many[:8]]
    assert all(map(same, together, few))
    assert all(map(same, few, alone))


HOSTILE = {
    "empty": "",
    "blank": " \n\t ",
    "punctuation": "?!",
    "nul": "\x00",
    "nul inside": "a\x00b",
    "high": "\ud800",
    "low": "half \udc00 pair",
    "split pair": "\ud83d\ude00",
    "emoji": "😀" * 3000,
    "joined": "𝕏 ﷽ 👩‍👩‍👧‍👦 " * 2000,
    "bidi": "\u202e‮",
    "one long word": "x" * 1_000_000,
    "markers": "[CLS] [SEP] [PAD]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_get_ordinary_vectors(embedder: LateInteraction, text: str) -> None:
    (passage,) = embedder.passages([text])
    question = embedder.question(text)
    assert len(passage.tokens) >= 1 + embedder.card.token_dims // 4
    assert np.isfinite(question.tokens).all()
    assert np.isfinite(embedder.late_matches(question, [passage.tokens]).best).all()


def test_a_split_surrogate_pair_is_the_character_that_it_spells(embedder: LateInteraction) -> None:
    assert same(*embedder.passages(["nice \ud83d\ude00", "nice \U0001f600"]))
