"""Documents on a log: keyed, versioned, deletable, for interfaces that put, get and delete.

Each version is an event of the document's own session, so that the newest is found at once, old ones stay readable, and
`forget` removes all of them. Deleting is a version too. Two writers of one document take different version numbers.
Labels, such as whose a document is, stand beside it for recall: those of others can't crowd it out of what is found.
What filters ask beyond labels is asked of each document; where recall had no room for all of them, of the rest too. Two
documents may say the same, which recall tells once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any, cast

from recollect.core.errors import KeyConflict, StoreBusy
from recollect.core.trust import Source
from recollect.core.values import Event, Hit, Json
from recollect.memory import Memory

# Bytes of JSON that stand beside a text: half of what a memory takes.
_MOST_BESIDE = 128 * 1024
_MOST_RACES = 100  # lost in a row: each loss is another's success
_HITS = (50, 1_000)  # asked for at first, and where too many of those are old versions, deleted, or of no use
_MOST_TWINS = 5_000  # events that are looked through for documents which say what a hit says
_MOST_RANKED = 100  # documents that recall had no room for, each ranked by a question of its own
_RANKED_BY = ("late", "vectors", "words")  # stages whose scores do not depend on what else was found; the best first
_LABEL_CHARS = 100  # of a value that is a label: what is longer is words, and no mark to filter by
_LABEL_NAME = re.compile(r"[A-Za-z0-9_ .:/-]{1,100}")  # what every database takes for the name of a member
_MOST_LABELS = 32  # of one document


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
        labels: Mapping[str, Json] | None = None,
    ) -> Event:
        """Write a new version."""
        return self._append(key, text, {"body": dict(body)}, wing, role, speaker, self._labelled(labels or {}))

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
        self,
        query: str,
        *,
        wing: str | None = None,
        labels: Mapping[str, Json] | None = None,
        scope: Mapping[str, Json] | None = None,
        meets: Callable[[Document], bool] = lambda _: True,
    ) -> Iterator[Document]:
        """Find documents by what they say now, best first; meets: those that are wanted.

        labels: what those have beside them, of which `scope` is what every version has. Documents that were written
        without, as all once were, are found later. What recall had no room for comes last, with a score of 0.
        """
        seen: set[str] = set()
        told: dict[str, float] = {}
        wanted = self._labelled({**(scope or {}), **(labels or {})})
        for one in self._among(self._hits(query, wing, wanted), seen, meets):
            told.setdefault(one.text, one.score or 0.0)
            yield one
        crowded = len(seen) >= _HITS[-1]
        yield from self._among(self._hits_without(query, wing, wanted), seen, meets)
        if crowded or told:
            rest = self._unseen(wing, scope or {}, seen, meets, most=None if crowded else _MOST_TWINS)
            yield from self._rest(query, rest, told, crowded=crowded)

    def _among(self, hits: Iterable[Hit], seen: set[str], meets: Callable[[Document], bool]) -> Iterator[Document]:
        for hit in hits:
            said = self._said(hit.event)
            if hit.event.id in seen:
                continue
            seen.add(hit.event.id)
            known = None if said is None else self.get(said["key"])
            # An old version says what is no longer so.
            if known is not None and known.event.id == hit.event.id and meets(known):
                yield replace(known, score=hit.score)

    def _hits(self, query: str, wing: str | None, wanted: Mapping[str, Json]) -> Iterator[Hit]:
        for count in _HITS:
            found = self.memory.recall(query, k=count, speaker=self._speaker, wing=wing, meta=wanted or None)
            yield from found
            if len(found) < count:
                break

    def _hits_without(self, query: str, wing: str | None, wanted: Mapping[str, Json]) -> Iterator[Hit]:
        """Find what was written when nobody labelled it so."""
        if wanted:
            for hit in self.memory.recall(query, k=_HITS[-1], speaker=self._speaker, wing=wing):
                if not wanted.keys() <= hit.event.meta.keys():
                    yield hit

    def _rest(
        self, query: str, unseen: Iterator[Document], told: Mapping[str, float], *, crowded: bool
    ) -> Iterator[Document]:
        """Give what says the same as a hit; then, where it was crowded out by others, what is left, the best first."""
        left: list[Document] = []
        twins: list[Document] = []
        for known in unseen:
            if known.text in told:
                twins.append(replace(known, score=told[known.text]))
            elif crowded:
                left.append(replace(known, score=0.0))
        yield from sorted(twins, key=lambda one: one.score or 0.0, reverse=True)
        yield from self._ranked(query, left[:_MOST_RANKED])
        yield from left[_MOST_RANKED:]

    def _ranked(self, query: str, several: Iterable[Document]) -> list[Document]:
        ranked: list[tuple[tuple[float, ...], Document]] = []
        for known in several:
            found = self.memory.recall(query, k=_HITS[0], session=known.event.session)
            scores = {one.stage: one.score for hit in found if hit.event.id == known.event.id for one in hit.scores}
            ranked.append((tuple(scores.get(stage, 0.0) for stage in _RANKED_BY), known))
        return [known for _, known in sorted(ranked, key=lambda one: one[0], reverse=True)]

    def _unseen(
        self,
        wing: str | None,
        scope: Mapping[str, Json],
        seen: set[str],
        meets: Callable[[Document], bool],
        *,
        most: int | None,
    ) -> Iterator[Document]:
        keys: set[str] = set()
        meta = self._labelled(scope) or None
        for event in self.memory.events(speaker=self._speaker, wing=wing, meta=meta, newest_first=True, limit=most):
            said = self._said(event)
            if said is None or said["key"] in keys:
                continue
            keys.add(said["key"])
            if event.id in seen:
                continue
            # A first version tells all by itself; whether it is the last one too is asked only where it is wanted.
            alone = self._document([event]) if self._number(event) == 1 else self.get(said["key"])
            if alone is not None and meets(alone):
                known = self.get(said["key"])
                if known is not None and known.event.id == event.id:
                    yield known

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
                # The application or its agent writes documents; no tool speaks in them.
                "source": Source.ASSISTANT if role == "tool" else None,
                "wing": wing,
                "meta": {self.name: {"key": key, "number": number, **meaning}, **(labels or {})},
            }
            try:
                # The adapter cleaned the values; keys that it finds its documents by must stay.
                written = self.memory.add_many([event], redact="none")[0]
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

    def _labelled(self, labels: Mapping[str, Json]) -> dict[str, Json]:
        return {f"{self.name}.{name}": value for name, value in labels.items()}

    def _session(self, key: str) -> str:
        return f"{self.name}:{key}"


def labels_of(kind: str, values: Mapping[str, Any]) -> dict[str, Json]:
    """Make labels of the values that filters ask for: numbers, names, yes and no."""
    fit = [(name, value) for name, value in values.items() if _LABEL_NAME.fullmatch(name) and _is_label(value)]
    # A number is the same with a point and without, also to a database that compares what is written.
    whole = [(name, int(value) if isinstance(value, float) and value.is_integer() else value) for name, value in fit]
    return {f"{kind}.{name}": value for name, value in whole[:_MOST_LABELS]}


def _is_label(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LABEL_CHARS
    return isinstance(value, int | float) and isfinite(value)


def fits_beside(value: Mapping[str, Any]) -> bool:
    """Tell whether JSON can stand beside a text; what is larger is kept as the text itself."""
    try:
        return len(json.dumps(dict(value))) <= _MOST_BESIDE
    except (TypeError, ValueError, RecursionError):
        return True  # the memory will refuse it, with the reason


def written(value: Any) -> str:
    """Write JSON in the letters of its own language, so that its words are found."""
    return json.dumps(value, ensure_ascii=False, default=str)
