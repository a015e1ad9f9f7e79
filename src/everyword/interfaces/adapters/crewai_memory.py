# pyright: basic, reportMissingImports=false
"""CrewAI's memory on a memory.

Records are kept as they are: no LLM splits, merges or rates them, and no embedder of CrewAI is called. Each version of
a record is an event, so `recall` finds it, and `forget` of Everyword removes it for good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, cast

from everyword.extras import optional
from everyword.interfaces.adapters.documents import AnyMemory, Document, Documents, NewVersion, Redactor, Where, levels

with optional("crewai"):
    from crewai import Memory
    from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo

__all__ = ["EverywordMemory"]


class EverywordMemory(Memory):
    """Stores and finds records in a memory; scopes, categories and privacy are as in CrewAI."""

    def __init__(self, memory: AnyMemory, *, redact: str | None = None, **options: Any) -> None:
        """Take a memory. options: of CrewAI's `Memory`, such as root_scope or read_only."""
        records = cast("Any", _Records(memory, redact))
        super().__init__(storage=records, embedder=lambda texts: [[] for _ in texts], **options)

    def remember(self, content: str, *options: Any, **named: Any) -> MemoryRecord | None:
        """Store a text, with the options of `remember_many`."""
        stored = self.remember_many([content], *options, **named)
        return stored[0] if stored else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Store texts, all of them or none, before the call returns."""
        root = self.root_scope if root_scope is None else root_scope
        now = datetime.now(UTC).replace(tzinfo=None)  # CrewAI's times are UTC without a zone
        records = [
            MemoryRecord(
                content=content,
                scope=_path(f"{root or ''}/{scope or ''}"),
                categories=categories or [],
                metadata={**(metadata or {}), **({"agent": agent_role} if agent_role else {})},
                importance=self.default_importance if importance is None else importance,
                source=source,
                private=private,
                created_at=now,
                last_accessed=now,
            )
            for content in contents
            if content.strip() and not self.read_only
        ]
        self._storage.save(records)
        return records

    def extract_memories(self, content: str) -> list[str]:
        """Keep a text whole: what it states is read from it later, with its quote."""
        return [content] if content.strip() else []

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Find records that answer a query, best first; `depth` makes no difference."""

        def wanted(record: MemoryRecord) -> bool:
            visible = include_private or not record.private or (source is not None and record.source == source)
            return visible and (not categories or bool(set(categories) & set(record.categories)))

        if not query.strip():
            return []
        records = cast("_Records", self._storage)
        found = records.find(query, _path(f"{self.root_scope or ''}/{scope or ''}"), wanted)
        return [MemoryMatch(record=record, score=score) for record, score in islice(found, limit)]


class _Records:
    """What CrewAI's memory asks of its storage, beside search by vector: records as keyed documents."""

    def __init__(self, memory: AnyMemory, redact: str | None) -> None:
        self._documents = Documents(memory, "crewai")
        self._redactor = Redactor(memory, redact=redact)

    def __deepcopy__(self, memo: Any) -> _Records:
        return self  # copies of a crew share the memory

    def save(self, records: list[MemoryRecord]) -> None:
        self._documents.write([self._draft(record) for record in records])

    def update(self, record: MemoryRecord) -> None:
        self.save([record])

    def find(
        self, query: str | None, scope: str | None, wanted: Callable[[MemoryRecord], bool] = lambda _: True
    ) -> Iterable[tuple[MemoryRecord, float]]:
        """Go through the records of a scope: the best for a query first, or the newest."""
        where = Where(labels=levels(_parts(scope)), meets=lambda one: wanted(_record(one)))
        for one in self._documents.find(where, query):
            yield _record(one), one.score or 0.0

    def get_record(self, record_id: str) -> MemoryRecord | None:
        known = self._documents.get(record_id)
        return None if known is None else _record(known)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        found = sorted((record for record, _ in self.find(None, scope_prefix)), key=lambda one: one.created_at)
        return found[::-1][offset : offset + limit]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        def wanted(record: MemoryRecord) -> bool:
            return (
                (record_ids is None or record.id in record_ids)
                and (not categories or bool(set(categories) & set(record.categories)))
                and (older_than is None or record.created_at < older_than)
                and all(record.metadata.get(name) == value for name, value in (metadata_filter or {}).items())
            )

        gone = [record.id for record, _ in self.find(None, scope_prefix, wanted)]
        self._documents.delete(gone)
        return len(gone)

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self.find(None, scope_prefix))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return dict(Counter(name for record, _ in self.find(None, scope_prefix) for name in record.categories))

    def list_scopes(self, parent: str = "/") -> list[str]:
        depth = len(_parts(parent))
        paths = {tuple(_parts(record.scope)[: depth + 1]) for record, _ in self.find(None, parent)}
        return sorted("/" + "/".join(path) for path in paths if len(path) > depth)

    def get_scope_info(self, scope: str) -> ScopeInfo:
        times = [record.created_at for record, _ in self.find(None, scope)]
        return ScopeInfo(
            path=scope,
            record_count=len(times),
            categories=sorted(self.list_categories(scope)),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def _draft(self, record: MemoryRecord) -> NewVersion:
        body = self._redactor.json(record.model_dump(mode="json", exclude={"content"}))
        labels = levels(_parts(record.scope))
        return NewVersion(key=record.id, text=self._redactor.text(record.content), body=body, labels=labels)


def _record(document: Document) -> MemoryRecord:
    return MemoryRecord(**{**document.body, "id": document.key, "content": document.text})


def _path(scope: str) -> str:
    return "/" + "/".join(_parts(scope))


def _parts(scope: str | None) -> list[str]:
    return [part for part in (scope or "").split("/") if part]
