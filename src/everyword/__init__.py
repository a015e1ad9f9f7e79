"""Everyword: long-term memory for AI agents. Every word kept, searchable the moment it is written, in one file."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes 10 ms, which every hook would pay

__version__ = "0.2.0"

if TYPE_CHECKING:
    from typing import Any

    from everyword import errors
    from everyword.aio import AsyncMemory
    from everyword.client import Client
    from everyword.engine.encoding import EverywordNotice
    from everyword.errors import EverywordError
    from everyword.memory import Memory
    from everyword.settings import Settings
    from everyword.types.concepts import Concept, ConceptEdge, ConceptView, Folded, JournalEntry
    from everyword.types.events import (
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
    from everyword.types.graph import Entity, EntityEdit, EntityType, Fact
    from everyword.types.intents import Evidence, Identity, Intent, Palace, WakeUp, WakeUpLine, Window
    from everyword.types.statements import History, Statement, StatementKind, Status, Version

# Loaded when first used: `everyword --help` and a hook must not pay for numpy. Where a name is looked for, the module
# that loads fastest first.
_MODULES = (
    *("errors", "types.events", "types.graph", "types.intents", "types.statements", "types.concepts", "settings"),
    *("engine.encoding", "memory", "client", "aio"),
)

__all__ = [
    "Answer",
    "AsyncMemory",
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
    "EverywordError",
    "EverywordNotice",
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
    "Report",
    "Session",
    "Settings",
    "Span",
    "Statement",
    "StatementKind",
    "Stats",
    "Status",
    "Theme",
    "Version",
    "WakeUp",
    "WakeUpLine",
    "Window",
    "Written",
    "WrittenBatch",
    "WrittenSentence",
    "errors",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "errors":
        return import_module("everyword.errors")
    if name in __all__:
        modules = (import_module(f"everyword.{module}") for module in _MODULES)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    raise AttributeError(f"module 'everyword' has no attribute {name!r}")
