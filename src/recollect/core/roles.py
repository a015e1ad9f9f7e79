"""Roles of events that nobody says in a conversation."""

from __future__ import annotations

PROGRAMS = frozenset(("system", "tool", "function", "developer"))  # set up or reported by programs
BY_HAND = frozenset(("correction", "unfold", "feedback"))  # a person's word on what the memory made of others
SILENT = PROGRAMS | BY_HAND
