"""The file of MCP's reference memory server, `memory.jsonl`: one event per observation and relation."""

from __future__ import annotations

from collections.abc import Iterator

from everyword.ingest.importers.records import Item, Position, as_list, as_text, digest, item, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, each_json_line, first_records
from everyword.types.events import Json

NAME = "mcp-memory"
GROWS = False  # the server writes the whole file again
SUFFIXES = (".jsonl", ".json")

_SESSION = "knowledge-graph"  # as the reference server's tools here name theirs


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    signs = {"entityType", "relationType"}
    return 0.95 if any("type" in record and signs & record.keys() for record in first_records(source, part)) else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read entities with their observations, and relations."""
    modified = source.modified(part)

    def items_of(record: dict[str, Json], line: Line) -> Iterator[Item]:
        where = f"{part}, line {line.number}"
        texts, about = _texts(record)
        if not texts:
            yield skipped("neither an entity nor a relation", where, record)
        for text in texts:
            yield item(
                text,
                key=f"{NAME}:{digest(text)}",
                where=where,
                source={"format": NAME, **about},
                otherwise_at=modified,
                session=_SESSION,
                role="memory",
            )

    return each_json_line(source, part, after, items_of)


def _texts(record: dict[str, Json]) -> tuple[list[str], dict[str, Json]]:
    if record.get("type") == "entity" and as_text(record.get("name")):
        name, kind = as_text(record["name"]), as_text(record.get("entityType"))
        observed = [f"{name}: {text}" for text in map(as_text, as_list(record.get("observations"))) if text]
        return [f"{name} ({kind})" if kind else name, *observed], {"entity": name}
    ends = [as_text(record.get(member)) for member in ("from", "relationType", "to")]
    return ([" ".join(ends)], {"relation": ends[1]}) if record.get("type") == "relation" and all(ends) else ([], {})
