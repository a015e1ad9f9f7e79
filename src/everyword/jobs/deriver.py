"""Keep the views of the log up to date: after writes in the background, before reads, and in workers.

Each view has a durable cursor. One transaction applies a batch of events to the views and moves their cursors, so a
deriver that is killed anywhere goes on where it was, and any number of them may run: they take turns by the write lock.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING

from everyword.engine.encoding import embed_each
from everyword.engine.engine import Engine, Progress, silent
from everyword.engine.retry import again
from everyword.errors import Closed, ModelError, StoreBusy, StoreFull
from everyword.models.protocol import Embedder
from everyword.settings import Settings
from everyword.storage.protocol import FileWriter, Reader, Store, Workplace, Writer
from everyword.storage.rows import CONCEPTS, EMBED, FACTS, STATEMENTS, VIEWS, Job, Model
from everyword.storage.sql.snapshot import grouped
from everyword.types.events import ASSISTANTS, Event

if TYPE_CHECKING:
    from everyword.knowledge.reading import EventReading

WORDS = "words"
BATCH = 256  # events applied in one transaction when nobody waits for the write lock
# Events that a question waits for, and how long: whoever wrote a line and asks at once must be answered with it. A
# longer backlog is left to the background, so that a question is answered at once while a history is imported.
_FEW = 32
_FEW_S = 1.0
_SLICE_S = 0.03  # that a batch in the background may hold the write lock
_FIRST_SLICE = 4  # events in the first batch in the background; the time it takes decides on the next
_QUIET_S = 0.05  # without a write before the background begins, so that a burst of writes is not slowed down
_AFTER_QUESTION_S = 0.5  # the same after a question; the next one may come at once
_LONGEST_WAIT_S = 1.0  # for such a pause: under a steady stream of writes a batch runs once a second
_PATIENCE_S = 0.2  # that the background waits for the write lock before it looks whether the memory is closing
_IDLE_S = 1.0  # until the thread ends; the next write starts another


# The views that each view rests on, besides itself.
_SOURCES = {STATEMENTS: (), FACTS: (STATEMENTS,), CONCEPTS: (STATEMENTS,)}


def views_of(settings: Settings) -> tuple[str, ...]:
    """List the views that a memory with these settings keeps up to date, in the order in which they are derived."""
    return tuple(view for view in VIEWS if (settings.fold if view == CONCEPTS else settings.extract))


def with_sources(settings: Settings, views: Iterable[str]) -> tuple[str, ...]:
    """List the views that must be up to date for some views to be, in order."""
    needed = {one for view in views for one in (view, *_SOURCES[view])}
    return tuple(view for view in views_of(settings) if view in needed) if needed else ()


def behind(reader: Reader, views: Sequence[str], *, most: int = 1 << 62) -> int:
    """Count the events that the slowest of some views has not applied and could apply now, up to a number of them."""
    if not views or not reader.last_seq:
        return 0
    cursors = reader.cursors()
    count = reader.count_behind(min(cursors[view] for view in views), most=most)
    if count and CONCEPTS in views and _waits_for_vectors(reader, cursors[CONCEPTS]):
        return behind(reader, [view for view in views if view != CONCEPTS], most=most)
    return count


def _waits_for_vectors(reader: Reader, upto: int) -> bool:
    """Return whether the vectors of the event after `upto` are still to be made."""
    owed = reader.vectors_owed_from()
    return owed is not None and all(seq >= owed for seq, _ in reader.log(after=upto, limit=1))


def lag(reader: Reader) -> dict[str, int]:
    """Count the events that each view has not applied, and those whose words an older version indexed."""
    upto = reader.cursors()
    if reader.has_old_words:
        upto = {WORDS: 0, **upto}
    counts = {view: reader.count_behind(seq) for view, seq in upto.items()}
    return {view: count for view, count in counts.items() if count}


def catch_up(
    engine: Engine,
    space: str,
    views: Sequence[str],
    *,
    for_question: bool = False,
    within_s: float | None = None,
    progress: Progress = silent,
) -> int:
    """Apply the log to some views, up to the last event at this moment; return the number of events applied.

    for_question: apply only a few events, for a second at most, also where others hold the write lock; a thread in the
    background or a worker does the rest. within_s: likewise, but as many events as can be applied in so many seconds.
    Takes the write lock only where a view is behind.
    """
    if engine.store.read_only:
        return 0
    with engine.store.reader(space) as reader:
        target, missing = reader.last_seq, behind(reader, views, most=_FEW + 1)
        if not missing:
            return 0
    if for_question and missing > _FEW:
        derivers = [one for one in tuple(_known) if one.works_for(engine)]
        for one in derivers:
            one.wake(space, pause_s=_AFTER_QUESTION_S)
        if derivers or isinstance(engine.store, Workplace):
            return 0
    bound_s = _FEW_S if for_question else within_s
    end = None if bound_s is None else time.monotonic() + bound_s
    limit, total, waiting = BATCH if end is None else _FIRST_SLICE, 0, set[str]()
    while end is None or time.monotonic() < end:
        begun = time.monotonic()
        left = [view for view in views if view not in waiting]
        patience_s = None if end is None else max(0.001, end - begun)
        try:
            done, stuck = derive_batch(engine, engine.store, space, left, limit, patience_s=patience_s)
        except (StoreBusy, StoreFull):
            if end is None:
                raise
            break  # a question is answered all the same
        waiting |= stuck
        total += done
        progress("statements", total, total)
        if not done and not stuck:
            break
        if end is not None:
            limit = _next_limit(limit, time.monotonic() - begun)
        with engine.store.reader(space) as reader:
            cursors = reader.cursors()
        if all(cursors[view] >= target for view in views if view not in waiting):
            break
    return total


def derive_batch(
    engine: Engine, store: Store, space: str, views: Sequence[str], limit: int, *, patience_s: float | None = None
) -> tuple[int, frozenset[str]]:
    """Apply the next events to the views that are furthest behind, in one transaction.

    Return the number of events applied, and the views that must wait for something else, such as vectors.
    """
    if not views:
        return 0, frozenset()
    from everyword.knowledge.views import read_ahead

    with store.reader(space) as reader:
        found = read_ahead(engine, reader, views, limit)
    with store.writer(space, patience_s=patience_s) as writer:
        done, stuck = apply_batch(engine, writer, views, limit, found)
        if done and store is engine.store:
            engine.accesses.flush(writer)
        return done, stuck


def apply_batch(
    engine: Engine,
    writer: Writer,
    views: Sequence[str],
    limit: int,
    found: Mapping[int, EventReading] = MappingProxyType({}),
) -> tuple[int, frozenset[str]]:
    """Apply the next events within a transaction; see derive_batch. found: what the reader found in them, if it did."""
    from everyword.knowledge.views import BY_NAME, Batch  # reading events takes many patterns

    cursors, last = writer.cursors(), writer.last_seq
    start = min(cursors[view] for view in views)
    if start >= last:
        return 0, frozenset()
    rows = writer.log(after=start, limit=limit)
    batch, applied, stuck = Batch(engine, writer, rows, found), 0, set[str]()
    for view in views:
        mine = [row for row in rows if row[0] > cursors[view]]
        if not cursors[view]:
            BY_NAME[view].clear(writer)
        done = BY_NAME[view].apply(batch, mine) if mine else 0
        applied = max(applied, done)
        if done < len(mine):
            stuck.add(view)
            if done:
                writer.set_cursor(view, mine[done - 1][0])
        elif len(rows) < limit:
            # Nobody adds events under the write lock, so this page was the last.
            writer.set_cursor(view, last)
        elif mine:
            writer.set_cursor(view, mine[-1][0])
    return applied, frozenset(stuck)


def _next_limit(limit: int, took_s: float) -> int:
    """Choose the size of the next batch, so that it takes one slice of time."""
    return max(1, min(BATCH, 2 * limit, round(limit * _SLICE_S / max(took_s, 1e-4))))


class BackgroundDeriver:
    """A thread that encodes and derives what writes of this process left to do, while no write is under way."""

    def __init__(self, engine: Engine) -> None:
        self._engine = weakref.ref(engine)  # a memory that is dropped without close() must not stay open for this
        self._changed = threading.Condition()
        self._spaces: set[str] = set()
        self._written_at = 0.0
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()  # a forked child has neither the thread nor, perhaps, the lock
        _known.add(self)

    def works_for(self, engine: Engine) -> bool:
        return os.getpid() == self._process and self._engine() is engine

    def wake(self, space: str, *, pause_s: float = 0.0) -> None:
        """Note that a space was written to; return at once.

        pause_s: wait so long before the work begins, so that a process that asks once and ends does not wait for it.
        """
        if os.getpid() != self._process:
            return
        with self._changed:
            if self._stopping or threading.current_thread() is self._thread:
                return
            self._spaces.add(space)
            self._written_at = max(self._written_at, time.monotonic() + pause_s)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="everyword-deriver", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Stop after the text or the few events that are under way; what is left stays behind its cursors."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._stopping = True
            self._changed.notify()
            thread = self._thread
        if (engine := self._engine()) is not None:
            engine.stopping.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while (space := self._next()) is not None:
            engine = self._engine()
            if engine is None:
                break
            try:
                self._work_on(engine, space)
                engine.changed(space)
            except Closed:
                return
            except Exception as error:
                # The next write, or whoever reads a view, goes on with it. A program may turn warnings into errors.
                with suppress(UserWarning):
                    engine.models.say(f"Deriving in the background stopped ({type(error).__name__}): {error}")
            del engine

    def _next(self) -> str | None:
        """Wait for a space that was written to; None ends the thread."""
        with self._changed:
            if not self._spaces and not self._stopping:
                self._changed.wait(_IDLE_S)
            if self._stopping or not self._spaces:
                self._thread = None
                return None
            return self._spaces.pop()

    def _work_on(self, engine: Engine, space: str) -> None:
        limit, encoding = _FIRST_SLICE, engine.settings.embed_on_write
        left: tuple[str, ...] = views_of(engine.settings)
        while (left or encoding) and self._is_quiet():
            begun = time.monotonic()
            try:
                if encoding:
                    encoding = again(engine, partial(encode_some, engine, patience_s=_PATIENCE_S)) is not None
                    continue
                derive = partial(derive_batch, engine, engine.store, space, left, limit, patience_s=_PATIENCE_S)
                done, stuck = again(engine, derive)
            except StoreBusy:
                continue
            left = tuple(view for view in left if view not in stuck)
            if not done and not stuck:
                return
            limit = _next_limit(limit, time.monotonic() - begun)

    def _is_quiet(self) -> bool:
        """Wait until no write came for a moment, but not for long; False when the memory closes."""
        end = time.monotonic() + _LONGEST_WAIT_S
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                quiet_at = min(end, self._written_at + _QUIET_S)
                if now >= quiet_at:
                    return True
                self._changed.wait(quiet_at - now)
        return False


_known: weakref.WeakSet[BackgroundDeriver] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Let threads finish their batch before the interpreter goes."""
    for one in list(_known):
        one.close()


_ENCODED_AT_ONCE = 32  # events encoded and committed together
_CHARS_AT_ONCE = 64_000  # of these: 6 s of natural text, 40 s of base64
_LOOKED_AT = 512  # waiting events, among which those of people are encoded before those of assistants
_RETRY_FIRST_S = 2  # after a failed attempt; doubles up to a quarter of an hour
_RETRY_MOST_S = 900


def encode_some(
    engine: Engine, *, due: bool = True, patience_s: float | None = None, refused: set[int] | None = None
) -> int | None:
    """Encode some of the waiting events; return their number, or None where none is left or can be encoded now.

    due: leave those alone that failed and are not due again yet. patience_s: how long to wait for the write lock.
    refused: jobs to leave alone; those that the embedder refuses are added.
    """
    refused = set() if refused is None else refused
    with engine.store.file_reader() as reader:
        due_before = engine.now() if due else None
        jobs = reader.jobs(kind=EMBED, due_before=due_before, limit=_LOOKED_AT + len(refused))
        jobs = [job for job in jobs if job.id not in refused]
        serving = engine.models.serving(reader) if jobs else None
    if serving is None or serving.embedder is None:
        return None
    total = 0
    for space, some in grouped((job.space, job) for job in _first(engine, jobs)).items():
        encoded = _encode(engine, space, some, serving.embedder, serving.model, patience_s, refused)
        if encoded is None:
            return total or None
        total += encoded
    return total


def _first(engine: Engine, jobs: Sequence[Job]) -> Sequence[Job]:
    """Choose the next batch: what people said first, since answers of assistants are long and repeat it."""
    if len(jobs) <= _ENCODED_AT_ONCE:
        return jobs
    later: set[int] = set()
    for space, some in grouped((job.space, job) for job in jobs).items():
        with engine.store.reader(space) as reader:
            outlines = reader.outlines([job.seq for job in some])
        later |= {seq for seq, one in outlines.items() if (one.role or "").casefold() in ASSISTANTS}
    return sorted(jobs, key=lambda job: job.seq in later)[:_ENCODED_AT_ONCE]


def _encode(
    engine: Engine,
    space: str,
    jobs: Sequence[Job],
    embedder: Embedder,
    model: Model | None,
    patience_s: float | None,
    refused: set[int],
) -> int | None:
    """Encode events of one space, and postpone those that the embedder refuses; all of them if it takes none."""
    with engine.store.reader(space) as reader:
        jobs, events = _at_once(jobs, reader.fetch([job.seq for job in jobs]))
    try:
        found = dict(zip(events, embed_each(embedder, list(events.values()), engine.stopping), strict=True))
    except ModelError as error:
        with engine.store.file_writer() as writer:
            _postpone(engine, writer, dict.fromkeys(jobs, error))
        return None
    with engine.store.writer(space, patience_s=patience_s) as writer:
        active = next((one for one in writer.file.models() if one.state == "active"), None)
        if active is None:
            active = engine.models.register(writer.file, embedder)
        elif active != model:
            return 0  # a rebuild switched models; the next round uses the new one
        writer.put_vectors(active, {seq: one for seq, one in found.items() if not isinstance(one, ModelError)})
        for job in jobs:
            if job.seq not in events:
                writer.file.drop_job(job)
        failed = {job: error for job in jobs if isinstance(error := found.get(job.seq), ModelError)}
        _postpone(engine, writer.file, failed)
    refused |= {job.id for job in failed}
    return len(jobs) - len(failed)


def _at_once(jobs: Sequence[Job], events: Mapping[int, Event]) -> tuple[Sequence[Job], dict[int, Event]]:
    """Choose so many of the first jobs that their texts are committed together within seconds."""
    ends = accumulate(len(events[job.seq].text) if job.seq in events else 0 for job in jobs)
    jobs = jobs[: max(1, sum(end <= _CHARS_AT_ONCE for end in ends))]
    return jobs, {job.seq: events[job.seq] for job in jobs if job.seq in events}


def _postpone(engine: Engine, writer: FileWriter, failed: Mapping[Job, ModelError]) -> None:
    for job, error in failed.items():
        engine.models.say(f"Vectors are postponed: {error}")
        due_at = engine.next_attempt(job.attempts, first_s=_RETRY_FIRST_S, most_s=_RETRY_MOST_S)
        writer.fail_job(job, error=str(error), due_at=due_at)
