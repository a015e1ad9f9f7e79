"""What adapters of chat histories build on: the items of a conversation, kept in a session of a memory.

An item is a JSON object of the framework, such as a message or a tool call. Each is an event with the item's own role
and speaker, so that what people say becomes statements and facts. Items come back unchanged except for secrets. Taking
an item back, or clearing the conversation, is an event too; reading goes backwards from the newest event, and so costs
as much as what is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from msgspec import Struct

from everyword.interfaces.adapters.documents import (
    TICK,
    AnyMemory,
    Redactor,
    as_memory,
    fits_in_meta,
    own_event,
    time_after,
    to_json_text,
    wing_of,
    write_in_turn,
)
from everyword.types.events import Event, Json

Item = dict[str, Any]


class ItemText(Struct, frozen=True, kw_only=True):
    """What an item says, for people and for recall."""

    role: str
    text: str
    speaker: str | None = None


class Conversation:
    """The items of one conversation, in order."""

    def __init__(
        self,
        memory: AnyMemory,
        name: str,
        session: str,
        *,
        said: Callable[[Item], ItemText],
        wing: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        redact: str | None = None,
    ) -> None:
        """Keep a conversation in a session.

        name: of the framework, so that histories of two frameworks in one session stay apart. said: reads an item.
        user, agent: the names of who speaks as "user" and as "assistant", if items have none.
        """
        self.memory = as_memory(memory, wing)
        self.session = session
        self._name = name
        self._label = f"{name}.session"
        self._said = said
        self._names = {"user": user, "assistant": agent}
        self._redactor = Redactor(memory, redact=redact)
        # Keys are unique in a space, so each wing has its own numbers.
        own = wing_of(self.memory)
        self._prefix = f"{session}/" if own is None else f"{session}/{own}/"

    # Reading

    def items(self, limit: int | None = None) -> list[Item]:
        """Read the last `limit` items, oldest first; None: all."""
        most = None if limit is None else max(limit, 0)
        return [item for _, item in islice(self._standing(), most)][::-1]

    def _standing(self) -> Iterator[tuple[int, Item]]:
        """Go through the items that are left and their numbers, the newest first."""
        taken_back: set[int] = set()
        for event in self._newest_first():
            entry = self._entry(event)
            number = cast("int", entry["number"])
            if entry["do"] == "clear":
                return
            if entry["do"] == "pop":
                taken_back.add(cast("int", entry["of"]))
            elif number not in taken_back:
                yield number, json.loads(cast("str", entry.get("item", event.text)))

    def _newest_first(self) -> Iterator[Event]:
        return self.memory.events(session=self.session, meta={self._label: self._prefix}, newest_first=True)

    # Writing

    def add(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Append items, all of them or none."""
        events = [self._event_of(item) for item in items]
        self._append(lambda: events)

    def pop(self) -> Item | None:
        """Remove and return the last item; it stays in the log."""
        last: tuple[int, Item] | None = None

        def taking_back() -> list[dict[str, Any]]:
            nonlocal last
            last = next(self._standing(), None)
            return [] if last is None else [self._change("Took back the last item.", do="pop", of=last[0])]

        self._append(taking_back)
        return None if last is None else last[1]

    def clear(self) -> None:
        """Remove all items; they stay in the log until they are forgotten."""
        clearing = [self._change("Cleared the session.", do="clear")]
        self._append(lambda: clearing if next(self._standing(), None) is not None else [])

    def _append(self, decide: Callable[[], Sequence[dict[str, Any]]]) -> None:
        """Append what `decide` returns behind the newest event; decide again if another writer was faster."""
        first = 0

        def attempt(_race: int) -> list[dict[str, Json]]:
            nonlocal first
            newest = next(self._newest_first(), None)
            at = time_after(self.memory, None if newest is None else newest.at)
            # A key may be taken by an event that this handle can't see, so the number also rises by itself.
            first = max(first, 0 if newest is None else cast("int", self._entry(newest)["number"])) + 1
            return [
                {
                    **event,
                    "key": f"{self._name}:{self._prefix}{number}",
                    "at": at + (number - first) * TICK,
                    "meta": {self._label: self._prefix, self._name: {**event["meta"], "number": number}},
                }
                for number, event in enumerate(decide(), first)
            ]

        write_in_turn(self.memory, f"session {self.session}", attempt, alone=True)

    def _event_of(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Store an item in the meta of its text; a large one, such as a tool result, becomes the text itself."""
        kept = self._redactor.json(item)
        said = self._said(kept)
        event = {
            "role": said.role,
            "speaker": said.speaker or self._names.get(said.role) or said.role,
            "session": self.session,
        }
        written = to_json_text(kept)  # text, because meta does not keep the order of members
        if not fits_in_meta(kept):
            return {**event, "text": written, "meta": {"do": "add"}}
        return {**event, "text": self._redactor.text(said.text), "meta": {"do": "add", "item": written}}

    def _change(self, text: str, **meaning: Json) -> dict[str, Any]:
        return own_event(self._name, self.session, text, meaning)

    def _entry(self, event: Event) -> dict[str, Json]:
        return cast("dict[str, Json]", event.meta[self._name])
