"""Queue LLM jobs for grown sessions and new concepts, and let the LLM summarise sessions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial

from everyword.engine.engine import Engine, Progress
from everyword.engine.llm_queue import llm_to_fold, work_through
from everyword.knowledge.llm.summaries import WrittenSummary, shown_turns, write_summary
from everyword.models.protocol import LLM
from everyword.storage.protocol import PLAN, SUMMARISE, Job, Reader, Writer, WrittenRow
from everyword.types.concepts import Debt, JournalEntry
from everyword.types.events import Event, WrittenSentence
from everyword.types.ids import raw_event_id

LEAST_EVENTS = 4  # of a session with a summary
EVERY = 20  # new events after which a running session is summarised again
# Seconds without events after which a session is summarised earlier: the first time, and later.
QUIET_S = 600
QUIET_AGAIN_S = 6 * 3600
LEAST_LOOSE = 8  # events without a concept that no LLM has seen: it may find what they have in common
_NEWS = frozenset((Debt.EMERGENCE, Debt.WORDING))
_SECOND = 1_000_000  # microseconds


def owe_summaries(engine: Engine, writer: Writer, events: Iterable[Event]) -> None:
    """Queue a job for each session that grew: now if it grew much, otherwise for when it is quiet."""
    if engine.llm is None or not engine.settings.llm_fold:
        return
    sessions = sorted({one.session for one in events if one.session is not None})
    for session in sessions:
        owe_summary(writer, session, now=engine.now())


def owe_summary(writer: Writer, session: str, *, now: int) -> None:
    """Queue a job for a session, unless it is too short or its summary is complete."""
    reach = writer.session_reach(session)
    row = writer.written([session]).get(session)
    known = row.events if row is not None else 0
    if reach.first is None or reach.events < LEAST_EVENTS or reach.events == known:
        return
    quiet_s = QUIET_S if row is None else QUIET_AGAIN_S
    due_at = now if reach.events - known >= EVERY else now + quiet_s * _SECOND
    writer.owe_job(SUMMARISE, reach.first, due_at=due_at)


def written_of(row: WrittenRow | None, events: int) -> tuple[WrittenSentence, ...]:
    """Return the summary of a session, or nothing if it has grown since."""
    if row is None or row.events != events:
        return ()
    return tuple(WrittenSentence(text=text, event_ids=tuple(ids)) for text, ids in json.loads(row.body))


def forget_written(writer: Writer, sessions: Sequence[str]) -> None:
    """Remove the summaries of sessions that lost events, and queue new ones."""
    written = writer.written(sessions)
    writer.drop_written(list(written))
    for session in written:
        owe_summary(writer, session, now=0)


def owe_plan(
    engine: Engine, writer: Writer, seq: int, entries: Iterable[JournalEntry], *, loose: Iterable[int]
) -> None:
    """Queue a job after an event that made or renamed concepts, or after many events without a concept.

    Does nothing if an LLM has seen later events. loose: the events without a concept.
    """
    if engine.llm is None or not engine.settings.llm_fold:
        return
    seen = writer.last_plan()
    news = any(entry.debt in _NEWS for entry in entries)
    if seq > seen and (news or sum(one > seen for one in loose) >= LEAST_LOOSE):
        writer.owe_job(PLAN, seq, due_at=engine.now())


def forget_plans(writer: Writer, gone: Sequence[int]) -> bool:
    """Remove plans that rest on events or use their words; tell whether there were any."""
    resting = writer.plans_resting_on(gone)
    writer.drop_plans(resting)
    return bool(resting)


_MOST_READ = 400  # events of a session, evenly spaced; a prompt shows fewer


def settle_summaries(engine: Engine, progress: Progress) -> int:
    """Let the LLM summarise the sessions that are due; return their number. Raises only errors of the store."""
    return work_through(
        engine,
        llm_to_fold(engine),
        SUMMARISE,
        partial(_summarise, engine),
        failing="The summary of a session by an LLM",
        on_done=lambda done: progress("summaries", done, done),
    ).done


def _summarise(engine: Engine, llm: LLM, job: Job) -> int:
    with engine.store.reader(job.space) as reader:
        outline = reader.outlines([job.seq]).get(job.seq)
        session = outline.session if outline is not None else None
        count, events = _events(reader, session) if session is not None else (0, [])
    if session is None or count < LEAST_EVENTS or not shown_turns(events):
        with engine.store.file_writer() as writer:
            writer.finish_jobs([job])
        return 0
    written = write_summary(llm, events)
    ids = [raw_id for event in events if (raw_id := raw_event_id(event.id)) is not None]
    with engine.store.writer(job.space) as writer:
        if len(writer.find(ids)) < len(ids):
            writer.file.fail_job(job, error="Some of its events were forgotten meanwhile.", due_at=engine.now())
            return 0
        if writer.file.finish_jobs([job]):
            writer.put_written(_row(session, count, written))
            owe_summary(writer, session, now=engine.now())  # it may have grown meanwhile
    return 1


def _events(reader: Reader, session: str) -> tuple[int, list[Event]]:
    """Return the number of events of a session, and the events or a sample of them."""
    seqs = reader.session_seqs(session)
    chosen: Sequence[int] = seqs
    if len(seqs) > _MOST_READ:
        step = (len(seqs) - 1) / (_MOST_READ - 1)
        chosen = [seqs[round(number * step)] for number in range(_MOST_READ)]
    events = reader.fetch(chosen)
    return len(seqs), [events[seq] for seq in chosen if seq in events]


def _row(session: str, events: int, written: WrittenSummary) -> WrittenRow:
    body = json.dumps([[one.text, one.event_ids] for one in written.sentences], ensure_ascii=True)
    return WrittenRow(session, events, written.extractor, len(written.refused), body)
