"""Derive what is behind the log: some of it with each write, all of it in `settle`."""

from __future__ import annotations

import time

from everyword.engine.engine import Engine, Progress
from everyword.knowledge.intents import mark_behind, mark_some
from everyword.knowledge.sessions import refresh
from everyword.knowledge.statements import catch_up, graph_behind
from everyword.storage.protocol import Writer

BATCH = 256  # events derived in one transaction: a quarter of a second
_WRITE_S = 0.02  # that a write spends on the backlog, besides deriving as many events as it adds
_WRITE_MOST_S = 0.5  # that it spends at most
_BETWEEN_CLOCK_CHECKS = 8  # events: some 10 ms


def backfill_some(writer: Writer, *, least: int) -> None:
    """Derive part of the backlog in the transaction of a write that adds `least` events."""
    begun = time.monotonic()
    for step in (catch_up, graph_behind, mark_some):
        done, some = 0, _BETWEEN_CLOCK_CHECKS
        while some == _BETWEEN_CLOCK_CHECKS:
            spent = time.monotonic() - begun
            if spent > _WRITE_MOST_S or (spent > _WRITE_S and done > least):
                break
            some = step(writer, limit=_BETWEEN_CLOCK_CHECKS)
            done += some


def backfill_all(engine: Engine, progress: Progress) -> int:
    """Derive the whole backlog of every space, a batch a transaction; count the events."""
    total = 0
    with engine.store.file_reader() as reader:
        spaces = reader.spaces()
        behind = [space for space in spaces if reader.reader(space).derived_upto() is not None]
    for space in behind:
        done = BATCH
        while done == BATCH:
            with engine.store.writer(space) as writer:
                done = catch_up(writer, limit=BATCH)
            total += done
            progress("artifacts", total, total)
    total += _backfill_graph(engine, progress)
    with engine.store.file_reader() as reader:
        unmarked = [space for space in reader.spaces() if reader.reader(space).marked_upto() is not None]
    for space in unmarked:
        mark_behind(engine.store, space)  # not counted: these events were counted above
    return total


def _backfill_graph(engine: Engine, progress: Progress) -> int:
    """Read what the graph lacks, and summarise the sessions that have grown since their last summary."""
    total = 0
    with engine.store.file_reader() as reader:
        spaces = reader.spaces()
        behind = [space for space in spaces if reader.reader(space).graph_state().upto is not None]
        grown = [(space, row.session) for space in spaces for row in reader.reader(space).summaries() if row.pending]
    for space in behind:
        done = BATCH
        while done == BATCH:
            with engine.store.writer(space) as writer:
                done = graph_behind(writer, limit=BATCH)
            total += done
            progress("graph", total, total)
    for space, session in grown:
        with engine.store.writer(space) as writer:
            refresh(writer, session)
    return total
