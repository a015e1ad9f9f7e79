"""Compute the window of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from everyword.knowledge.attention import Node, window
from everyword.knowledge.concepts import Topics, topics_of
from everyword.knowledge.intents import intents_in
from everyword.models.protocol import Tokenizer
from everyword.storage.protocol import Access, Reader
from everyword.text.rendering import name, one_line, speaker_line
from everyword.text.terms import shortened
from everyword.types.events import Event
from everyword.types.intents import LIVE, Intent, Window
from everyword.types.times import day_in_words
from everyword.types.trust import effective_at, may_be_shown_unasked

RECENT_EVENTS = 150  # newest events that a window may show
RECALLED_EVENTS = 50  # most recalled events that it may show
LIVE_INTENTS = 20
LONGEST_LINE = 240  # characters of an event in a window


def window_in(
    reader: Reader,
    *,
    wing: str | None,
    now: datetime,
    budget: int,
    tokenizer: Tokenizer,
    as_of: datetime | None = None,
    intents: Sequence[Intent] | None = None,
    fence_key: bytes | None = None,
) -> Window:
    """Compute the window of a snapshot, or with as_of of what was known at a time.

    Recall counts have no dates, so they count only without as_of. intents: those of the same snapshot, if computed
    already. fence_key: the key of the fence.
    """
    found = intents_in(reader, now=now, wing=wing, as_of=as_of) if intents is None else intents
    nodes = _nodes(reader, found, wing=wing, as_of=as_of)
    return window(nodes, now=now, budget=budget, count=tokenizer.count, tokenizer=tokenizer.name, fence_key=fence_key)


def _nodes(reader: Reader, intents: Sequence[Intent], *, wing: str | None, as_of: datetime | None = None) -> list[Node]:
    seqs = reader.newest_events(wing, as_of=as_of, limit=RECENT_EVENTS)
    recalled = reader.most_recalled(limit=RECALLED_EVENTS) if as_of is None else []
    events = reader.fetch(sorted({*seqs, *recalled}))
    events = {seq: event for seq, event in events.items() if wing in (None, event.wing) and may_be_shown_unasked(event)}
    live = [one for one in intents if one.status in LIVE][:LIVE_INTENTS]
    topics = topics_of(reader, list(events), wing=wing, as_of=as_of)
    return [
        *_event_nodes(events, reader.accesses(list(events)) if as_of is None else {}, topics),
        *_concept_nodes(topics),
        *_intent_nodes(live),
    ]


def _event_nodes(events: Mapping[int, Event], accesses: Mapping[int, Access], topics: Topics) -> list[Node]:
    return [
        Node(
            kind="event",
            id=event.id,
            text=_line(event),
            at=effective_at(event),
            links=topics.of_event.get(seq, ()),
            recalled=accesses[seq].times if seq in accesses else 0,
            group=event.session,
        )
        for seq, event in events.items()
    ]


def _concept_nodes(topics: Topics) -> list[Node]:
    return [
        Node(
            kind="concept",
            id=id,
            text=f"{name(concept.label)}: {shortened(one_line(concept.description), LONGEST_LINE)}",
            at=concept.last_at,
            links=tuple(sorted(topics.by_id[id].neighbours)),
            group=id,
        )
        for id, concept in topics.concepts.items()
    ]


def _intent_nodes(intents: Sequence[Intent]) -> list[Node]:
    return [
        Node(
            kind="intent",
            id=one.id,
            text=f"to be done ({one.category.value}{_due(one)}): {shortened(one_line(one.statement), LONGEST_LINE)}",
            at=one.last_at,
            links=(*one.concepts, *(ground.event_id for ground in one.grounds)),
            deadline=one.deadline,
            group=one.id,
        )
        for one in intents
    ]


def _due(intent: Intent) -> str:
    return f", by {day_in_words(intent.due)}" if intent.due else ""


def _line(event: Event) -> str:
    """Write an event on one line: day, speaker, text."""
    text = shortened(one_line(event.text), LONGEST_LINE)
    return f"{day_in_words(event.at)}, {speaker_line(text, speaker=event.speaker)}"
