"""What holds for every model that ships with token vectors, with its real weights."""

from __future__ import annotations

import numpy as np
import pytest

from everyword.models.embedders import ColbertSmall, EverywordSmall, LateInteractionEmbedder
from everyword.models.protocol import LateInteraction
from told import ASKED, TEXTS


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
