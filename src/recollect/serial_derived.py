"""What was derived as plain JSON data: entities and facts, summaries, concepts and their story."""

from __future__ import annotations

from datetime import datetime

from recollect.core.folding import Concept, ConceptEdge, ConceptView, Folded, Ground, JournalEntry
from recollect.core.graph import ENTITY_PREFIX, Entity, EntityEdit, Fact
from recollect.core.records import Record
from recollect.core.values import Json, Span, Theme


def entity_to_json(entity: Entity) -> dict[str, Json]:
    """Lay out an entity with its names."""
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type.value,
        "aliases": list(entity.aliases),
        "kin": [{"of": owner, "as": kin} for owner, kin in entity.kin],
        "events": entity.events,
        "first_at": moment_to_json(entity.first_at),
        "last_at": moment_to_json(entity.last_at),
    }


def fact_to_json(fact: Fact) -> dict[str, Json]:
    """Lay out a fact with its window and what it rests on."""
    return {
        "id": fact.id,
        "subject": fact.subject_name,
        "subject_id": fact.subject,
        "relation": fact.relation,
        "object": fact.object_name,
        "object_id": fact.object if fact.object.startswith(ENTITY_PREFIX) else None,
        "valid_from": moment_to_json(fact.valid_from),
        "valid_to": moment_to_json(fact.valid_to),
        "said_at": fact.said_at.isoformat(),
        "recorded_at": fact.recorded_at.isoformat(),
        "confidence": fact.confidence,
        "conflicts": fact.conflicts,
        "sources": [
            {"event_id": source.event_id, "span": span_to_json(source.span), "quote": source.quote}
            for source in fact.sources
        ],
    }


def edit_to_json(edit: EntityEdit) -> dict[str, Json]:
    """Lay out a merge or split by hand."""
    return {
        "number": edit.number,
        "at": edit.at.isoformat(),
        "kind": edit.kind,
        "what": edit.what,
        "undone": edit.undone,
    }


def record_to_json(record: Record) -> dict[str, Json]:
    """Lay out an edit."""
    return {
        "id": record.id,
        "kind": record.kind.value,
        "by": record.by,
        "at": record.at.isoformat(),
        "wing": record.wing,
        "text": record.text,
        "events": list(record.events),
        "details": dict(record.details),
    }


def theme_to_json(theme: Theme) -> dict[str, Json]:
    """Lay out a sentence of a session's summary."""
    return {
        "text": theme.text,
        "event_id": theme.event_id,
        "span": span_to_json(theme.span),
        "at": theme.at.isoformat(),
        "speaker": theme.speaker,
        "score": theme.score,
    }


def concept_to_json(concept: Concept) -> dict[str, Json]:
    """Lay out a concept."""
    return {
        "id": concept.id,
        "label": concept.label,
        "description": concept.description,
        "strength": concept.strength,
        "events": concept.events,
        "keys": list(concept.keys),
        "entities": list(concept.entities),
        "wings": list(concept.wings),
        "first_at": concept.first_at.isoformat(),
        "last_at": concept.last_at.isoformat(),
        "created_at": concept.created_at.isoformat(),
        "closed_at": moment_to_json(concept.closed_at),
        "merged_into": concept.merged_into,
        "written_by": concept.written_by,
    }


def concept_view_to_json(view: ConceptView) -> dict[str, Json]:
    """Lay out a concept with all that hangs on it."""
    return {
        "concept": concept_to_json(view.concept),
        "grounds": [ground_to_json(ground) for ground in view.grounds],
        "edges": [concept_edge_to_json(edge) for edge in view.edges],
        "journal": [entry_to_json(entry) for entry in view.journal],
    }


def ground_to_json(ground: Ground) -> dict[str, Json]:
    """Lay out an event's part in a concept."""
    return {
        "event_id": ground.event_id,
        "kind": ground.kind.value,
        "weight": ground.weight,
        "at": ground.at.isoformat(),
        "quote": ground.quote,
        "reason": ground.reason,
    }


def concept_edge_to_json(edge: ConceptEdge) -> dict[str, Json]:
    """Lay out an edge of the concept graph."""
    return {
        "source": edge.source,
        "target": edge.target,
        "kind": edge.kind.value,
        "weight": edge.weight,
        "created_at": edge.created_at.isoformat(),
        "supported_at": edge.supported_at.isoformat(),
        "closed_at": moment_to_json(edge.closed_at),
        "events": list(edge.events),
        "reason": edge.reason,
    }


def entry_to_json(entry: JournalEntry) -> dict[str, Json]:
    """Lay out a change of the concept graph."""
    return {
        "id": entry.id,
        "at": entry.at.isoformat(),
        "action": entry.action,
        "debt": entry.debt.value,
        "reason": entry.reason,
        "node_id": entry.node_id,
        "target_id": entry.target_id,
        "edge": entry.edge.value if entry.edge else None,
        "events": list(entry.events),
        "undone": entry.undone,
    }


def folded_to_json(folded: Folded) -> dict[str, Json]:
    """Lay out what a pass over the log did, or would do."""
    return {
        "events": folded.events,
        "waiting": folded.waiting,
        "dry_run": folded.dry_run,
        "counts": folded.counts,
        "entries": [entry_to_json(entry) for entry in folded.entries],
    }


def span_to_json(span: Span) -> list[int]:
    """Write a span as [start, end]."""
    return [span.start, span.end]


def moment_to_json(moment: datetime | None) -> str | None:
    """Write a moment, or null."""
    return None if moment is None else moment.isoformat()
