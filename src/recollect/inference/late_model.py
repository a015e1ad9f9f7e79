"""What embedders with token vectors have in common: a card, loading ahead of need, and matching."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property
from threading import Thread
from typing import Protocol

from recollect.core.errors import RecollectError
from recollect.inference.codec import LateCodec
from recollect.inference.protocol import Matches, ModelCard, Question


class Loadable(Protocol):
    """An encoder that can be loaded before it is needed."""

    def load(self) -> None: ...


class LateModel:
    """Finding the files is done at once, loading them when first needed."""

    repeatable = True  # the same text gives the same bytes on the same machine: `verify` may compare them

    def __init__(self, card: ModelCard, encoder: Loadable, codec: bytes) -> None:
        self._card = card
        self._loadable = encoder
        self._codec_bytes = codec
        self._warmed = False

    @property
    def card(self) -> ModelCard:
        """Say what these vectors are comparable with."""
        return self._card

    def warm(self) -> None:
        """Begin to load in the background; a call that comes too early waits for it."""
        if self._warmed:
            return
        self._warmed = True
        # Not a daemon: onnxruntime must not be torn down in the middle of loading.
        Thread(target=self._load, name="recollect-warm").start()

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Find for each token of the question the nearest one of each packed passage."""
        return self._codec.matches(question.tokens, passages)

    def _load(self) -> None:
        # What fails here fails again, and is reported, in the call that needs it.
        with contextlib.suppress(RecollectError):
            _ = self._codec
            self._loadable.load()

    @cached_property
    def _codec(self) -> LateCodec:
        return LateCodec.read(self._codec_bytes)
