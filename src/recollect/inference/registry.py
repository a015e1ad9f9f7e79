"""From a setting to an embedder."""

from __future__ import annotations

import os

from recollect.core.errors import InvalidSetting
from recollect.inference.protocol import Embedder

DEFAULT = "colbert-small"
CHOICES = (
    '"colbert-small" (the default), "recollect-small", "hashing", "static", "none" (words only), '
    '"openai:MODEL@URL", "URL#MODEL", or an Embedder object'
)

EmbedderSpec = str | Embedder | None


def load_embedder(spec: EmbedderSpec = None, *, folder: str | os.PathLike[str] | None = None) -> Embedder | None:
    """Give the embedder that a setting names, or None for words alone; `folder` is where its files lie."""
    if spec is None:
        return load_named(DEFAULT, folder=folder)
    if spec == "none":
        return None
    if isinstance(spec, str):
        return load_named(spec, folder=folder)
    # Not isinstance(spec, Embedder): that would read `card`, for which an endpoint must be asked.
    if callable(getattr(spec, "passages", None)) and callable(getattr(spec, "question", None)):
        return spec
    raise InvalidSetting(f"embedder={spec!r} is not known.", fix=f"Choose {CHOICES}.")


def load_named(name: str, *, folder: str | os.PathLike[str] | None = None) -> Embedder:
    """Give the embedder whose card has this name: how a file finds the one that it was written with."""
    # Each is imported only when chosen, so that none pays for another.
    if name == DEFAULT:
        from recollect.inference.late import ColbertSmall

        return ColbertSmall(folder=folder)
    if name == "recollect-small":
        from recollect.inference.own import RecollectSmall

        return RecollectSmall(folder=folder)
    if name == "hashing":
        from recollect.inference.hashing import HashingEmbedder

        return HashingEmbedder()
    if name == "static":
        from recollect.inference.static import StaticEmbedder

        return StaticEmbedder(folder=folder)
    if name.startswith(("openai:", "http://", "https://")):
        from recollect.inference.endpoint import EndpointEmbedder, EndpointSettings

        return EndpointEmbedder(EndpointSettings.parse(name))
    raise InvalidSetting(f"embedder={name!r} is not known.", fix=f"Choose {CHOICES}.")
