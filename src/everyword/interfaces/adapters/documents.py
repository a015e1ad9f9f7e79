"""What adapters build on: keyed documents with versions, a ledger of changes, and redaction.

Each version of a document is an event in the document's own session, so that the newest is found quickly, old ones stay
readable, and `forget` removes all of them. A deletion is a version too. Two writers of one document take different
version numbers. Labels, such as the owner of a document, are stored in `meta`, where recall can filter by them; other
filters are checked document by document. Recall drops hits with the same text, so search looks for such twins itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any, TypeVar, cast

from everyword.errors import KeyConflict, StoreBusy
from everyword.memory import Memory
from everyword.types.events import Event, Hit, Json
from everyword.types.trust import Source

_MOST_META_BYTES = 128 * 1024  # half of the limit of a memory
_MOST_RACES = 100  # lost in a row; each loss is the success of another writer
_HITS = (50, 1_000)  # recalled at first, and if too few of these are current and wanted
_MOST_TWINS = 5_000  # events that are searched for documents with the same text as a hit
_MOST_RANKED = 100  # documents beyond the hits, each ranked by a recall of its own
_RANKED_BY = ("late", "vectors", "words")  # stages whose scores do not depend on other hits, the best first
_LABEL_CHARS = 100  # longer values are text, not labels
_LABEL_NAME = re.compile(r"[A-Za-z0-9_ .:/-]{1,100}")  # allowed as a JSON key in every database
_MOST_LABELS = 32  # of one document


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The current version of a document."""

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
        """Store documents under a name; said_by_others: they are quotes, and their speaker is a person."""
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
        """Delete a document and keep its versions in the log; tell whether it existed."""
        known = self.get(key)
        if known is not None:
            self._append(key, f"Deleted {key}", {"deleted": True}, known.event.wing, "tool", None)
        return known is not None

    def get(self, key: str) -> Document | None:
        """Read the current version of a document."""
        versions = self.versions(key)
        return self._document(versions) if versions else None

    def versions(self, key: str) -> list[Event]:
        """Read every version, oldest first, including deletions."""
        found = [event for event in self.memory.events(session=self._session(key)) if self._entry(event) is not None]
        return sorted(found, key=self._number)

    def each(self, *, wing: str | None = None) -> Iterator[Document]:
        """Go through the current versions of all documents, last changed first."""
        seen: set[str] = set()
        for event in self.memory.events(speaker=self._speaker, wing=wing, newest_first=True):
            entry = self._entry(event)
            if entry is None or entry["key"] in seen:
                continue
            seen.add(entry["key"])
            known = self.get(entry["key"])
            if known is not None:
                yield known

    def ids(self) -> list[str]:
        """List the event ids of all versions of all documents."""
        return [event.id for event in self.memory.events(speaker=self._speaker) if self._entry(event) is not None]

    def search(
        self,
        query: str,
        *,
        wing: str | None = None,
        labels: Mapping[str, Json] | None = None,
        scope: Mapping[str, Json] | None = None,
        meets: Callable[[Document], bool] = lambda _: True,
    ) -> Iterator[Document]:
        """Find documents by their current text, best first.

        meets: a filter. scope: labels that every version of a wanted document has. labels: labels that the current
        version has. Documents without these labels come later; those that recall did not return come last, with a
        score of 0.
        """
        seen: set[str] = set()
        by_text: dict[str, float] = {}
        wanted = self._labelled({**(scope or {}), **(labels or {})})
        for one in self._among(self._hits(query, wing, wanted), seen, meets):
            by_text.setdefault(one.text, one.score or 0.0)
            yield one
        crowded = len(seen) >= _HITS[-1]
        yield from self._among(self._hits_without(query, wing, wanted), seen, meets)
        if crowded or by_text:
            rest = self._unseen(wing, scope or {}, seen, meets, most=None if crowded else _MOST_TWINS)
            yield from self._rest(query, rest, by_text, crowded=crowded)

    def _among(self, hits: Iterable[Hit], seen: set[str], meets: Callable[[Document], bool]) -> Iterator[Document]:
        for hit in hits:
            entry = self._entry(hit.event)
            if hit.event.id in seen:
                continue
            seen.add(hit.event.id)
            known = None if entry is None else self.get(entry["key"])
            # Skip old versions.
            if known is not None and known.event.id == hit.event.id and meets(known):
                yield replace(known, score=hit.score)

    def _hits(self, query: str, wing: str | None, wanted: Mapping[str, Json]) -> Iterator[Hit]:
        for count in _HITS:
            found = self.memory.recall(query, k=count, speaker=self._speaker, wing=wing, meta=wanted or None)
            yield from found
            if len(found) < count:
                break

    def _hits_without(self, query: str, wing: str | None, wanted: Mapping[str, Json]) -> Iterator[Hit]:
        """Find documents that were written without the labels."""
        if wanted:
            for hit in self.memory.recall(query, k=_HITS[-1], speaker=self._speaker, wing=wing):
                if not wanted.keys() <= hit.event.meta.keys():
                    yield hit

    def _rest(
        self, query: str, unseen: Iterator[Document], by_text: Mapping[str, float], *, crowded: bool
    ) -> Iterator[Document]:
        """Return documents with the same text as a hit; then, if recall was full, the remaining ones, best first."""
        left: list[Document] = []
        twins: list[Document] = []
        for known in unseen:
            if known.text in by_text:
                twins.append(replace(known, score=by_text[known.text]))
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
            entry = self._entry(event)
            if entry is None or entry["key"] in keys:
                continue
            keys.add(entry["key"])
            if event.id in seen:
                continue
            # A first version has everything to filter by. Whether it is current is checked only if it passes.
            alone = self._document([event]) if self._number(event) == 1 else self.get(entry["key"])
            if alone is not None and meets(alone):
                known = self.get(entry["key"])
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
                # Documents are written by the application or its agent, not by a tool.
                "source": Source.ASSISTANT if role == "tool" else None,
                "wing": wing,
                "meta": {self.name: {"key": key, "number": number, **meaning}, **(labels or {})},
            }
            try:
                # The adapter has redacted the values; the keys of documents must stay intact.
                written = self.memory.add_many([event], redact="none")[0]
            except KeyConflict:
                continue
            if written.new or written.event.meta == event["meta"]:
                return written.event
        raise StoreBusy(f"Too many concurrent changes of {key}.", fix="Try again.")

    def _document(self, versions: list[Event]) -> Document | None:
        last = versions[-1]
        entry = self._entry(last) or {}
        if entry.get("deleted"):
            return None
        gone = [place for place, event in enumerate(versions) if (self._entry(event) or {}).get("deleted")]
        return Document(
            key=entry["key"],
            text=last.text,
            body=entry.get("body", {}),
            created_at=versions[gone[-1] + 1 if gone else 0].at,
            updated_at=last.at,
            event=last,
        )

    def _entry(self, event: Event) -> dict[str, Any] | None:
        entry: Any = event.meta.get(self.name)
        return cast("dict[str, Any]", entry) if isinstance(entry, dict) and "key" in entry else None

    def _number(self, event: Event) -> int:
        number: Any = (self._entry(event) or {}).get("number")
        return number if isinstance(number, int) else 0

    def _labelled(self, labels: Mapping[str, Json]) -> dict[str, Json]:
        return {f"{self.name}.{name}": value for name, value in labels.items()}

    def _session(self, key: str) -> str:
        return f"{self.name}:{key}"


def labels_of(kind: str, values: Mapping[str, Any]) -> dict[str, Json]:
    """Make labels of values that filters can compare: short strings, numbers and booleans."""
    fit = [(name, value) for name, value in values.items() if _LABEL_NAME.fullmatch(name) and _is_label(value)]
    # 2.0 becomes 2, because some databases compare the written form.
    whole = [(name, int(value) if isinstance(value, float) and value.is_integer() else value) for name, value in fit]
    return {f"{kind}.{name}": value for name, value in whole[:_MOST_LABELS]}


def _is_label(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= _LABEL_CHARS
    return isinstance(value, int | float) and isfinite(value)


def fits_in_meta(value: Mapping[str, Any]) -> bool:
    """Tell whether JSON fits into the meta of an event; larger JSON becomes the text of the event."""
    try:
        return len(json.dumps(dict(value))) <= _MOST_META_BYTES
    except (TypeError, ValueError, RecursionError):
        return True  # the memory will reject it with a reason


def to_json_text(value: Any) -> str:
    """Write JSON without escapes, so that recall finds its words."""
    return json.dumps(value, ensure_ascii=False, default=str)


class Redactor:
    """Removes secrets, at the level of the memory or another."""

    def __init__(self, memory: Memory, *, redact: str | None) -> None:
        self._memory = memory
        self._redact = redact

    def text(self, text: str) -> str:
        """Redact a text."""
        return self._memory.admin.redacted({"text": text}, redact=self._redact)["text"]

    def json(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Redact the strings of a JSON object."""
        return self._memory.admin.redacted({"meta": dict(value)}, redact=self._redact)["meta"]


R = TypeVar("R")



@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change to append: text for people and recall, and its meaning for the adapter."""

    text: str
    session: str
    meaning: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A change that was appended."""

    number: int
    event: Event
    meaning: Mapping[str, Json]


class Ledger:
    """An append-only list of changes under one name. The state of an adapter is the fold of its changes."""

    def __init__(self, memory: Memory, name: str, *, wing: str | None = None) -> None:
        self.memory = memory if wing is None else memory.wing(wing)
        self.name = name
        # Keys are unique in a space, so each wing has its own numbers.
        self._prefix = f"{name}/" if wing is None else f"{name}/{wing}/"

    def entries(self) -> list[Entry]:
        """Read all changes in order. Forgotten ones leave gaps in the numbers."""
        found: list[Entry] = []
        for event in self.memory.events(speaker=self.name):
            number = self._number(event)
            meaning = event.meta.get(self.name)
            if number is not None and isinstance(meaning, dict):
                found.append(Entry(number=number, event=event, meaning=meaning))  # pyright: ignore[reportUnknownArgumentType]
        return sorted(found, key=lambda entry: entry.number)

    def append(self, decide: Callable[[Sequence[Entry]], tuple[Sequence[Change], R]]) -> R:
        """Append what `decide` returns for all changes so far; call it again if another writer was faster."""
        taken = 0
        for _ in range(_MOST_RACES):
            entries = self.entries()
            changes, result = decide(entries)
            # An event that this handle can't see may have taken the key, so the number also rises by itself.
            taken = max(taken, entries[-1].number if entries else 0)
            if not changes or self._written(changes, taken + 1):
                return result
            taken += 1
        raise StoreBusy(f"Too many concurrent changes of {self.name}.", fix="Try again.")

    def _written(self, changes: Sequence[Change], first: int) -> bool:
        events: list[dict[str, Json]] = [
            {
                "text": change.text,
                "key": f"{self._prefix}{number}",
                "session": change.session,
                "speaker": self.name,
                "role": "tool",
                "source": Source.ASSISTANT,
                "meta": {self.name: dict(change.meaning)},
            }
            for number, change in enumerate(changes, first)
        ]
        try:
            # The adapter has redacted the values; names and numbers of changes must stay intact.
            batch = self.memory.add_many(events, redact="none")
        except KeyConflict:
            return False
        # An event with the same key and text is a conflict unless its meaning is the same too.
        return all(
            written.new or written.event.meta == event["meta"] for written, event in zip(batch, events, strict=True)
        )

    def _number(self, event: Event) -> int | None:
        if event.key is None or not event.key.startswith(self._prefix):
            return None
        written = event.key[len(self._prefix) :]
        return int(written) if written.isascii() and written.isdigit() else None
