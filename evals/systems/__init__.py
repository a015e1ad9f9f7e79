"""Systems by name: Recollect and its ablations, the plain ways, and the peers where they are installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from evals.errors import EvalError
from evals.packing import BUDGETS
from evals.values import System

if TYPE_CHECKING:
    from evals.cache import CachedEmbedder

ABLATIONS = ("recollect:-late", "recollect:-words", "recollect:-vectors", "recollect:pooled", "recollect:words")
BASELINES = ("bm25", "vectors")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """How the systems that are ours are made; a peer has its own ways."""

    embedder: str | None = None  # None: the product's default
    budgets: Sequence[int] = BUDGETS
    anew: bool = False  # encode everything again, whatever the cache has


def open_system(name: str, options: SystemOptions | None = None) -> System:
    """Make a system; EvalError says why it can't be made here."""
    options = options or SystemOptions()
    family, _, variant = name.partition(":")
    # Each is imported only when chosen: none pays for, or fails with, another.
    if family == "recollect":
        from evals.systems.recollect import recollect_system

        return recollect_system(variant, _embedder(options), budgets=options.budgets)
    if name == "bm25":
        from evals.systems.baselines import Bm25

        return Bm25()
    if name == "vectors":
        from evals.systems.baselines import Vectors

        return Vectors(_embedder(options))
    return _peer(name, options)


def _embedder(options: SystemOptions) -> CachedEmbedder:
    from evals.cache import open_embedder

    return open_embedder(options.embedder, anew=options.anew)


def _peer(name: str, options: SystemOptions) -> System:
    try:
        peers = import_module("evals.systems.peers").PEERS
    except ImportError as error:
        raise EvalError(f"There is no system {name!r}, and the peers can't be loaded: {error}") from error
    if name not in peers:
        known = ("recollect", *ABLATIONS, *BASELINES, *peers)
        raise EvalError(f"There is no system {name!r}. Known: {', '.join(known)}.")
    return peers[name](_embedder(options) if options.anew else options.embedder)
