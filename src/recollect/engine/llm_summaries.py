"""Sessions that an LLM is to summarise: queued as they grow, written when settled, shown until they grow again.

What rules made of a session stays beside it. Whatever goes wrong here, the job waits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from recollect.core.ids import raw_event_id
from recollect.core.values import Event
from recollect.engine.engine import Engine, Progress
from recollect.engine.llm_queue import llm_to_fold, work_through
from recollect.engine.owing import LEAST_EVENTS, owe_summary
from recollect.fold.llm.summaries import WrittenSummary, shown_turns, write_summary
from recollect.inference.protocol import LLM
from recollect.store.protocol import Job, Reader
from recollect.store.written import SUMMARISE, WrittenRow

_MOST_READ = 400  # events of a session, at even distances: what a prompt shows is less


def settle_summaries(engine: Engine, progress: Progress) -> int:
    """Let the LLM summarise the sessions that are due; count them. Only the store's own errors leave this."""
    return work_through(
        engine,
        llm_to_fold(engine),
        SUMMARISE,
        partial(_summarise, engine),
        failing="What an LLM would write of sessions",
        told=lambda done: progress("summaries", done, done),
    ).done


def _summarise(engine: Engine, llm: LLM, job: Job) -> int:
    with engine.store.reader() as reader:
        outline = reader.outlines(job.space, [job.seq]).get(job.seq)
        session = outline.session if outline is not None else None
        count, events = _events(reader, job.space, session) if session is not None else (0, [])
    if session is None or count < LEAST_EVENTS or not shown_turns(events):
        with engine.store.writer() as writer:
            writer.finish_jobs([job])
        return 0
    written = write_summary(llm, events)
    ids = [raw_id for event in events if (raw_id := raw_event_id(event.id)) is not None]
    with engine.store.writer() as writer:
        if len(writer.find(job.space, ids)) < len(ids):
            writer.fail_job(job, error="Some of it was forgotten meanwhile.", due_at=engine.now())
            return 0
        if writer.finish_jobs([job]):
            writer.put_written(job.space, _row(session, count, written))
            owe_summary(writer, job.space, session, now=engine.now())  # it may have grown meanwhile
    return 1


def _events(reader: Reader, space: str, session: str) -> tuple[int, list[Event]]:
    """Tell how many events a session has, and read them, or as many as can matter."""
    seqs = reader.session_seqs(space, session)
    chosen: Sequence[int] = seqs
    if len(seqs) > _MOST_READ:
        step = (len(seqs) - 1) / (_MOST_READ - 1)
        chosen = [seqs[round(number * step)] for number in range(_MOST_READ)]
    events = reader.fetch(space, chosen)
    return len(seqs), [events[seq] for seq in chosen if seq in events]


def _row(session: str, events: int, written: WrittenSummary) -> WrittenRow:
    body = json.dumps([[one.text, one.event_ids] for one in written.sentences], ensure_ascii=True)
    return WrittenRow(session, events, written.extractor, len(written.refused), body)
