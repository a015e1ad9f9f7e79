"""PageRank: from the best candidates along entities, claims and sessions to events that say what they leave open.

Personalised, and by forward push: what a node holds goes on to its neighbours by the weight of its edges, and a
part that is too small stays where it is. So a name that everybody says leads nowhere, and the cost does not grow with
the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recollect.recall.candidates import Candidate
from recollect.recall.recipes import PageRank
from recollect.store.postings import Ranking
from recollect.store.protocol import Reader, Seqs

_MOST_PUSHES = 400  # nodes that pass on what they hold: a few milliseconds
Node = tuple[str, str | int]  # what kind, and which
_EVENT, _ENTITY, _SESSION = "event", "entity", "session"


class _Edge(NamedTuple):
    node: Node
    weight: float


def page_rank(
    reader: Reader, space: str, how: PageRank, ranked: Sequence[Candidate], *, allowed: Seqs | None
) -> Ranking:
    """Rank events by what reaches them from the best candidates."""
    seeds = ranked[: how.seeds]
    total = sum(candidate.score for candidate in seeds)
    if not seeds or total <= 0:
        return _ranking({}, how.depth)
    graph = _Graph(reader, space, how)
    graph.read_events([candidate.seq for candidate in seeds])
    held: dict[Node, float] = {}
    waiting: dict[Node, float] = {(_EVENT, candidate.seq): candidate.score / total for candidate in seeds}
    for _ in range(_MOST_PUSHES):
        node = max(waiting, key=lambda one: (waiting[one], str(one)), default=None)
        if node is None or waiting[node] < how.least:
            break
        here = waiting.pop(node)
        held[node] = held.get(node, 0.0) + how.restart * here
        edges = graph.edges(node, (1 - how.restart) * here)
        whole = sum(edge.weight for edge in edges)
        for edge in edges:
            waiting[edge.node] = waiting.get(edge.node, 0.0) + (1 - how.restart) * here * edge.weight / whole
    for node, rest in waiting.items():  # what is too small to go on counts where it is
        held[node] = held.get(node, 0.0) + how.restart * rest
    begun = {candidate.seq for candidate in seeds}
    permitted = None if allowed is None else set(allowed.tolist())
    scores = {
        int(which): score
        for (kind, which), score in held.items()
        if kind == _EVENT and which not in begun and (permitted is None or which in permitted)
    }
    return _ranking(scores, how.depth)


class _Graph:
    """Events, entities and sessions, read as they are reached."""

    def __init__(self, reader: Reader, space: str, how: PageRank) -> None:
        self._reader = reader
        self._space = space
        self._how = how
        self._edges: dict[Node, list[_Edge]] = {}
        self._events: dict[str, int] = {}  # how many name an entity

    def edges(self, node: Node, passing: float) -> list[_Edge]:
        """List where a node leads; nowhere, if each neighbour would get too little."""
        kind, which = node
        if node not in self._edges:
            if kind == _EVENT:
                self.read_events([int(which)])
            elif kind == _ENTITY:
                self._edges[node] = self._of_entity(str(which), passing)
            else:
                self._edges[node] = self._of_session(str(which), passing)
        return self._edges.get(node, [])

    def read_events(self, seqs: Sequence[int]) -> None:
        """Read what events name and claim, and their sessions; many at once where that is known."""
        reader, space = self._reader, self._space
        found: dict[int, dict[Node, float]] = {int(seq): {} for seq in seqs}
        mentions = [row for row in reader.mentions(space, seqs=seqs) if row.start >= 0]
        homes = {row.id: row.home for row in reader.names_of(space, ids=sorted({row.name for row in mentions}))}
        for row in mentions:
            found[row.seq][_ENTITY, homes[row.name]] = self._how.mention
        for claim in reader.claims_of(space, seqs=seqs):
            for home in (claim.draft.subject, claim.draft.object if claim.draft.object_form else None):
                if home is not None:
                    found[claim.seq][_ENTITY, home] = self._how.claim
        for seq, outline in reader.outlines(space, seqs).items():
            if outline.session is not None:
                found[seq][_SESSION, outline.session] = self._how.session
        for seq, weights in found.items():
            self._edges[_EVENT, seq] = [_Edge(node, weight) for node, weight in sorted(weights.items(), key=str)]

    def _of_entity(self, home: str, passing: float) -> list[_Edge]:
        reader, space = self._reader, self._space
        claims = reader.claim_count(space, home)
        weights: dict[Node, float] = {}
        if claims and passing / claims >= self._how.least:
            for claim in reader.claims_of(space, homes=[home]):
                weights[_EVENT, claim.seq] = self._how.claim
        events = sum(row.events for row in reader.names_of(space, homes=[home]))
        if events and passing / events >= self._how.least:
            for row in reader.mentions(space, homes=[home]):
                if row.start >= 0:
                    weights.setdefault((_EVENT, row.seq), self._how.mention)
        return [_Edge(node, weight) for node, weight in weights.items()]

    def _of_session(self, session: str, passing: float) -> list[_Edge]:
        rows = self._reader.summaries(self._space, [session])
        events = sum(row.events + row.pending for row in rows)
        if not events or passing / events < self._how.least:
            return []
        seqs = self._reader.session_seqs(self._space, session)
        return [_Edge((_EVENT, seq), 1.0) for seq in seqs]


def _ranking(scores: Mapping[int, float], depth: int) -> Ranking:
    best = sorted(scores, key=lambda seq: (-scores[seq], -seq))[:depth]
    top = scores[best[0]] if best else 1.0
    return Ranking(np.array(best, np.int64), np.array([scores[seq] / top for seq in best], np.float32))
