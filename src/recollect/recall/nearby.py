"""Neighbours: what was said just before and after an event is part of what it means.

"Yes, last May!" answers only beside its question. So a token of the question that an event does not match may be
matched by the turns around it, for less; and a turn beside a good candidate becomes one itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recollect.recall.candidates import Beside, Candidate
from recollect.recall.match import Floats, Matching
from recollect.recall.recipes import Neighbours
from recollect.store.protocol import Reader, Seqs


def runs_around(reader: Reader, space: str, seeds: Sequence[int], reach: int, allowed: Seqs | None) -> list[list[int]]:
    """Read the runs of turns around some events, without what the question may not see."""
    runs = reader.around(space, seeds, reach)
    if allowed is None:
        return runs
    # Left out, not joined over: what stood three turns away does not come nearer.
    may = set(np.intersect1d(allowed, np.fromiter({seq for run in runs for seq in run}, np.int64)).tolist())
    return [[seq if seq in may else -1 for seq in run] for run in runs]


def newcomers(runs: Iterable[Sequence[int]], seeds: Sequence[int], known: Mapping[int, Candidate]) -> list[Candidate]:
    """Make candidates of the turns that no arm found, each with the best seed that it stands beside."""
    found: dict[int, Candidate] = {}
    for seed, run in zip(seeds, runs, strict=True):
        for seq in run:
            if seq >= 0 and seq not in known and seq not in found:
                found[seq] = Candidate(seq, beside=Beside(0.0, seed))
    return list(found.values())


def joint_matches(matching: Matching, runs: Iterable[Sequence[int]], neighbours: Neighbours) -> Floats:
    """Give each event's matches, those of its neighbours included for what they count."""
    before, after = _links(runs, matching.rows)
    rows = len(matching.windows)
    longer = np.log2(np.maximum(matching.lengths / neighbours.long_from, 1.0))
    joint = matching.best
    for link, shares in ((before, neighbours.before), (after, neighbours.after)):
        place = np.arange(rows)
        for share in shares:
            # The last row stands for nobody: one step from nobody leads nowhere.
            place = np.append(link, -1)[place]
            there = place >= 0
            counts = np.where(there, share - neighbours.long_cost * longer[place], 0.0).astype(np.float32)
            joint = np.maximum(joint, matching.best[place] * counts[:, None])
    return joint


def _links(runs: Iterable[Sequence[int]], rows: Mapping[int, int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Tell for each row which row was said just before it, and just after; -1 where that is not known."""
    before = np.full(len(rows), -1)
    after = np.full(len(rows), -1)
    for run in runs:
        for earlier, later in pairwise(run):
            first, second = rows.get(earlier, -1), rows.get(later, -1)
            if first >= 0 and second >= 0:
                after[first] = second
                before[second] = first
    return before, after
