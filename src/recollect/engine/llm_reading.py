"""Events that an LLM is to read: queued with the event, read by settle(), kept as readings, derived in the log's order.

Rules have read each event at once; whatever goes wrong here, it stays searchable and its job waits. A job is finished
only in the transaction that derives what its reading states, so that no answer is paid for twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from recollect.core.trust import UNVOUCHED
from recollect.core.values import Change
from recollect.engine.derive import REJECT, Reading, derive, derive_anew, read, relink, stated
from recollect.engine.engine import Engine, Progress
from recollect.engine.graph import reread
from recollect.engine.llm_queue import llm_to_read, work_through
from recollect.engine.llm_scene import shown_of, sources_of
from recollect.extract.llm.passes import read_event
from recollect.extract.llm.scene import LONGEST_READ, NOT_FOR_LLM
from recollect.extract.llm.stored import LLMReading, is_of_llm, to_body
from recollect.extract.noise import worth_reading
from recollect.extract.quotes import Checked
from recollect.inference.protocol import LLM
from recollect.store.artifacts import READ
from recollect.store.protocol import Job, Writer

# Events whose readings are derived in one transaction. Deriving anew costs as much for one as for many: rounds double,
# so that a long queue is not derived anew all the time, and a short one is seen soon.
_FIRST_ROUND = 16
_LONGEST_ROUND = 512
_NOT_WORTH_READING = "none"


def settle_readings(engine: Engine, progress: Progress) -> int:
    """Let the LLM read what waits for it; count what was read. Only the store's own errors leave this."""
    _queue_past(engine)
    total, most = 0, _FIRST_ROUND
    while True:
        done = _read_round(engine, most, lambda read, before=total: progress("readings", before + read, before + read))
        most = min(2 * most, _LONGEST_ROUND)
        total += len(done.jobs)
        if done.jobs:
            _take_in(engine, done.jobs)
        if done.last:
            return total


def _queue_past(engine: Engine) -> None:
    """Leave jobs for events from before there was an LLM, as many as the settings let."""
    left = engine.settings.llm_read_past if llm_to_read(engine) is not None else 0
    with engine.store.reader() as reader:
        spaces = reader.spaces() if left else []
    for space in spaces:
        with engine.store.writer() as writer:
            seqs = writer.unread(space, but_roles=sorted(NOT_FOR_LLM), but_sources=UNVOUCHED, limit=left)
            writer.owe_readings(space, seqs)
        left -= len(seqs)


class _Round(NamedTuple):
    jobs: list[Job]  # whose readings are kept and not derived yet
    last: bool  # nothing is due any more, or nothing can be read now


def _read_round(engine: Engine, most: int, told: Callable[[int], None]) -> _Round:
    jobs: list[Job] = []

    def read_one(llm: LLM, job: Job) -> int:
        if not _read(engine, llm, job):
            return 0
        jobs.append(job)
        return 1

    worked = work_through(
        engine,
        llm_to_read(engine),
        READ,
        read_one,
        failing="What an LLM would find in events",
        told=told,
        most=most,
    )
    return _Round(jobs, worked.last)


# Reading one event


def _read(engine: Engine, llm: LLM, job: Job) -> bool:
    """Read an event and keep the reading; False where there is nothing to keep."""
    with engine.store.reader() as reader:
        if reader.readings(job.space, [job.seq]):
            return True  # read before, and not derived: the process had died in between
        event = reader.fetch(job.space, [job.seq]).get(job.seq)
        worth = event is not None and worth_reading(event.text[:LONGEST_READ])[0]
        shown = shown_of(reader, job.space, job.seq, event, engine.tokenizer) if event is not None and worth else None
    if shown is None:
        with engine.store.writer() as writer:
            if writer.finish_jobs([job]) and event is not None:
                # Kept as read: it is not to be looked at again whenever the past is.
                nothing = LLMReading(extractor=_NOT_WORTH_READING)
                writer.put_reading(job.space, job.seq, extractor=nothing.extractor, body=to_body(nothing), sources=())
        return False
    reading = read_event(llm, shown.scene)
    with engine.store.writer() as writer:
        if len(writer.outlines(job.space, [job.seq, *shown.texts])) <= len(shown.texts):
            # It is read again without what was forgotten; where it was forgotten itself, its job is gone.
            writer.fail_job(job, error="What was shown with it was forgotten meanwhile.", due_at=engine.now())
            return False
        writer.put_reading(
            job.space, job.seq, extractor=reading.extractor, body=to_body(reading), sources=sources_of(shown, reading)
        )
    return True


# Deriving what was read


def _take_in(engine: Engine, jobs: Sequence[Job]) -> None:
    """Derive what readings state, in the order of the log, and finish their jobs."""
    with engine.store.writer() as writer:
        by_space: dict[str, list[int]] = {}
        for job in writer.finish_jobs(jobs):
            by_space.setdefault(job.space, []).append(job.seq)
        for space, seqs in by_space.items():
            upto = writer.derived_upto(space)
            # What is not derived yet will be with its readings.
            _derive_readings(writer, space, [seq for seq in sorted(seqs) if upto is None or seq <= upto])


def _derive_readings(writer: Writer, space: str, seqs: Sequence[int]) -> None:
    """Derive what new readings of events state, as if they had been there when the events came."""
    events, stored = writer.fetch(space, seqs), writer.readings(space, seqs)
    found = {seq: _only_of_llm(read(event, stored.get(seq))) for seq, event in sorted(events.items())}
    stating: dict[str, list[int]] = {}
    for seq, reading in found.items():
        for draft in reading.checked.accepted:
            stating.setdefault((draft.about or "").casefold(), []).append(seq)
    # About whom nothing was stated since, nothing has to be derived anew: the common case, and the cheap one.
    last = {about: max(writer.stating(space, [about]), default=0) for about in stating}
    newest = {about for about, its_seqs in stating.items() if last[about] <= min(its_seqs)}
    derive(writer, space, list(found.items()), newest)
    anew = stating.keys() - newest
    if anew:
        derive_anew(writer, space, set(anew), sorted({*writer.stating(space, sorted(anew)), *found}))
    reread(writer, space, stated(writer, space, list(found)))
    writer.put_changes(space, _refusals(found))
    relink(writer, space, list(found))


def _only_of_llm(reading: Reading) -> Reading:
    accepted = tuple(draft for draft in reading.checked.accepted if is_of_llm(draft))
    return reading._replace(checked=Checked(accepted=accepted), amendment=None)


def _refusals(found: Mapping[int, Reading]) -> Iterable[tuple[int, Change]]:
    for seq, reading in found.items():
        event = reading.event
        for reason in reading.refused:
            yield seq, Change(at=event.recorded_at, action=REJECT, reason=reason, event_id=event.id)
