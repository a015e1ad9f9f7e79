"""What events leave for an LLM to do: to sum up sessions that they grew, to look at concepts that they made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from recollect.core.folding import Debt, JournalEntry
from recollect.core.values import Event, WrittenSentence
from recollect.engine.engine import Engine
from recollect.store.protocol import Writer
from recollect.store.written import PLAN, SUMMARISE, WrittenRow

LEAST_EVENTS = 4  # of a session that is worth a summary: what is shorter is read as fast
EVERY = 20  # new events from which on a session is summarised anew while it goes on
# How long a session must be quiet to be summarised before that: for the first time, and again.
QUIET_S = 600
QUIET_AGAIN_S = 6 * 3600
LEAST_LOOSE = 8  # events that rules made nothing of, and no LLM has seen: it may see what they have in common
_NEWS = frozenset((Debt.EMERGENCE, Debt.WORDING))
_SECOND = 1_000_000  # microseconds


def owe_summaries(engine: Engine, writer: Writer, space: str, events: Iterable[Event]) -> None:
    """Leave a job for each session that grew: now if it grew much, else for when it is quiet."""
    if engine.llm is None or not engine.settings.llm_fold:
        return
    sessions = sorted({one.session for one in events if one.session is not None})
    for session in sessions:
        owe_summary(writer, space, session, now=engine.now())


def owe_summary(writer: Writer, space: str, session: str, *, now: int) -> None:
    """Leave a job for a session, unless it is too short or all of it is written of."""
    reach = writer.session_reach(space, session)
    row = writer.written(space, [session]).get(session)
    known = row.events if row is not None else 0
    if reach.first is None or reach.events < LEAST_EVENTS or reach.events == known:
        return
    quiet_s = QUIET_S if row is None else QUIET_AGAIN_S
    due_at = now if reach.events - known >= EVERY else now + quiet_s * _SECOND
    writer.owe_job(space, SUMMARISE, reach.first, due_at=due_at)


def written_of(row: WrittenRow | None, events: int) -> tuple[WrittenSentence, ...]:
    """Give what was written of a session of so many events; nothing where it has grown since."""
    if row is None or row.events != events:
        return ()
    return tuple(WrittenSentence(text=text, event_ids=tuple(ids)) for text, ids in json.loads(row.body))


def forget_written(writer: Writer, space: str, sessions: Sequence[str]) -> None:
    """Remove what was written of sessions that lost events; what is left of them is to be written of anew."""
    written = writer.written(space, sessions)
    writer.drop_written(space, list(written))
    for session in written:
        owe_summary(writer, space, session, now=0)


def owe_plan(
    engine: Engine, writer: Writer, space: str, seq: int, entries: Iterable[JournalEntry], *, loose: Iterable[int]
) -> None:
    """Leave a job after an event with which rules made or worded concepts, or which leaves many without any.

    Not where an LLM has seen what is behind it. `loose` are the events that still look for company.
    """
    if engine.llm is None or not engine.settings.llm_fold:
        return
    seen = writer.last_plan(space)
    news = any(entry.debt in _NEWS for entry in entries)
    if seq > seen and (news or sum(one > seen for one in loose) >= LEAST_LOOSE):
        writer.owe_job(space, PLAN, seq, due_at=engine.now())


def forget_plans(writer: Writer, space: str, gone: Sequence[int]) -> bool:
    """Remove plans that rest on events or use their words; tell whether there were any."""
    resting = writer.plans_resting_on(space, gone)
    writer.drop_plans(space, resting)
    return bool(resting)
