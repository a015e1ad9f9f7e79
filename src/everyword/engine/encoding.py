"""Load embedders, match them with the models of a store, and encode texts.

The store decides which vectors are searched: those of its active model, until a rebuild has completed another. If the
caller asks for a different embedder, that one waits for the rebuild, and the embedder of the store is loaded as well.
If that fails, only words are searched. Each of these fallbacks warns once.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from everyword.errors import EmbeddingFailed, EverywordError, InvalidSetting, ModelError
from everyword.models.embedders import EmbedderSpec, LateInteractionEmbedder, load_embedder, load_named
from everyword.models.protocol import Embedder, Passage, Question, close_model
from everyword.storage.protocol import FileReader, FileWriter
from everyword.storage.rows import Model, UnitVector
from everyword.text.rendering import encoder_prefix
from everyword.text.spans import windows
from everyword.types.events import Event

_MOST_NOTICES = 50  # kept, the latest: their texts may hold changing numbers
_PROBE = "probe"  # a text that every embedder takes, to tell a text that it refuses from one that takes none


class EverywordNotice(UserWarning):
    """A warning that something works less well than asked for, with the reason."""


class Serving(NamedTuple):
    """The active model of a store and its embedder; both None: only words are searched."""

    model: Model | None
    embedder: Embedder | None
    trouble: str | None = None  # why vectors can't be made now


class Models:
    """Loads embedders on first use and matches them with the models of a store."""

    def __init__(self, spec: EmbedderSpec, folder: str | os.PathLike[str] | None) -> None:
        if not isinstance(cast(object, folder), str | os.PathLike | None):
            raise InvalidSetting(f"models must be a folder, not {folder!r}.")
        self._spec = spec
        self.folder = folder
        self._lock = threading.Lock()
        self._loaded: dict[str, Embedder | None] = {}
        self._wanted: tuple[Embedder | None] | None = None
        self.notices: list[str] = []
        if spec is not None:
            self.wanted(None)  # report a wrong setting now, not at the first question

    @property
    def wants_vectors(self) -> bool:
        """Tell whether vectors are wanted, even if none can be made now."""
        return self._spec != "none"

    def wanted(self, active: Model | None) -> Embedder | None:
        """Return the embedder that the caller asked for, or else that of the store, or else the bundled one."""
        with self._lock:
            if self._wanted is None:
                self._wanted = (self._load_wanted(active),)
            return self._wanted[0]

    def serving(self, reader: FileReader) -> Serving:
        """Find the embedder of the active model."""
        active = next((model for model in reader.models() if model.state == "active"), None)
        wanted = self.wanted(active)
        if active is None:
            return Serving(None, wanted)
        try:
            if wanted is not None and speaks_for(wanted, active):
                return Serving(active, wanted)
            if not self.wants_vectors:
                return Serving(None, None)
            return Serving(active, self._own(active, wanted))
        except ModelError as error:  # a remote endpoint may be unreachable
            self.say(f"Only words are searched, and new vectors wait: {error}")
            return Serving(active, None, str(error))

    def register(self, writer: FileWriter, embedder: Embedder) -> Model:
        """Make the model of an embedder the active one of a store that has none."""
        card = embedder.card
        model = writer.add_model(
            name=card.name, version=card.version, dims=card.dims, token_dims=card.token_dims, state="active"
        )
        writer.activate(model)  # this also queues the events that were written before
        return model

    def close(self) -> None:
        """Close embedders. One that the caller passed in stays open."""
        ours = [*self._loaded.values()]
        if isinstance(self._spec, str | None):
            ours += self._wanted or ()
        for embedder in {id(one): one for one in ours}.values():
            close_model(embedder)

    def say(self, notice: str) -> None:
        """Warn the caller once."""
        if notice not in self.notices:
            self.notices[:] = [*self.notices[1 - _MOST_NOTICES :], notice]
            warnings.warn(notice, EverywordNotice, stacklevel=2)

    def _load_wanted(self, active: Model | None) -> Embedder | None:
        if self._spec is not None:
            return load_embedder(self._spec, folder=self.folder)
        try:
            return load_named(active.name, folder=self.folder) if active else load_embedder(None, folder=self.folder)
        except (ModelError, InvalidSetting) as error:
            self.say(f"Only words are searched until a model is available: {error}")
            return None

    def _own(self, active: Model, wanted: Embedder | None) -> Embedder | None:
        """Load the embedder of the store, because the wanted one makes other vectors."""
        label = f"{active.name}@{active.version}"
        with self._lock:
            if label not in self._loaded:
                self._loaded[label] = self._load_own(active, label)
            own = self._loaded[label]
        if own is not None and not speaks_for(own, active):
            self.say(f"This memory was written with {label}; installed is {own.card.label}. Run `rebuild`.")
            own = None
        if wanted is not None:
            serves = "its vectors are used" if own else "only words are searched"
            known = _known_name(wanted)
            asked = wanted.card.label if known in {None, active.name} else known
            self.say(f"This memory was written with {label}; {serves} until rebuild() has made those of {asked}.")
        return own

    def _load_own(self, active: Model, label: str) -> Embedder | None:
        try:
            return load_named(active.name, folder=self.folder)
        except EverywordError as error:
            self.say(f"The model of this memory, {label}, can't be loaded: {error}")
            return None


def warm(embedder: Embedder) -> None:
    """Start loading an embedder in the background, if it supports that."""
    begin = getattr(embedder, "warm", None)
    if callable(begin):
        begin()


def speaks_for(embedder: Embedder, model: Model) -> bool:
    """Tell whether an embedder makes the vectors of a model. This may ask a remote endpoint, and fail."""
    if _known_name(embedder) not in {None, model.name}:
        return False
    card = embedder.card
    return (card.name, card.version, card.dims) == (model.name, model.version, model.dims)


def _known_name(embedder: Embedder) -> str | None:
    """Return the name of an embedder if it is known without a request for the whole card."""
    return getattr(embedder, "card_name", None)


def embed(
    embedder: Embedder, events: Sequence[Event], stopping: threading.Event | None = None
) -> list[tuple[UnitVector, ...]]:
    """Encode events; return one vector for each window of an event. What is said twice on a day is encoded once.

    stopping: raise Closed once this is set: dense text takes seconds an event, too long to wait for a batch.
    """
    parts = [[(window.span, encoder_prefix(event) + window.text) for window in windows(event.text)] for event in events]
    texts = list(dict.fromkeys(line for lines in parts for _, line in lines))
    encoded = dict(zip(texts, _encoded(embedder, texts, stopping), strict=True))
    return [
        tuple(UnitVector(span=span, pooled=encoded[line].pooled, tokens=encoded[line].tokens) for span, line in lines)
        for lines in parts
    ]


def embed_each(
    embedder: Embedder, events: Sequence[Event], stopping: threading.Event | None = None
) -> list[tuple[UnitVector, ...] | ModelError]:
    """Encode events as `embed` does; return the error for each event that the embedder refuses.

    Raises where it refuses any text: then it can't be used now.
    """
    try:
        return [*embed(embedder, events, stopping)]
    except ModelError as error:
        _encoded(embedder, [_PROBE])
        if len(events) == 1:
            return [error]
        middle = len(events) // 2
        return [*embed_each(embedder, events[:middle], stopping), *embed_each(embedder, events[middle:], stopping)]


def ask(embedder: Embedder, text: str) -> Question:
    """Encode a question; any failure of the embedder raises EmbeddingFailed."""
    with _as_embedding_failed():
        question = embedder.question(text)
        card = embedder.card
        if not _is_vector(question.pooled, card.dims) or not np.isfinite(question.pooled).all():
            raise EmbeddingFailed(f"{card.label} must encode a question as {card.dims} finite numbers.")
        if card.token_dims and not isinstance(cast(object, question.tokens), np.ndarray):
            raise EmbeddingFailed(f"{card.label} must encode the tokens of a question as an array.")
    return question


def _encoded(embedder: Embedder, texts: Sequence[str], stopping: threading.Event | None = None) -> list[Passage]:
    with _as_embedding_failed():
        if isinstance(embedder, LateInteractionEmbedder):
            encoded = embedder.passages(texts, stopping)
        else:
            encoded = list(embedder.passages(texts))
        card = embedder.card
        if len(encoded) != len(texts) or not all(_is_storable(one, card.dims) for one in encoded):
            raise EmbeddingFailed(
                f"{card.label} gave {len(encoded)} vectors for {len(texts)} texts, "
                f"or others than arrays of {card.dims} int8, each with its tokens as bytes."
            )
    return encoded


def _is_storable(passage: Passage, dims: int) -> bool:
    has_bytes = isinstance(cast(object, passage.tokens), bytes | bytearray | memoryview)
    return has_bytes and _is_vector(passage.pooled, dims) and passage.pooled.dtype == np.int8


def _is_vector(given: object, dims: int) -> bool:
    return isinstance(given, np.ndarray) and np.shape(cast(NDArray[np.generic], given)) == (dims,)


@contextmanager
def _as_embedding_failed() -> Generator[None]:
    # An embedder may be the caller's code. Whatever it raises must not lose the event.
    try:
        yield
    except EverywordError:
        raise
    except Exception as error:
        raise EmbeddingFailed(f"The embedder failed: {type(error).__name__}: {error}") from error
