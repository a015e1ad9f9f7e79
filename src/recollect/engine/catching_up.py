"""What is behind the log, brought up a little with each write.

A file of an older version has events that nobody has read for statements, names or goals; so has one that was written
with `extract=False`. `settle` does all of it. A write does as much as it adds itself and some milliseconds more, so
that a memory which is written to comes up by itself, whoever writes.
"""

from __future__ import annotations

import time

from recollect.engine.attention import mark_some
from recollect.engine.derive import catch_up, graph_behind
from recollect.store.protocol import Writer

A_WRITE_S = 0.02  # that a write spends on what is behind, beside as many events as it brings
MOST_S = 0.5  # that it spends at most: as long as a large batch may spend on folding
_AT_ONCE = 8  # events between two looks at the clock: some 10 ms


def bring_up(writer: Writer, space: str, *, least: int) -> None:
    """Derive some of what is behind, in the transaction of a write that adds `least` events."""
    begun = time.monotonic()
    for step in (catch_up, graph_behind, mark_some):
        done, some = 0, _AT_ONCE
        while some == _AT_ONCE:
            spent = time.monotonic() - begun
            if spent > MOST_S or (spent > A_WRITE_S and done > least):
                break
            some = step(writer, space, limit=_AT_ONCE)
            done += some
