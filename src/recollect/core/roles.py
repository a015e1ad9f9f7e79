"""Roles of events: who asks, who answers, and what nobody says in a conversation."""

from __future__ import annotations

USERS = frozenset(("user", "human"))
ASSISTANTS = frozenset(("assistant", "ai", "model"))
PROGRAMS = frozenset(("system", "tool", "function", "developer"))  # set up or reported by programs
SILENT = PROGRAMS
