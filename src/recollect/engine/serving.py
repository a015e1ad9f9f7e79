"""Which model's vectors are searched, and which embedder speaks for it.

The file decides: its active model is searched until a rebuild has made another one complete. An embedder that the
caller asked for and that is not the file's waits for that rebuild; meanwhile the file's own one is loaded beside it.
Where it can't be, words are searched alone. Each such step says so, once.
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import NamedTuple

from recollect.core.errors import InvalidSetting, ModelError, RecollectError
from recollect.inference.protocol import Embedder
from recollect.inference.registry import EmbedderSpec, load_embedder, load_named
from recollect.store.protocol import Model, Reader, Writer


class RecollectNotice(UserWarning):
    """Something works in a lesser way than asked for, and why."""


class Serving(NamedTuple):
    """A model in the file and the embedder that speaks for it; both None: words alone."""

    model: Model | None
    embedder: Embedder | None
    trouble: str | None = None  # why there is no vector now, where there should be


class Models:
    """Loads embedders when they are needed and matches them with the file's models."""

    def __init__(self, spec: EmbedderSpec, folder: str | os.PathLike[str] | None) -> None:
        self._spec = spec
        self.folder = folder
        self._lock = threading.Lock()
        self._loaded: dict[str, Embedder | None] = {}
        self._wanted: tuple[Embedder | None] | None = None
        self.notices: list[str] = []
        if spec is not None:
            self.wanted(None)  # a wrong setting is told at once, not at the first question

    @property
    def wants_vectors(self) -> bool:
        """Tell whether vectors are wanted at all, also where none can be made now."""
        return self._spec != "none"

    def wanted(self, active: Model | None) -> Embedder | None:
        """Give the embedder that was asked for; unasked, the file's own, or the bundled one."""
        with self._lock:
            if self._wanted is None:
                self._wanted = (self._load_wanted(active),)
            return self._wanted[0]

    def serving(self, reader: Reader) -> Serving:
        """Find the embedder for the file's active model."""
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
        except ModelError as error:  # an endpoint that is asked for its card may be away for a while
            self.say(f"Words are searched alone, and vectors have to wait: {error}")
            return Serving(active, None, str(error))

    def register(self, writer: Writer, embedder: Embedder) -> Model:
        """Make an embedder's model the active one of a file that has none."""
        card = embedder.card
        model = writer.add_model(
            name=card.name, version=card.version, dims=card.dims, token_dims=card.token_dims, state="active"
        )
        writer.activate(model)  # events from before there was a model get their jobs
        return model

    def close(self) -> None:
        """Let go of what embedders hold open, such as connections. One that the caller made stays the caller's."""
        ours = [*self._loaded.values()]
        if isinstance(self._spec, str | None):
            ours += self._wanted or ()
        for embedder in {id(one): one for one in ours}.values():
            end = getattr(embedder, "close", None)
            if callable(end):
                end()

    def say(self, notice: str) -> None:
        """Tell the caller, once."""
        if notice not in self.notices:
            self.notices.append(notice)
            warnings.warn(notice, RecollectNotice, stacklevel=2)

    def _load_wanted(self, active: Model | None) -> Embedder | None:
        if self._spec is not None:
            return load_embedder(self._spec, folder=self.folder)
        try:
            return load_named(active.name, folder=self.folder) if active else load_embedder(None, folder=self.folder)
        except (ModelError, InvalidSetting) as error:
            self.say(f"Words are searched alone until a model is there: {error}")
            return None

    def _own(self, active: Model, wanted: Embedder | None) -> Embedder | None:
        """Load the file's own embedder, since the one asked for has other vectors."""
        label = f"{active.name}@{active.version}"
        with self._lock:
            if label not in self._loaded:
                self._loaded[label] = self._load_own(active, label)
            own = self._loaded[label]
        if own is not None and not speaks_for(own, active):
            self.say(f"This memory was written with {label}; installed is {own.card.label}. Run rebuild().")
            own = None
        if wanted is not None:
            serves = "its vectors serve" if own else "words are searched alone"
            known = _known_name(wanted)
            asked = wanted.card.label if known in {None, active.name} else known
            self.say(f"This memory was written with {label}; {serves} until rebuild() has made those of {asked}.")
        return own

    def _load_own(self, active: Model, label: str) -> Embedder | None:
        try:
            return load_named(active.name, folder=self.folder)
        except RecollectError as error:
            self.say(f"The model of this memory, {label}, can't be loaded: {error}")
            return None


def warm(embedder: Embedder) -> None:
    """Let an embedder that can begin to load in the background."""
    begin = getattr(embedder, "warm", None)
    if callable(begin):
        begin()


def speaks_for(embedder: Embedder, model: Model) -> bool:
    """Tell whether an embedder makes the vectors of a model. An endpoint may have to be asked, and fail."""
    if _known_name(embedder) not in {None, model.name}:
        return False
    card = embedder.card
    return (card.name, card.version, card.dims) == (model.name, model.version, model.dims)


def _known_name(embedder: Embedder) -> str | None:
    """Give the name on an embedder's card where it says so without being asked for the whole card."""
    return getattr(embedder, "card_name", None)
