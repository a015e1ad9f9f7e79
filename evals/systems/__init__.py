"""Systems by name: Recollect and its ablations, the plain ways, and the peers where they are installed."""

from __future__ import annotations

from importlib import import_module

from evals.errors import EvalError
from evals.values import System

ABLATIONS = ("recollect:-late", "recollect:-words", "recollect:-vectors", "recollect:pooled", "recollect:words")
BASELINES = ("bm25", "vectors")


def open_system(name: str, *, embedder: str | None = None) -> System:
    """Make a system; EvalError says why it can't be made here."""
    family, _, variant = name.partition(":")
    # Each is imported only when chosen: none pays for, or fails with, another.
    if family == "recollect":
        from evals.systems.recollect import recollect_system

        return recollect_system(variant, embedder=embedder)
    if name == "bm25":
        from evals.systems.baselines import Bm25

        return Bm25()
    if name == "vectors":
        from evals.systems.baselines import Vectors

        return Vectors(embedder=embedder)
    return _peer(name)


def _peer(name: str) -> System:
    try:
        peers = import_module("evals.systems.peers").PEERS
    except ImportError as error:
        raise EvalError(f"There is no system {name!r}, and the peers can't be loaded: {error}") from error
    if name not in peers:
        known = ("recollect", *ABLATIONS, *BASELINES, *peers)
        raise EvalError(f"There is no system {name!r}. Known: {', '.join(known)}.")
    return peers[name]()
