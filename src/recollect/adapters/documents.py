"""Documents on a log: keyed, versioned, deletable, for interfaces that put, get and delete.

Each version is an event of the document's own session, so that the newest is found at once, old ones stay readable, and
`forget` removes all of them. Deleting is a version too. Two writers of one document take different version numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from recollect.core.errors import KeyConflict, StoreBusy
from recollect.core.values import Event, Json
from recollect.memory import Memory

_MOST_RACES = 100  # lost in a row: each loss is another's success
_WIDER = 4  # hits asked for, for each document wanted: some are old versions, deleted, or filtered out
_MOST_HITS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it is now."""

    key: str
    text: str
    body: Mapping[str, Json]
    created_at: datetime
    updated_at: datetime
    event: Event
    score: float | None = None


class Documents:
    """The documents of one adapter in a memory."""

    def __init__(self, memory: Memory, name: str, *, said_by_others: bool = False) -> None:
        """Keep documents under a name; said_by_others: they are words of persons, who are their speakers."""
        self.memory = memory
        self.name = name
        self._speaker = None if said_by_others else name

    def put(
        self,
        key: str,
        text: str,
        body: Mapping[str, Json],
        *,
        wing: str | None = None,
        role: str = "tool",
        speaker: str | None = None,
    ) -> Event:
        """Write a new version."""
        return self._append(key, text, {"body": dict(body)}, wing, role, speaker)

    def delete(self, key: str) -> bool:
        """Take a document away; its versions stay in the log. Tell whether it was there."""
        known = self.get(key)
        if known is not None:
            self._append(key, f"Deleted {key}", {"deleted": True}, known.event.wing, "tool", None)
        return known is not None

    def get(self, key: str) -> Document | None:
        """Read a document as it is now."""
        versions = self.versions(key)
        return self._document(versions) if versions else None

    def versions(self, key: str) -> list[Event]:
        """Read every version, the oldest first, deletions too."""
        found = [event for event in self.memory.events(session=self._session(key)) if self._said(event) is not None]
        return sorted(found, key=self._number)

    def each(self, *, wing: str | None = None) -> Iterator[Document]:
        """Go through all documents as they are now, the last changed first."""
        seen: set[str] = set()
        for event in self.memory.events(speaker=self._speaker, wing=wing, newest_first=True):
            said = self._said(event)
            if said is None or said["key"] in seen:
                continue
            seen.add(said["key"])
            known = self.get(said["key"])
            if known is not None:
                yield known

    def ids(self) -> list[str]:
        """Name the events of all documents, in all versions."""
        return [event.id for event in self.memory.events(speaker=self._speaker) if self._said(event) is not None]

    def search(self, query: str, *, limit: int, wing: str | None = None) -> Iterator[Document]:
        """Find documents by what they say now, best first."""
        seen: set[str] = set()
        wanted = min(_MOST_HITS, max(1, limit) * _WIDER)
        for hit in self.memory.recall(query, k=wanted, speaker=self._speaker, wing=wing):
            said = self._said(hit.event)
            if said is None or said["key"] in seen:
                continue
            known = self.get(said["key"])
            if known is not None and known.event.id == hit.event.id:  # an old version says what is no longer so
                seen.add(known.key)
                yield _scored(known, hit.score)

    def _append(
        self, key: str, text: str, meaning: Mapping[str, Json], wing: str | None, role: str, speaker: str | None
    ) -> Event:
        number = len(self.versions(key))
        for _ in range(_MOST_RACES):
            number += 1
            event: dict[str, Json] = {
                "text": text,
                "key": f"{self._session(key)}#{number}",
                "session": self._session(key),
                "speaker": self._speaker or speaker or self.name,
                "role": role,
                "wing": wing,
                "meta": {self.name: {"key": key, "number": number, **meaning}},
            }
            try:
                written = self.memory.add_many([event])[0]
            except KeyConflict:
                continue
            if written.new or written.event.meta == event["meta"]:
                return written.event
        raise StoreBusy(f"Others change {key} all the time.", fix="Try again.")

    def _document(self, versions: list[Event]) -> Document | None:
        last = versions[-1]
        said = self._said(last) or {}
        if said.get("deleted"):
            return None
        gone = [place for place, event in enumerate(versions) if (self._said(event) or {}).get("deleted")]
        return Document(
            key=said["key"],
            text=last.text,
            body=said.get("body", {}),
            created_at=versions[gone[-1] + 1 if gone else 0].at,
            updated_at=last.at,
            event=last,
        )

    def _said(self, event: Event) -> dict[str, Any] | None:
        said: Any = event.meta.get(self.name)
        return cast("dict[str, Any]", said) if isinstance(said, dict) and "key" in said else None

    def _number(self, event: Event) -> int:
        number: Any = (self._said(event) or {}).get("number")
        return number if isinstance(number, int) else 0

    def _session(self, key: str) -> str:
        return f"{self.name}:{key}"


def _scored(document: Document, score: float) -> Document:
    return Document(
        key=document.key,
        text=document.text,
        body=document.body,
        created_at=document.created_at,
        updated_at=document.updated_at,
        event=document.event,
        score=score,
    )
