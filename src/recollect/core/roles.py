"""Roles of events: who asks, who answers, and what nobody says in a conversation."""

from __future__ import annotations

USERS = frozenset(("user", "human"))
ASSISTANTS = frozenset(("assistant", "ai", "model"))
PROGRAMS = frozenset(("system", "tool", "function", "developer"))  # set up or reported by programs
BY_HAND = frozenset(("correction", "unfold", "feedback"))  # a person's word on what the memory made of others
SILENT = PROGRAMS | BY_HAND
