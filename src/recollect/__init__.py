"""Recollect: long-term memory for AI agents. Every word kept, searchable the moment it is written, in one file."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from recollect.aio import AsyncMemory
    from recollect.client import Client
    from recollect.core import errors
    from recollect.core.artifacts import Artifact, ArtifactKind, History, Status, Version
    from recollect.core.attention import Belief, Evidence, Intent, Palace, Window
    from recollect.core.errors import RecollectError
    from recollect.core.folding import Concept, ConceptEdge, ConceptView, Folded, JournalEntry
    from recollect.core.graph import Entity, EntityEdit, EntityType, Fact
    from recollect.core.layers import Identity, Told, WakeUp
    from recollect.core.settings import Settings
    from recollect.core.values import (
        Answer,
        Change,
        Citation,
        Context,
        Event,
        Hit,
        Hits,
        Imported,
        Receipt,
        Report,
        Session,
        Span,
        Stats,
        Theme,
        Written,
        WrittenBatch,
        WrittenSentence,
    )
    from recollect.engine.serving import RecollectNotice
    from recollect.memory import Memory

# Loaded when first used: `recollect --help` and a hook must not pay for numpy.
_WHERE = {
    "AsyncMemory": "recollect.aio",
    "Client": "recollect.client",
    "Memory": "recollect.memory",
    "RecollectError": "recollect.core.errors",
    "RecollectNotice": "recollect.engine.serving",
    "Settings": "recollect.core.settings",
    **dict.fromkeys(
        (
            "Answer",
            "Change",
            "Citation",
            "Context",
            "Event",
            "Hit",
            "Hits",
            "Imported",
            "Receipt",
            "Report",
            "Session",
            "Span",
            "Stats",
            "Theme",
            "Written",
            "WrittenBatch",
            "WrittenSentence",
        ),
        "recollect.core.values",
    ),
    **dict.fromkeys(("Concept", "ConceptEdge", "ConceptView", "Folded", "JournalEntry"), "recollect.core.folding"),
    **dict.fromkeys(("Identity", "Told", "WakeUp"), "recollect.core.layers"),
    **dict.fromkeys(("Belief", "Evidence", "Intent", "Palace", "Window"), "recollect.core.attention"),
    **dict.fromkeys(("Artifact", "ArtifactKind", "History", "Status", "Version"), "recollect.core.artifacts"),
    **dict.fromkeys(("Entity", "EntityEdit", "EntityType", "Fact"), "recollect.core.graph"),
}

__all__ = [
    "Answer",
    "Artifact",
    "ArtifactKind",
    "AsyncMemory",
    "Belief",
    "Change",
    "Citation",
    "Client",
    "Concept",
    "ConceptEdge",
    "ConceptView",
    "Context",
    "Entity",
    "EntityEdit",
    "EntityType",
    "Event",
    "Evidence",
    "Fact",
    "Folded",
    "History",
    "Hit",
    "Hits",
    "Identity",
    "Imported",
    "Intent",
    "JournalEntry",
    "Memory",
    "Palace",
    "Receipt",
    "RecollectError",
    "RecollectNotice",
    "Report",
    "Session",
    "Settings",
    "Span",
    "Stats",
    "Status",
    "Theme",
    "Told",
    "Version",
    "WakeUp",
    "Window",
    "Written",
    "WrittenBatch",
    "WrittenSentence",
    "errors",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("recollect.core.errors")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")
