"""What matters now, without a question: three tiers of events, concepts and intents within a token budget.

The palace is the other view: all of the memory, laid out as a place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from everyword.knowledge.concepts import Topics, topics_of
from everyword.knowledge.intents import intents_in
from everyword.models.protocol import Tokenizer
from everyword.storage.protocol import Reader
from everyword.storage.rows import Access
from everyword.text.rendering import fence_tokens, fenced, name, one_line, speaker_line
from everyword.text.terms import shortened
from everyword.types.concepts import Concept
from everyword.types.events import Event
from everyword.types.intents import (
    LIVE,
    Closet,
    Drawer,
    Hall,
    Intent,
    Palace,
    PalaceWing,
    Room,
    Tier,
    Tunnel,
    Window,
    WindowItem,
)
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
    """Compute the window of a snapshot; with as_of of what was known then, without recall counts: they have no dates.

    intents: those of the same snapshot, if computed already. fence_key: what the fence is derived from; None: random.
    """
    if intents is None:
        intents = intents_in(reader, now=now, wing=wing, as_of=as_of)
    seqs = reader.newest_events(wing, as_of=as_of, limit=RECENT_EVENTS)
    recalled = reader.most_recalled(limit=RECALLED_EVENTS) if as_of is None else []
    events = reader.fetch(sorted({*seqs, *recalled}))
    events = {seq: event for seq, event in events.items() if wing in (None, event.wing) and may_be_shown_unasked(event)}
    live = [one for one in intents if one.status in LIVE][:LIVE_INTENTS]
    topics = topics_of(reader, list(events), wing=wing, as_of=as_of)
    accesses = reader.accesses(list(events)) if as_of is None else {}
    nodes = [*_event_nodes(events, accesses, topics), *_concept_nodes(topics), *_intent_nodes(live)]
    return window(nodes, now=now, budget=budget, tokenizer=tokenizer, fence_key=fence_key)


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
            links=tuple(sorted(topics.neighbours[id])),
            group=id,
        )
        for id, concept in topics.concepts.items()
    ]


def _intent_nodes(intents: Sequence[Intent]) -> list[Node]:
    return [
        Node(
            kind="intent",
            id=one.id,
            text=f"to be done ({one.category.value}{_due(one)}): {shortened(one_line(one.content), LONGEST_LINE)}",
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
    return f"{day_in_words(event.at)}, {speaker_line(event, text)}"


# Shares of the budget; the rest stays free for headings and for what comes next (CogniFold).
SHARES: Mapping[Tier, float] = {Tier.IMMEDIATE: 0.1, Tier.WORKING: 0.3, Tier.BACKGROUND: 0.5}
# What each tier weighs.
IMMEDIATE_RECENCY, IMMEDIATE_URGENCY = 0.7, 0.3
WORKING_RANK, WORKING_RECENCY, WORKING_KIND = 0.5, 0.3, 0.2
BACKGROUND_RANK, BACKGROUND_DIVERSITY = 0.8, 0.2
# Of a node's standing in the graph: PageRank and recalls weigh 2 to 1, as .4 and .2 do in the priority of a write.
RANK_SHARE, ACCESS_SHARE = 2 / 3, 1 / 3
FADES_PER_HOUR = 0.01  # recency is exp(-.01 h): half in three days
URGENT_WITHIN_H = 24  # of a deadline: urgency is 2 there, 1 a week before, and in between falls evenly
CALM_FROM_H = 168
KIND_WEIGHT = {"intent": 1.0, "concept": 0.8, "event": 0.4}
DAMPING, ROUNDS = 0.85, 40  # of PageRank; .85^40 leaves a thousandth
HEADING_TOKENS = 4  # of a tier's name


class Node(Struct, frozen=True, kw_only=True):
    """Something that may be in the window."""

    kind: str  # event, concept or intent
    id: str
    text: str
    at: datetime  # when it last had to do with anything
    links: tuple[str, ...] = ()  # ids of the nodes that it points to
    recalled: int = 0
    deadline: datetime | None = None
    group: str | None = None  # what it shares with others: its session or concept


def window(
    nodes: Sequence[Node], *, now: datetime, budget: int, tokenizer: Tokenizer, fence_key: bytes | None = None
) -> Window:
    """Choose what each tier holds; what is in one is not in the next."""
    count = tokenizer.count
    ranks = _ranks(nodes)
    most = max((node.recalled for node in nodes), default=0)
    seen = {
        node.id: _Seen(
            rank=ranks[node.id],
            recency=math.exp(-FADES_PER_HOUR * max(0.0, (now - node.at).total_seconds() / 3600)),
            access=math.log1p(node.recalled) / math.log1p(most) if most else 0.0,
            urgency=_urgency(node.deadline, now),
        )
        for node in nodes
    }
    left = {node.id: node for node in sorted(nodes, key=lambda node: (node.at, node.id), reverse=True)}
    items: list[WindowItem] = []
    room = budget - fence_tokens(count)
    for tier, share in SHARES.items():
        items += _filled(tier, int(room * share), left, seen, count)
    text = fenced(_lines(items), fence_key, count)
    tokens = count(text) if text else 0
    return Window(items=tuple(items), text=text, tokens=tokens, budget=budget, tokenizer=tokenizer.name, at=now)


def _lines(items: Sequence[WindowItem]) -> str:
    """Write the items under the names of their tiers, each after a dash: no words of theirs begin a line."""
    lines: list[str] = []
    for tier in Tier:
        held = [item for item in items if item.tier is tier]
        lines += [f"[{tier.value}]", *(f"- {item.text}" for item in held)] if held else []
    return "\n".join(lines)


class _Seen(NamedTuple):
    rank: float
    recency: float
    access: float
    urgency: float  # 1 to 2

    @property
    def standing(self) -> float:
        return RANK_SHARE * self.rank + ACCESS_SHARE * self.access


def _filled(
    tier: Tier, room: int, left: dict[str, Node], seen: Mapping[str, _Seen], count: Callable[[str], int]
) -> list[WindowItem]:
    """Take the best that is left while it fits; what does not fit here may fit into the next tier."""
    room -= HEADING_TOKENS
    items: list[WindowItem] = []
    groups: Counter[str] = Counter()
    waiting = dict(left)
    while waiting and room > 0:
        scores = {id: _score(tier, node, seen[id], groups) for id, node in waiting.items()}
        best = max(scores, key=scores.__getitem__)
        node = waiting.pop(best)
        tokens = count(f"- {node.text}") + 1  # and its line break
        if tokens > room:
            continue
        del left[best]
        room -= tokens
        groups[node.group or node.id] += 1
        items.append(
            WindowItem(
                kind=node.kind,
                id=node.id,
                text=node.text,
                at=node.at,
                tier=tier,
                score=scores[best],
                tokens=tokens,
                **seen[best]._asdict(),
            )
        )
    return items


def _score(tier: Tier, node: Node, seen: _Seen, groups: Mapping[str, int]) -> float:
    if tier is Tier.IMMEDIATE:
        return IMMEDIATE_RECENCY * seen.recency + IMMEDIATE_URGENCY * (seen.urgency - 1)
    if tier is Tier.WORKING:
        kind = WORKING_KIND * KIND_WEIGHT.get(node.kind, 0.0)
        return (WORKING_RANK * seen.standing + WORKING_RECENCY * seen.recency + kind) * seen.urgency
    diversity = 1 / (1 + groups.get(node.group or node.id, 0))
    return BACKGROUND_RANK * seen.standing + BACKGROUND_DIVERSITY * diversity


def _urgency(deadline: datetime | None, now: datetime) -> float:
    if deadline is None or deadline < now:
        return 1.0
    hours = (deadline - now).total_seconds() / 3600
    if hours <= URGENT_WITHIN_H:
        return 2.0
    return 1.0 + max(0.0, (CALM_FROM_H - hours) / (CALM_FROM_H - URGENT_WITHIN_H))


def _ranks(nodes: Sequence[Node]) -> dict[str, float]:
    """Compute PageRank along the links, the highest being 1."""
    ids = [node.id for node in nodes]
    known = set(ids)
    targets = {node.id: [one for one in node.links if one in known and one != node.id] for node in nodes}
    ranks = dict.fromkeys(ids, 1 / len(ids)) if ids else {}
    for _ in range(ROUNDS if ids else 0):
        loose = sum(ranks[one] for one in ids if not targets[one])
        fresh = dict.fromkeys(ids, (1 - DAMPING + DAMPING * loose) / len(ids))
        for source, linked in targets.items():
            for target in linked:
                fresh[target] += DAMPING * ranks[source] / len(linked)
        ranks = fresh
    highest = max(ranks.values(), default=1.0)
    return {one: rank / highest for one, rank in ranks.items()}


# The memory as a place to walk through: wing > room (concept) > hall (kind) > closet (session) > drawer (event)

EVERYTHING_ELSE = "everything else"  # the room of events without a concept
_EVENTS = 2_000  # newest events that are sorted into rooms
_LONGEST_SUMMARY = 160  # characters of a closet's label


class Kept(NamedTuple):
    """An event with the kinds of its statements."""

    event: Event
    kinds: tuple[str, ...]


def palace_in(reader: Reader, *, wing: str | None, rooms: int, drawers: int, as_of: datetime | None = None) -> Palace:
    """Lay out a snapshot, or with as_of what was known at a time. rooms: of a wing; drawers: of a room, at most."""
    events = reader.fetch(reader.newest_events(wing, as_of=as_of, limit=_EVENTS))
    topics = topics_of(reader, list(events), wing=wing, as_of=as_of)
    stated = reader.statements_of(list(events))
    shown: dict[str | None, dict[str | None, list[Kept]]] = {}  # wing -> room -> newest events
    for seq, event in sorted(events.items(), key=lambda pair: (pair[1].at, pair[0]), reverse=True):
        here = shown.setdefault(event.wing, {})
        for room in topics.of_event.get(seq, (None,)):
            held = here.setdefault(room, [])
            if len(held) < drawers:
                kinds = tuple(dict.fromkeys(statement.kind.value for statement in stated.get(seq, ())))
                held.append(Kept(event, kinds))
    totals = reader.wing_counts(as_of=as_of)
    counts = {name: reader.room_counts(name, as_of=as_of) for name in totals if wing in (None, name)}
    elsewhere = {name: totals[name] - here[None] for name, here in counts.items()}
    in_rooms = {name: {id: n for id, n in here.items() if id is not None} for name, here in counts.items()}
    return Palace(
        wings=tuple(
            PalaceWing(
                name=name,
                events=totals[name],
                rooms_in_all=len(in_rooms[name]),
                rooms=tuple(_rooms(shown.get(name, {}), in_rooms[name], elsewhere[name], rooms, topics.concepts)),
            )
            for name in sorted(in_rooms, key=lambda name: (-totals[name], name or ""))
        ),
        tunnels=tuple(_tunnels(in_rooms, topics.concepts)),
    )


def _rooms(
    shown: Mapping[str | None, Sequence[Kept]],
    counts: Mapping[str, int],
    others: int,
    most: int,
    concepts: Mapping[str, Concept],
) -> Iterable[Room]:
    """Open the fullest rooms; events without a concept, as many as `others`, come last."""
    known = [id for id in shown if id is not None and id in counts]
    for id in sorted(known, key=lambda id: (-counts[id], id))[:most]:
        yield Room(id=id, label=concepts[id].label, events=counts[id], halls=tuple(_halls(shown[id])))
    if others > 0 and None in shown:
        yield Room(id=None, label=EVERYTHING_ELSE, events=others, halls=tuple(_halls(shown[None])))


def _halls(held: Sequence[Kept]) -> Iterable[Hall]:
    by_kind: dict[str | None, list[Event]] = {}
    for one in held:
        for kind in one.kinds or (None,):
            by_kind.setdefault(kind, []).append(one.event)
    for kind, events in sorted(by_kind.items(), key=lambda pair: (pair[0] is None, pair[0] or "")):
        yield Hall(kind=kind, closets=tuple(_closets(events)))


def _closets(events: Sequence[Event]) -> Iterable[Closet]:
    by_session: dict[str | None, list[Event]] = {}
    for event in sorted(events, key=lambda event: (event.at, event.id)):
        by_session.setdefault(event.session, []).append(event)
    for session, said in by_session.items():
        drawers = tuple(
            Drawer(event_id=event.id, text=event.text, at=event.at, speaker=event.speaker) for event in said
        )
        yield Closet(session=session, summary=shortened(said[0].text.strip(), _LONGEST_SUMMARY), drawers=drawers)


def _tunnels(in_rooms: Mapping[str | None, Mapping[str, int]], concepts: Mapping[str, Concept]) -> Iterable[Tunnel]:
    for id, concept in concepts.items():
        wings = [name for name, counts in in_rooms.items() if id in counts]
        if len(wings) > 1:
            yield Tunnel(concept=id, label=concept.label, wings=tuple(sorted(wings, key=lambda name: name or "")))
