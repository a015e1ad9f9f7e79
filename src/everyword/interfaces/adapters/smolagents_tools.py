# pyright: basic, reportMissingImports=false
"""Tools of smolagents on a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everyword.extras import optional
from everyword.interfaces.adapters.documents import AgentTools, AnyMemory

with optional("smolagents"):
    from smolagents import Tool, tool

__all__ = ["everyword_tools"]


def everyword_tools(
    memory: AnyMemory,
    *,
    wing: str | None = None,
    session: str | None = None,
    budget: int = 800,
    filters: Mapping[str, Any] | None = None,
    read_only: bool = False,
) -> list[Tool]:
    """Make two tools, `recall` and `remember`; the first alone if `read_only`.

    session: that of what is remembered. budget: most tokens of what a search tells. filters: conditions of each search,
    such as speaker or since. The tools hold an open memory, so they run in this process and can't be pushed to a hub.
    """
    tools = AgentTools(memory, wing=wing, session=session, budget=budget, filters=filters)
    return [tool(function) for function in tools.functions(read_only=read_only)]
