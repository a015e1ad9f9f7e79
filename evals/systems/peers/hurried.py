"""A peer that must be done by some time: between two requests it looks at the clock, and gives up in time."""

from __future__ import annotations

import time
from collections.abc import Sequence

from evals.errors import OutOfTime
from evals.systems.peers.client import INGEST_LINES, Peer
from evals.values import Line


class HurriedPeer(Peer):
    """The same peer, with an end to its patience. Apart from it, so that kept answers stay those of the same code."""

    end: float = float("inf")  # as `time.perf_counter` counts

    def ingest(self, store: str, lines: Sequence[Line]) -> float:
        """Take in all lines of a store, or raise OutOfTime."""
        took_ms = 0.0
        for start in range(0, len(lines), INGEST_LINES):
            if time.perf_counter() > self.end:
                raise OutOfTime(f"its time was over when {start:,} of {len(lines):,} lines of {store} were taken in")
            took_ms += super().ingest(store, lines[start : start + INGEST_LINES])
        return took_ms
