"""PageRank: from the best candidates along names, claims and sessions to events that say what they leave open.

Personalised, and by forward push: what a node holds goes on to its neighbours by the weight of its edges, and a part
that is too small stays where it is. So a name that everybody says leads nowhere, and the cost does not grow with the
memory. Nodes pass on in rounds, those of a round together: a round is a handful of reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recollect.recall.candidates import Candidate
from recollect.recall.recipes import PageRank
from recollect.store.postings import Ranking
from recollect.store.protocol import Reader, Seqs

_MOST_A_ROUND = 48  # nodes that pass on together
_EVENT, _ENTITY, _SESSION = "event", "entity", "session"
Node = tuple[str, str | int]  # what kind, and which
Edges = dict[Node, float]


def page_rank(
    reader: Reader, space: str, how: PageRank, ranked: Sequence[Candidate], *, allowed: Seqs | None
) -> Ranking:
    """Rank events by what reaches them from the best candidates."""
    seeds = ranked[: how.seeds]
    total = sum(candidate.score for candidate in seeds)
    if not seeds or total <= 0:
        return _ranking({}, how.depth)
    graph = _Graph(reader, space, how)
    held: dict[Node, float] = {}
    waiting: dict[Node, float] = {(_EVENT, candidate.seq): candidate.score / total for candidate in seeds}
    for _ in range(how.rounds):
        ready = sorted(
            (node for node in waiting if waiting[node] >= how.least), key=lambda one: (-waiting[one], str(one))
        )
        ready = ready[:_MOST_A_ROUND]
        graph.read({node: (1 - how.restart) * waiting[node] for node in ready})
        for node in ready:
            here = waiting.pop(node)
            held[node] = held.get(node, 0.0) + how.restart * here
            edges = graph.edges[node]
            whole = sum(edges.values())
            for other, weight in edges.items():
                waiting[other] = waiting.get(other, 0.0) + (1 - how.restart) * here * weight / whole
    for node, rest in waiting.items():  # what has not gone on counts where it is
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
        self.edges: dict[Node, Edges] = {}

    def read(self, passing: Mapping[Node, float]) -> None:
        """Read where nodes lead; nowhere, where each neighbour would get too little of what a node passes on."""
        new = {node: much for node, much in passing.items() if node not in self.edges}
        self.edges.update({node: {} for node in new})
        self._read_events([int(which) for kind, which in new if kind == _EVENT])
        self._read_entities({str(which): much for (kind, which), much in new.items() if kind == _ENTITY})
        self._read_sessions({str(which): much for (kind, which), much in new.items() if kind == _SESSION})

    def _read_events(self, seqs: Sequence[int]) -> None:
        if not seqs:
            return
        reader, space = self._reader, self._space
        mentions = [row for row in reader.mentions(space, seqs=seqs) if row.start >= 0]
        homes = {row.id: row.home for row in reader.names_of(space, ids=sorted({row.name for row in mentions}))}
        for row in mentions:
            self.edges[_EVENT, row.seq][_ENTITY, homes[row.name]] = self._how.mention
        for claim in reader.claims_of(space, seqs=seqs):
            self.edges[_EVENT, claim.seq][_ENTITY, claim.draft.subject] = self._how.claim
            if claim.draft.object_form:
                self.edges[_EVENT, claim.seq][_ENTITY, claim.draft.object] = self._how.claim
        for seq, outline in reader.outlines(space, seqs).items():
            if outline.session is not None:
                self.edges[_EVENT, seq][_SESSION, outline.session] = self._how.session

    def _read_entities(self, passing: Mapping[str, float]) -> None:
        reader, space = self._reader, self._space
        rows = reader.names_of(space, homes=sorted(passing))
        events: dict[str, int] = {}
        for row in rows:
            events[row.home] = events.get(row.home, 0) + row.events
        few = sorted(home for home, count in events.items() if passing[home] >= self._how.least * count)
        homes = {row.id: row.home for row in rows}
        for row in reader.mentions(space, homes=few):
            if row.start >= 0:
                self.edges[_ENTITY, homes[row.name]][_EVENT, row.seq] = self._how.mention
        for claim in reader.claims_of(space, homes=few) if few else ():
            for home in (claim.draft.subject, claim.draft.object):
                if home in few:
                    self.edges[_ENTITY, home][_EVENT, claim.seq] = self._how.claim

    def _read_sessions(self, passing: Mapping[str, float]) -> None:
        for row in self._reader.summaries(self._space, sorted(passing)) if passing else ():
            if passing[row.session] >= self._how.least * (row.events + row.pending):
                seqs = self._reader.session_seqs(self._space, row.session)
                self.edges[_SESSION, row.session] = {(_EVENT, seq): 1.0 for seq in seqs}


def _ranking(scores: Mapping[int, float], depth: int) -> Ranking:
    best = sorted(scores, key=lambda seq: (-scores[seq], -seq))[:depth]
    top = scores[best[0]] if best else 1.0
    return Ranking(np.array(best, np.int64), np.array([scores[seq] / top for seq in best], np.float32))
