"""The peers, each really installed in an environment of its own and run offline with the embedder that we use.

    system = PEERS["chroma"]()     # installs on first use; raises CouldNotRun, whose text says why, for the table's row
    system.ingest("store", lines)
    system.search("store", "a question", k=10, now=None)
    system.close()

A failed call raises PeerFailed with the tail of the worker's stderr. Nothing of a peer is imported into our process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from evals.systems.peers.client import Limits, Peer, PeerFailed, Setup
from evals.systems.peers.embeddings import EmbeddingServer
from evals.systems.peers.environment import ROOT, CouldNotRun, Environment
from evals.systems.peers.hurried import HurriedPeer
from everyword.models.protocol import Embedder

__all__ = ["PEERS", "CouldNotRun", "EmbeddingServer", "Limits", "Peer", "PeerFailed", "available"]

HERE = Path(__file__).parent

LANGGRAPH = Environment(
    name="langgraph", pins=("langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2"), needs_extensions=True
)
# numpy, since InMemoryStore compares vectors in plain Python without it.
LANGGRAPH_MEMORY = Environment(name="langgraph-memory", pins=("langgraph==1.2.20", "numpy==2.3.5"))
# Not the latest, 12.4.0: that one asks for a certifi (2026.10.19) which the index here does not have.
MCP_MEMORY = Environment(name="mcp-memory-service", pins=("mcp-memory-service==12.1.1",), needs_extensions=True)
BOTH_MODELS = "questions and passages encoded apart, as our own are"

HINDSIGHT = Setup(
    environment=Environment(name="hindsight", pins=("hindsight-api-slim[embedded-db]==1.1.0",), for_anybody=True),
    worker=HERE / "worker_hindsight.py",
    notes=(
        "LLM provider none: chunks, no facts, no entities; arms fused by rank, without the cross-encoder, which it "
        "downloads; least similarity 0 instead of .3, which fits another model; its embedded PostgreSQL, whose size "
        f"includes its templates (22 MB), as user nobody where we are root; {BOTH_MODELS}"
    ),
    options={"arms": "all"},
    has_scores=False,
    kept_in="home/.pg0/instances/everyword-evals/data/base",
    pid_file="home/.pg0/instances/everyword-evals/data/postmaster.pid",
    as_user="nobody",
    limits=Limits(open=300.0),
)

SETUPS: Mapping[str, Setup] = {
    "mempalace": Setup(
        environment=Environment(name="mempalace", pins=("mempalace==3.11.0",)),
        worker=HERE / "worker_mempalace.py",
        notes=(
            'candidate_strategy="union"; one drawer a line, no closets (its miner was not run); the first 20 hits from '
            f"a search for 20, since its order depends on the number asked for; {BOTH_MODELS}"
        ),
    ),
    "mem0": Setup(
        environment=Environment(name="mem0", pins=("mem0ai==2.2.1",)),
        worker=HERE / "worker_mem0.py",
        notes=(
            "infer=False, threshold=0, Qdrant in a folder; vectors only, since its BM25 arm needs fastembed's "
            f"downloaded files and its entity arm a language model; {BOTH_MODELS}"
        ),
    ),
    "langgraph-memory": Setup(
        environment=LANGGRAPH_MEMORY,
        worker=HERE / "worker_langgraph.py",
        notes=f"InMemoryStore; {BOTH_MODELS}",
        options={"kind": "memory"},
        kept_in=None,
    ),
    "langgraph-sqlite": Setup(
        environment=LANGGRAPH,
        worker=HERE / "worker_langgraph.py",
        notes=f"SqliteStore; {BOTH_MODELS}",
        options={"kind": "sqlite"},
    ),
    "chroma": Setup(
        environment=Environment(name="chroma", pins=("chromadb==1.5.9",)),
        worker=HERE / "worker_chroma.py",
        notes=f"PersistentClient, cosine; {BOTH_MODELS}",
    ),
    "mcp-memory-service": Setup(
        environment=MCP_MEMORY,
        worker=HERE / "worker_mcp_memory.py",
        notes=f"SQLite storage, its default mode (vectors); its dropping of similar lines is off; {BOTH_MODELS}",
        options={"mode": "semantic"},
    ),
    "mcp-memory-service-hybrid": Setup(
        environment=MCP_MEMORY,
        worker=HERE / "worker_mcp_memory.py",
        notes=f"as mcp-memory-service, with retrieve_hybrid, fused by rank; {BOTH_MODELS}",
        options={"mode": "hybrid"},
    ),
    "hindsight": HINDSIGHT,
    "hindsight-plain": replace(
        HINDSIGHT,
        notes=f"{HINDSIGHT.notes}; its graph arm and its preference for what is recent are off",
        options={"arms": "plain"},
    ),
}


class Factory(Protocol):
    """Make a peer: with the embedder that is given, or is named, or with Everyword's default one behind the cache."""

    def __call__(self, embedder: Embedder | str | None = None, *, root: Path = ROOT) -> Peer: ...


PEERS: Mapping[str, Factory] = {name: partial(HurriedPeer, name, setup) for name, setup in SETUPS.items()}


def available(root: Path = ROOT) -> dict[str, str]:
    """Say of each peer, without installing anything: installed, installs on first use, or could not run: why."""
    return {name: _standing(setup, root) for name, setup in SETUPS.items()}


def _standing(setup: Setup, root: Path) -> str:
    installed: Mapping[str, Any] = setup.environment.installed(root)
    if installed.get("pins") == list(setup.environment.pins):
        return f"installed ({installed['bytes'] / 1e6:.0f} MB, in {installed['seconds']:.0f} s)"
    why = setup.environment.why_not()
    return f"could not run: {why}" if why else "installs on first use"
