"""A session of the OpenAI Agents SDK on a memory: `Runner.run(agent, text, session=RecollectSession("s1", memory))`.

The SDK asks for a few async methods and no base class, so that it need not be installed here. Items are kept as they
came, but for secrets; what was said in them is searchable like any other event.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from recollect.adapters.cleaning import Cleaning
from recollect.adapters.documents import fits_beside, written
from recollect.adapters.ledger import Change, Entry, Ledger
from recollect.core.values import Json
from recollect.memory import Memory

__all__ = ["RecollectSession"]

_NAME = "openai-agents"


class RecollectSession:
    """The items of one conversation, in order."""

    def __init__(self, session_id: str, memory: Memory, *, wing: str | None = None, redact: str | None = None) -> None:
        self.session_id = session_id
        self.session_settings: Any = None  # what the SDK's runner may set
        self.memory = memory
        self._cleaning = Cleaning(memory, redact=redact)
        self._ledger = Ledger(memory, f"{_NAME}:{session_id}", wing=wing)

    async def get_items(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Read the items, the last `limit` of them, the oldest first."""
        items = await asyncio.to_thread(lambda: [item for _, item in _standing(self._ledger.entries())])
        return items if limit is None else items[len(items) - min(limit, len(items)) :]

    async def add_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Keep items at the end."""
        changes = [self._added(item) for item in items]
        await asyncio.to_thread(self._ledger.append, lambda _: (changes, None))

    async def pop_item(self) -> dict[str, Any] | None:
        """Take the last item away and give it; it stays in the log."""

        def decide(entries: Sequence[Entry]) -> tuple[list[Change], dict[str, Any] | None]:
            standing = _standing(entries)
            if not standing:
                return [], None
            number, item = standing[-1]
            change = Change(
                text="Took back the last item.", session=self.session_id, meaning={"do": "pop", "number": number}
            )
            return [change], item

        return await asyncio.to_thread(self._ledger.append, decide)

    async def clear_session(self) -> None:
        """Take all items away; they stay in the log until they are forgotten."""

        def decide(entries: Sequence[Entry]) -> tuple[list[Change], None]:
            cleared = Change(text="Cleared the session.", session=self.session_id, meaning={"do": "clear"})
            return ([cleared] if _standing(entries) else []), None

        await asyncio.to_thread(self._ledger.append, decide)

    def _added(self, item: Mapping[str, Any]) -> Change:
        """Keep an item beside what it says; a large one, such as a tool's answer, as the text itself."""
        kept = self._cleaning.json(item)
        if not fits_beside(kept):
            return Change(text=written(kept), session=self.session_id, meaning={"do": "add"})
        meaning: dict[str, Json] = {"do": "add", "item": cast("Json", kept)}
        return Change(text=self._cleaning.text(_words(kept)), session=self.session_id, meaning=meaning)


def _standing(entries: Sequence[Entry]) -> list[tuple[int, dict[str, Any]]]:
    """Fold the changes: which items stand, each with its number."""
    standing: dict[int, dict[str, Any]] = {}
    for entry in entries:
        match entry.meaning.get("do"):
            case "add":
                item = entry.meaning["item"] if "item" in entry.meaning else json.loads(entry.event.text)
                standing[entry.number] = cast("dict[str, Any]", item)
            case "pop":
                standing.pop(cast("int", entry.meaning["number"]), None)
            case _:
                standing.clear()
    return list(standing.items())


def _words(item: Mapping[str, Any]) -> str:
    """Find what an item says; one that says nothing is kept as it is written."""
    content: Any = item.get("content")
    parts = [content] if isinstance(content, str) else []
    for part in cast("list[Any]", content) if isinstance(content, list) else ():
        said: Any = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None
        parts += [said] if isinstance(said, str) else []
    return "\n".join(part for part in parts if part.strip()) or written(dict(item))
