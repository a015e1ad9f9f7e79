"""Systems by name: Everyword and its ablations, the plain ways, and the peers where they are installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals import provenance
from evals.errors import EvalError
from evals.packing import BUDGETS
from evals.systems.variants import NAME, all_ablations, is_ours, variant_of
from evals.values import System

if TYPE_CHECKING:
    from evals.cache import CachedEmbedder

BASELINES = ("bm25", "vectors")
STORES = Path(".evals") / "stores"
_HERE = "evals/systems"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """How the systems that are ours are made; a peer has its own ways."""

    embedder: str | None = None  # None: the product's default
    budgets: Sequence[int] = BUDGETS
    anew: bool = False  # encode everything again, whatever the cache has
    stores: Path = STORES  # where ours keep what they wrote


def open_system(name: str, options: SystemOptions | None = None) -> System:
    """Make a system; EvalError says why it can't be made here."""
    options = options or SystemOptions()
    # Each is imported only when chosen: none pays for, or fails with, another.
    if is_ours(name):
        from evals.systems.everyword import EverywordSystem

        return EverywordSystem(name, _embedder(options), options.stores)
    if name == "bm25":
        from evals.systems.baselines import Bm25

        return Bm25()
    if name == "vectors":
        from evals.systems.baselines import Vectors

        return Vectors(_embedder(options))
    origin_of(name, options)  # says so where there is no such peer
    return _peers(name).PEERS[name](_embedder(options) if options.anew else options.embedder)


def ablations() -> list[str]:
    """Name the shipped default less each of its stages, and the recipes that add some."""
    return all_ablations()


def peer_names() -> list[str]:
    """Name the peers, whether they can run here or not."""
    return list(_peers("peers").SETUPS)


def origin_of(name: str, options: SystemOptions) -> dict[str, Any]:
    """Tell, without making a system, what its answers follow from: its code, and the model behind its vectors."""
    if is_ours(name):
        variant_of(name)  # says so where there is no such variant
        code = provenance.code_hash((provenance.PRODUCT, f"{_HERE}/everyword.py", "evals/cache.py"))
    elif name in BASELINES:
        code = provenance.code_hash((f"{_HERE}/baselines.py", "evals/wording.py"))
    else:
        setups = _peers(name).SETUPS
        if name not in setups:
            known = (NAME, f"{NAME}:RECIPE", f"{NAME}:+FIELD=VALUE", *ablations(), *BASELINES, *setups)
            raise EvalError(f"There is no system {name!r}. Known: {', '.join(known)}.")
        setup = setups[name]
        shared = (f"{_HERE}/peers/{part}.py" for part in ("client", "embeddings", "worker_protocol"))
        worker = f"{_HERE}/peers/{setup.worker.name}"
        code = provenance.code_hash((worker, *shared, "evals/wording.py"), setup.environment.pins, setup.options)
    return {"code": code, "model": None if name == "bm25" else _label(options)}


def _label(options: SystemOptions) -> str:
    from everyword.models.embedders import load_embedder

    embedder = load_embedder(options.embedder)
    return embedder.card.label if embedder is not None else "none"


def _embedder(options: SystemOptions) -> CachedEmbedder:
    from evals.cache import open_embedder

    return open_embedder(options.embedder, anew=options.anew)


def _peers(name: str) -> Any:
    try:
        return import_module("evals.systems.peers")
    except ImportError as error:
        raise EvalError(f"There is no system {name!r}, and the peers can't be loaded: {error}") from error
