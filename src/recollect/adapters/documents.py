"""Documents on a log: keyed, versioned, deletable, for interfaces that put, get and delete.

Each version is an event of the document's own session, so that the newest is found at once, old ones stay readable, and
`forget` removes all of them. Deleting is a version too. Two writers of one document take different version numbers.
Labels, such as whose a document is, stand beside it for recall: those of others can't crowd it out of what is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from recollect.core.errors import KeyConflict, StoreBusy
from recollect.core.values import Event, Hit, Json
from recollect.memory import Memory

# Bytes of JSON that stand beside a text: half of what a memory takes.
_MOST_BESIDE = 128 * 1024
_MOST_RACES = 100  # lost in a row: each loss is another's success
_HITS = (50, 1_000)  # asked for at first, and where too many of those are old versions, deleted, or of no use


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
        labels: Mapping[str, str] | None = None,
    ) -> Event:
        """Write a new version."""
        meaning = {"body": dict(body), "labelled": True}
        return self._append(key, text, meaning, wing, role, speaker, self._labelled(labels or {}))

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

    def search(
        self, query: str, *, wing: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Iterator[Document]:
        """Find documents by what they say now, best first; labels: those that they must have.

        Documents that were written without labels, as all once were, are found last, whatever labels are asked for.
        """
        seen: set[str] = set()
        for hit in self._hits(query, wing, labels or {}):
            said = self._said(hit.event)
            if said is None or hit.event.id in seen:
                continue
            seen.add(hit.event.id)
            known = self.get(said["key"])
            if known is not None and known.event.id == hit.event.id:  # an old version says what is no longer so
                yield replace(known, score=hit.score)

    def _hits(self, query: str, wing: str | None, labels: Mapping[str, str]) -> Iterator[Hit]:
        for count in _HITS:
            found = self.memory.recall(
                query, k=count, speaker=self._speaker, wing=wing, meta=self._labelled(labels) or None
            )
            yield from found
            if len(found) < count:
                break
        if labels:
            for hit in self.memory.recall(query, k=_HITS[-1], speaker=self._speaker, wing=wing):
                if not (self._said(hit.event) or {}).get("labelled"):
                    yield hit

    def _append(
        self,
        key: str,
        text: str,
        meaning: Mapping[str, Json],
        wing: str | None,
        role: str,
        speaker: str | None,
        labels: Mapping[str, Json] | None = None,
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
                "meta": {self.name: {"key": key, "number": number, **meaning}, **(labels or {})},
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

    def _labelled(self, labels: Mapping[str, str]) -> dict[str, Json]:
        return {f"{self.name}.{name}": value for name, value in labels.items()}

    def _session(self, key: str) -> str:
        return f"{self.name}:{key}"


def fits_beside(value: Mapping[str, Any]) -> bool:
    """Tell whether JSON can stand beside a text; what is larger is kept as the text itself."""
    try:
        return len(json.dumps(dict(value))) <= _MOST_BESIDE
    except (TypeError, ValueError, RecursionError):
        return True  # the memory will refuse it, with the reason


def written(value: Any) -> str:
    """Write JSON in the letters of its own language, so that its words are found."""
    return json.dumps(value, ensure_ascii=False, default=str)
