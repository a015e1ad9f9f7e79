"""A session of the OpenAI Agents SDK on a memory: `Runner.run(agent, text, session=EverywordSession("s1", memory))`.

The SDK needs a few async methods and no base class, so it is not imported here. Items are stored unchanged except for
secrets, and their text is searchable like any other event.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from everyword.interfaces.adapters.documents import Change, Entry, Ledger, Redactor, fits_in_meta, to_json_text
from everyword.memory import Memory
from everyword.types.events import Json

__all__ = ["EverywordSession"]

_NAME = "openai-agents"


class EverywordSession:
    """The items of one conversation, in order."""

    def __init__(self, session_id: str, memory: Memory, *, wing: str | None = None, redact: str | None = None) -> None:
        self.session_id = session_id
        self.session_settings: Any = None  # set by the SDK's runner
        self.memory = memory
        self._redactor = Redactor(memory, redact=redact)
        self._ledger = Ledger(memory, f"{_NAME}:{session_id}", wing=wing)

    async def get_items(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Read the last `limit` items, oldest first; None: all."""
        items = await asyncio.to_thread(lambda: [item for _, item in _current_items(self._ledger.entries())])
        return items if limit is None else items[len(items) - min(limit, len(items)) :]

    async def add_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Append items."""
        changes = [self._added(item) for item in items]
        await asyncio.to_thread(self._ledger.append, lambda _: (changes, None))

    async def pop_item(self) -> dict[str, Any] | None:
        """Remove and return the last item; it stays in the log."""

        def decide(entries: Sequence[Entry]) -> tuple[list[Change], dict[str, Any] | None]:
            standing = _current_items(entries)
            if not standing:
                return [], None
            number, item = standing[-1]
            change = Change(
                text="Took back the last item.", session=self.session_id, meaning={"do": "pop", "number": number}
            )
            return [change], item

        return await asyncio.to_thread(self._ledger.append, decide)

    async def clear_session(self) -> None:
        """Remove all items; they stay in the log until they are forgotten."""

        def decide(entries: Sequence[Entry]) -> tuple[list[Change], None]:
            cleared = Change(text="Cleared the session.", session=self.session_id, meaning={"do": "clear"})
            return ([cleared] if _current_items(entries) else []), None

        await asyncio.to_thread(self._ledger.append, decide)

    def _added(self, item: Mapping[str, Any]) -> Change:
        """Store an item in the meta of its text; a large one, such as a tool result, becomes the text itself."""
        kept = self._redactor.json(item)
        if not fits_in_meta(kept):
            return Change(text=to_json_text(kept), session=self.session_id, meaning={"do": "add"})
        meaning: dict[str, Json] = {"do": "add", "item": cast("Json", kept)}
        return Change(text=self._redactor.text(_words(kept)), session=self.session_id, meaning=meaning)


def _current_items(entries: Sequence[Entry]) -> list[tuple[int, dict[str, Any]]]:
    """Return the items that are left after all changes, with their numbers."""
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
    """Return the text of an item; an item without text becomes JSON."""
    content: Any = item.get("content")
    parts = [content] if isinstance(content, str) else []
    for part in cast("list[Any]", content) if isinstance(content, list) else ():
        said: Any = cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None
        parts += [said] if isinstance(said, str) else []
    return "\n".join(part for part in parts if part.strip()) or to_json_text(dict(item))
