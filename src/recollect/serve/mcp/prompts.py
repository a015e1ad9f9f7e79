"""Prompts that a user can choose in a client: answer from memory, and keep what was said here."""

from __future__ import annotations

from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptMessage, TextContent

from recollect.core.rendering import indented, visible
from recollect.serve.mcp.early import ANSWER, KEEP, LISTED_PROMPTS
from recollect.serve.mcp.opened import Opened

_BUDGET = 1200  # tokens of memory put before a question: what `context` gives by default

PROMPTS = [Prompt.model_validate(listed) for listed in LISTED_PROMPTS]


def prompt(opened: Opened, name: str, arguments: Mapping[str, str] | None) -> GetPromptResult:
    """Fill a prompt in."""
    if name == ANSWER:
        question = (arguments or {}).get("question", "").strip()
        if not question:
            raise MCPError(INVALID_PARAMS, "Say what the question is.")
        return _said(_answer(opened.memory.context(question, budget=_BUDGET).text, question))
    if name == KEEP:
        return _said(
            "Go through this conversation. For each preference, decision, fact, plan or date in it that will matter "
            "later, call `remember` once, with the exact words that were said and who said them. Leave out small talk, "
            "secrets, and what the memory holds already. Then list what you kept."
        )
    raise MCPError(INVALID_PARAMS, f"There is no prompt {name[:200]!r}.")


def _answer(remembered: str, question: str) -> str:
    return (
        "From my memory:\n\n"
        f"{remembered or '(nothing about this)'}\n\n"
        "Answer the question below from these lines, and cite the marks of those that you use. If they do not hold the "
        "answer, call `recall` with other words; if that finds nothing either, say that you do not know.\n\n"
        f"Question: {indented(question)}"
    )


def _said(text: str) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=visible(text)))])
