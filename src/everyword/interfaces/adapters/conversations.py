"""What adapters of chat histories build on: the items of a conversation, kept in a session of a memory.

An item is a JSON object of the framework, such as a message or a tool call. Each is an event with the item's own role
and speaker, so that what people say becomes statements and facts. Items come back unchanged except for secrets. Taking
an item back, or clearing the conversation, is an event too; reading goes backwards from the newest event, and so costs
as much as what is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from everyword.errors import KeyConflict, StoreBusy
from everyword.interfaces.adapters.documents import (
    MOST_RACES,
    TICK,
    AnyMemory,
    Redactor,
    as_memory,
    fits_in_meta,
    time_after,
    to_json_text,
    wing_of,
)
from everyword.types.events import Event, Json
from everyword.types.trust import Source

_NEAR = 20  # events read at first: most calls need a few

Item = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
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
        said: Callable[[Item], Said],
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
        if limit is not None and limit <= 0:
            return []
        found: list[Item] = []
        for _, item in self._standing(limit):
            found.append(item)
            if len(found) == limit:
                break
        return found[::-1]

    def _standing(self, wanted: int | None = 1) -> Iterator[tuple[int, Item]]:
        """Go through the items that are left and their numbers, the newest first."""
        taken_back: set[int] = set()
        for event in self._newest_first(wanted):
            entry = self._entry(event)
            number = cast("int", entry["number"])
            if entry["do"] == "clear":
                return
            if entry["do"] == "pop":
                taken_back.add(cast("int", entry["of"]))
            elif number not in taken_back:
                yield number, json.loads(cast("str", entry.get("item", event.text)))

    def _newest_first(self, wanted: int | None) -> Iterator[Event]:
        """Read events backwards: as many as are likely needed, then the others."""
        near = None if wanted is None else wanted + _NEAR
        last: Event | None = None
        for event in self._read(limit=near):
            yield event
            last = event
        if near is not None and last is not None:
            yield from self._read(limit=None, before=last)

    def _read(self, *, limit: int | None, before: Event | None = None) -> Iterator[Event]:
        return self.memory.events(
            session=self.session,
            meta={self._label: self._prefix},
            until=None if before is None else before.at,  # each event has its own time
            newest_first=True,
            limit=limit,
        )

    # Writing

    def add(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Append items, all of them or none."""
        if items:
            self._append([self._event_of(item) for item in items])

    def pop(self) -> Item | None:
        """Remove and return the last item; it stays in the log."""
        for newest, taken in self._races():
            last = next(self._standing(), None)
            if last is None:
                return None
            number, item = last
            # Fails if anything was written since: the last item may be another one.
            if self._written([self._change("Took back the last item.", {"do": "pop", "of": number})], newest, taken):
                return item
        raise self._busy()

    def clear(self) -> None:
        """Remove all items; they stay in the log until they are forgotten."""
        if next(self._standing(), None) is not None:
            self._append([self._change("Cleared the session.", {"do": "clear"})])

    def _append(self, events: Sequence[dict[str, Any]]) -> None:
        for newest, taken in self._races():
            if self._written(events, newest, taken):
                return
        raise self._busy()

    def _races(self) -> Iterator[tuple[Event | None, int]]:
        """Yield the newest event before each try, and how many numbers behind it are known to be taken.

        A number that is taken although no newer event is seen belongs to an event that this handle can't see.
        """
        before, taken = self._newest(), 0
        for _ in range(MOST_RACES):
            yield before, taken
            newest = self._newest()
            same = getattr(newest, "id", None) == getattr(before, "id", None)
            before, taken = newest, taken + 1 if same else 0

    def _busy(self) -> StoreBusy:
        return StoreBusy(f"Too many concurrent changes of session {self.session}.", fix="Try again.")

    def _newest(self) -> Event | None:
        return next(iter(self._read(limit=1)), None)

    def _written(self, events: Sequence[dict[str, Any]], newest: Event | None, taken: int) -> bool:
        """Write events behind the newest one; tell whether no other writer was faster."""
        first = 1 + taken + (0 if newest is None else cast("int", self._entry(newest)["number"]))
        at = time_after(self.memory, None if newest is None else newest.at)
        numbered: list[dict[str, Json]] = [
            {
                **event,
                "key": f"{self._name}:{self._prefix}{number}",
                "at": at + (number - first) * TICK,
                "meta": {self._label: self._prefix, self._name: {**event["meta"], "number": number}},
            }
            for number, event in enumerate(events, first)
        ]
        try:
            # The values were redacted before; the name of the session must stay intact.
            batch = self.memory.add_many(numbered, redact="none")
        except KeyConflict:
            return False
        return all(one.new for one in batch)

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

    def _change(self, text: str, meaning: Mapping[str, Json]) -> dict[str, Any]:
        return {
            "text": text,
            "session": self.session,
            "speaker": self._name,
            "role": "tool",
            "source": Source.ASSISTANT,
            "meta": dict(meaning),
        }

    def _entry(self, event: Event) -> dict[str, Json]:
        return cast("dict[str, Json]", event.meta[self._name])
