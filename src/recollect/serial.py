"""Values as plain JSON data, the same on every surface: one function for each type that a caller gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any, cast

from recollect.capture.jsonl import event_to_json
from recollect.core.activity import Activity
from recollect.core.artifacts import Artifact, History
from recollect.core.attention import (
    Belief,
    Closet,
    Drawer,
    Evidence,
    Hall,
    Intent,
    Palace,
    PalaceWing,
    Room,
    Tunnel,
    Window,
    WindowItem,
)
from recollect.core.chart import Map, MapEdge, MapNode
from recollect.core.errors import RecollectError
from recollect.core.feed import Feed, News, Waiting, Webhook
from recollect.core.folding import Concept, ConceptEdge, ConceptView, Folded, Ground, JournalEntry
from recollect.core.graph import Entity, EntityEdit, Fact
from recollect.core.keys import ApiKey
from recollect.core.layers import Identity, Told, WakeUp
from recollect.core.records import Record
from recollect.core.values import (
    Answer,
    Change,
    Citation,
    Context,
    Event,
    Hit,
    Hits,
    Imported,
    Json,
    Problem,
    Receipt,
    Report,
    Score,
    Session,
    Span,
    Stats,
    Theme,
    Written,
)
from recollect.serial_derived import (
    concept_edge_to_json,
    concept_to_json,
    concept_view_to_json,
    edit_to_json,
    entity_to_json,
    entry_to_json,
    fact_to_json,
    folded_to_json,
    ground_to_json,
    moment_to_json,
    record_to_json,
    span_to_json,
    theme_to_json,
)


def plain(value: object) -> Json:
    """Lay any result of a memory out as what JSON can hold."""
    write = _WRITERS.get(type(value))
    if write is not None:
        return write(value)
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Iterable):
        return [plain(one) for one in cast("Iterable[object]", value)]
    raise TypeError(f"{type(value).__name__} has no form in JSON.")


def written_to_json(written: Written) -> dict[str, Json]:
    """Say what became of one event."""
    event = event_to_json(written.event)
    return {"id": written.id, "new": written.new, "event": event, "redacted": dict(written.redacted)}


def imported_to_json(imported: Imported) -> dict[str, Json]:
    """Count what became of an import."""
    return {
        "format": imported.format,
        "read": imported.read,
        "added": imported.added,
        "known": imported.known,
        "differing": imported.differing,
        "skipped": dict(imported.skipped),
        "not_understood": list(imported.not_understood),
        "redacted": dict(imported.redacted),
        "files": imported.files,
        "unchanged": imported.unchanged,
    }


def hit_to_json(hit: Hit) -> dict[str, Json]:
    """Lay out a hit with where it matched and what each stage said."""
    return {
        "score": hit.score,
        "span": span_to_json(hit.span),
        "quote": hit.quote,
        "event": event_to_json(hit.event),
        "scores": [score_to_json(score) for score in hit.scores],
    }


def hits_to_json(hits: Hits) -> dict[str, Json]:
    """Lay out what a question found, and how sure it is that an answer is among it."""
    return {"hits": [hit_to_json(hit) for hit in hits], "confidence": hits.confidence}


def score_to_json(score: Score) -> dict[str, Json]:
    """Lay out what one stage said."""
    return {"stage": score.stage, "score": score.score, "rank": score.rank, "why": score.why}


def context_to_json(context: Context) -> dict[str, Json]:
    """Lay out a context with its citations."""
    return {
        "text": context.text,
        "tokens": context.tokens,
        "budget": context.budget,
        "tokenizer": context.tokenizer,
        "citations": [citation_to_json(citation) for citation in context.citations],
    }


def identity_to_json(identity: Identity) -> dict[str, Json]:
    """Lay out who the agent is."""
    return {
        "text": identity.text,
        "event_id": identity.event_id,
        "set_at": identity.set_at.isoformat(),
        "wing": identity.wing,
    }


def told_to_json(told: Told) -> dict[str, Json]:
    """Lay out one line of a wake-up with why it was chosen."""
    return {
        "layer": told.layer,
        "kind": told.kind,
        "text": told.text,
        "citation": citation_to_json(told.citation),
        "priority": told.priority,
        "reasons": [score_to_json(reason) for reason in told.reasons],
    }


def wake_up_to_json(woken: WakeUp) -> dict[str, Json]:
    """Lay out what an agent is told at its start."""
    return {
        **context_to_json(woken),
        "lines": [told_to_json(line) for line in woken.lines],
        "considered": woken.considered,
    }


def citation_to_json(citation: Citation) -> dict[str, Json]:
    """Lay out where a line comes from."""
    return {
        "mark": citation.mark,
        "event_id": citation.event_id,
        "key": citation.key,
        "span": span_to_json(citation.span),
    }


def answer_to_json(answer: Answer) -> dict[str, Json]:
    """Lay out an answer with what it rests on."""
    return {
        "question": answer.question,
        "answered": answer.answered,
        "text": answer.text,
        "citations": [citation_to_json(citation) for citation in answer.citations],
        "quotes": list(answer.quotes),
        "confidence": answer.confidence,
        "written_by": answer.written_by,
    }


def artifact_to_json(artifact: Artifact) -> dict[str, Json]:
    """Lay out a statement with its quote and its place in time."""
    date, slot = artifact.date, artifact.slot
    said = {"words": date.words, "certain": date.certain} if date else {}
    return {
        "id": artifact.id,
        "kind": artifact.kind.value,
        "content": artifact.content,
        "category": artifact.category.value,
        "quote": artifact.quote,
        "event_id": artifact.event_id,
        "span": span_to_json(artifact.span),
        "speaker": artifact.speaker,
        "about": artifact.about,
        "negated": artifact.negated,
        "confidence": artifact.confidence,
        "date": {"start": date.start.isoformat(), "end": date.end.isoformat(), **said} if date else None,
        "valid_from": moment_to_json(artifact.valid_from),
        "valid_to": moment_to_json(artifact.valid_to),
        "status": artifact.status.value,
        "replaces": artifact.replaces,
        "entities": list(artifact.entities),
        "tags": list(artifact.tags),
        "slot": {"about": slot.about, "attribute": slot.attribute} if slot else None,
        "value": artifact.value,
        "stance": artifact.stance.value,
        "recorded_at": artifact.recorded_at.isoformat(),
        "extractor": artifact.extractor,
    }


def change_to_json(change: Change) -> dict[str, Json]:
    """Lay out an entry of the journal."""
    return {
        "at": change.at.isoformat(),
        "action": change.action,
        "reason": change.reason,
        "artifact_id": change.artifact_id,
        "target_id": change.target_id,
        "event_id": change.event_id,
    }


def history_to_json(history: History) -> dict[str, Json]:
    """Lay out the versions of a statement, each with what the journal says of it."""
    return {
        "versions": [
            {
                "artifact": artifact_to_json(version.artifact),
                "changes": [change_to_json(change) for change in version.changes],
            }
            for version in history.versions
        ]
    }


def intent_to_json(intent: Intent) -> dict[str, Json]:
    """Lay out an intent with why it is thought so."""
    return fields_to_json(intent) | {"priority": intent.priority, "due": intent.due.isoformat() if intent.due else None}


def fields_to_json(value: Any) -> dict[str, Json]:
    """Lay out a value field by field, for those whose names say enough."""
    return {one.name: plain(getattr(value, one.name)) for one in fields(value)}


def session_to_json(session: Session) -> dict[str, Json]:
    """Lay out a session."""
    return {
        "name": session.name,
        "wings": list(session.wings),
        "speakers": list(session.speakers),
        "events": session.events,
        "first_at": session.first_at.isoformat(),
        "last_at": session.last_at.isoformat(),
        "keys": list(session.keys),
        "summary": [theme_to_json(theme) for theme in session.summary],
        "entities": list(session.entities),
        "written": [{"text": one.text, "event_ids": list(one.event_ids)} for one in session.written],
    }


def receipt_to_json(receipt: Receipt) -> dict[str, Json]:
    """Lay out what was forgotten, or would be."""
    return {
        "at": receipt.at.isoformat(),
        "space": receipt.space,
        "dry_run": receipt.dry_run,
        "events": receipt.events,
        "ids": list(receipt.ids),
        "removed": dict(receipt.removed),
        "scrubbed": receipt.scrubbed,
        "left": list(receipt.left),
    }


def report_to_json(report: Report) -> dict[str, Json]:
    """Lay out what was checked and what is wrong."""
    return {
        "ok": report.ok,
        "checked": dict(report.checked),
        "problems": [problem_to_json(problem) for problem in report.problems],
    }


def problem_to_json(problem: Problem) -> dict[str, Json]:
    """Lay out one thing that is wrong."""
    return {"where": problem.where, "what": problem.what, "fix": problem.fix}


def stats_to_json(stats: Stats) -> dict[str, Json]:
    """Lay out what a memory holds and weighs."""
    return {
        "location": stats.location,
        "space": stats.space,
        "spaces": stats.spaces,
        "events": stats.events,
        "events_total": stats.events_total,
        "sessions": stats.sessions,
        "speakers": stats.speakers,
        "wings": stats.wings,
        "first_at": moment_to_json(stats.first_at),
        "last_at": moment_to_json(stats.last_at),
        "model": stats.model,
        "vectors": stats.vectors,
        "pending": stats.pending,
        "bytes": stats.bytes,
        "bytes_by_part": dict(stats.bytes_by_part),
        "schema": stats.schema,
        "artifacts": dict(stats.artifacts),
        "tags": dict(stats.tags),
        "graph": dict(stats.graph),
        "concepts": stats.concepts,
        "behind": dict(stats.behind),
    }


def feed_to_json(feed: Feed) -> dict[str, Json]:
    """Lay out some news, and where to go on."""
    return {"news": [news_to_json(one) for one in feed], "position": feed.position, "more": feed.more}


def news_to_json(news: News) -> dict[str, Json]:
    """Lay out one thing that happened."""
    return {"kind": news.kind, "at": news.at.isoformat(), "item": plain(news.item)}


def waiting_to_json(job: Waiting) -> dict[str, Json]:
    """Lay out a job."""
    return {
        "id": job.id,
        "kind": job.kind,
        "event_id": job.event_id,
        "attempts": job.attempts,
        "due_at": job.due_at.isoformat(),
        "error": job.error,
    }


def key_to_json(key: ApiKey) -> dict[str, Json]:
    """Lay out what a key opens."""
    return {
        "id": key.id,
        "name": key.name,
        "permission": key.permission.value,
        "spaces": list(key.spaces),
        "created_at": key.created_at.isoformat(),
        "expires_at": moment_to_json(key.expires_at),
        "revoked_at": moment_to_json(key.revoked_at),
    }


def webhook_to_json(webhook: Webhook) -> dict[str, Json]:
    """Lay out a webhook, without what it signs with."""
    return {
        "id": webhook.id,
        "space": webhook.space,
        "url": webhook.url,
        "kinds": list(webhook.kinds),
        "created_at": webhook.created_at.isoformat(),
        "position": webhook.position,
        "delivered": webhook.delivered,
        "attempts": webhook.attempts,
        "due_at": moment_to_json(webhook.due_at),
        "error": webhook.error,
    }


def error_to_json(error: RecollectError) -> dict[str, Json]:
    """Lay out an error: its type, what happened, and what to do."""
    return {"error": {"type": type(error).__name__, "detail": error.detail, "fix": error.fix}}


_WRITERS: dict[type, Callable[[Any], Json]] = {
    Map: fields_to_json,
    MapEdge: fields_to_json,
    MapNode: fields_to_json,
    Answer: answer_to_json,
    ApiKey: key_to_json,
    Feed: feed_to_json,
    News: news_to_json,
    Waiting: waiting_to_json,
    Webhook: webhook_to_json,
    Artifact: artifact_to_json,
    Intent: intent_to_json,
    **dict.fromkeys(
        (Activity, Belief, Closet, Drawer, Evidence, Hall, Palace, PalaceWing, Room, Tunnel, Window, WindowItem),
        fields_to_json,
    ),
    datetime: datetime.isoformat,
    Change: change_to_json,
    History: history_to_json,
    Citation: citation_to_json,
    Concept: concept_to_json,
    ConceptEdge: concept_edge_to_json,
    ConceptView: concept_view_to_json,
    Folded: folded_to_json,
    Ground: ground_to_json,
    JournalEntry: entry_to_json,
    Context: context_to_json,
    Entity: entity_to_json,
    EntityEdit: edit_to_json,
    Record: record_to_json,
    Event: event_to_json,
    Fact: fact_to_json,
    Hit: hit_to_json,
    Identity: identity_to_json,
    Told: told_to_json,
    WakeUp: wake_up_to_json,
    Hits: hits_to_json,
    Problem: problem_to_json,
    Receipt: receipt_to_json,
    Report: report_to_json,
    Score: score_to_json,
    Session: session_to_json,
    Span: span_to_json,
    Stats: stats_to_json,
    Theme: theme_to_json,
    Written: written_to_json,
    Imported: imported_to_json,
}
