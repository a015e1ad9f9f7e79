"""The graph as one file for other programs: GraphML, or JSON."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from recollect.core.errors import BadLocation
from recollect.core.graph import ENTITY_PREFIX, Entity, Fact
from recollect.core.paths import beside
from recollect.core.private import private_opener
from recollect.core.values import Session

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NODE_KEYS = ("kind", "name", "type", "aliases", "events", "first_at", "last_at", "keys")
_EDGE_KEYS = ("relation", "valid_from", "valid_to", "confidence", "conflicts", "quotes", "events")


def write_graph(path: Path, entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]) -> int:
    """Write entities, facts and sessions, whole or not at all; the file's ending says how. Counts nodes and edges.

    Never overwrites.
    """
    nodes, edges = _nodes(entities, facts, sessions), _edges(entities, facts, sessions)
    if path.suffix.lower() == ".graphml":
        text = _graphml(nodes, edges)
    elif path.suffix.lower() == ".json":
        text = json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=True, indent=1) + "\n"
    else:
        raise BadLocation(f"{path} ends neither in .graphml nor in .json; choose one of these.")
    partial = beside(path)
    try:
        if path.exists():
            raise BadLocation(f"{path} exists already; an export never overwrites. Choose another name.")
        with open(partial, "w", encoding="utf-8", errors="replace", newline="\n", opener=private_opener) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error}).") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return len(nodes) + len(edges)


def _nodes(entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = [
        {
            "id": one.id,
            "kind": "entity",
            "name": one.name,
            "type": one.type.value,
            "aliases": list(one.aliases),
            "events": one.events,
            "first_at": _written(one.first_at),
            "last_at": _written(one.last_at),
        }
        for one in entities
    ]
    words = {fact.object: fact.object_name for fact in facts if not fact.object.startswith(ENTITY_PREFIX)}
    nodes += [{"id": f"words:{key}", "kind": "words", "name": name} for key, name in sorted(words.items())]
    nodes += [
        {
            "id": f"session:{one.name}",
            "kind": "session",
            "name": one.name,
            "events": one.events,
            "first_at": _written(one.first_at),
            "last_at": _written(one.last_at),
            "keys": list(one.keys),
        }
        for one in sessions
    ]
    return nodes


def _edges(entities: Sequence[Entity], facts: Sequence[Fact], sessions: Sequence[Session]) -> list[dict[str, Any]]:
    edges: list[dict[str, Any]] = [
        {
            "source": fact.subject,
            "target": fact.object if fact.object.startswith(ENTITY_PREFIX) else f"words:{fact.object}",
            "id": fact.id,
            "relation": fact.relation,
            "valid_from": _written(fact.valid_from),
            "valid_to": _written(fact.valid_to),
            "confidence": fact.confidence,
            "conflicts": fact.conflicts,
            "quotes": [source.quote for source in fact.sources],
            "events": [source.event_id for source in fact.sources],
        }
        for fact in facts
    ]
    ids = {one.name: one.id for one in entities}
    edges += [
        {"source": f"session:{one.name}", "target": ids[name], "relation": "speaks_of"}
        for one in sessions
        for name in one.entities
        if name in ids
    ]
    return edges


def _graphml(nodes: Iterable[dict[str, Any]], edges: Iterable[dict[str, Any]]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(f'<key id="n_{key}" for="node" attr.name="{key}" attr.type="string"/>' for key in _NODE_KEYS),
        *(f'<key id="e_{key}" for="edge" attr.name="{key}" attr.type="string"/>' for key in _EDGE_KEYS),
        '<graph edgedefault="directed">',
    ]
    lines += [f"<node id={_attribute(node['id'])}>{_data('n', _NODE_KEYS, node)}</node>" for node in nodes]
    for edge in edges:
        ends = f"source={_attribute(edge['source'])} target={_attribute(edge['target'])}"
        lines.append(f"<edge {ends}>{_data('e', _EDGE_KEYS, edge)}</edge>")
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _data(kind: str, keys: Sequence[str], held: dict[str, Any]) -> str:
    return "".join(
        f'<data key="{kind}_{key}">{_text(held[key])}</data>' for key in keys if held.get(key) not in (None, [], "")
    )


def _text(value: object) -> str:
    if isinstance(value, list):
        value = "\n".join(str(one) for one in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return escape(_NOT_IN_XML.sub("\ufffd", str(value)))


def _attribute(value: object) -> str:
    return quoteattr(_NOT_IN_XML.sub("\ufffd", str(value)))


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
