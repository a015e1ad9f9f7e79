"""Encode events whose vectors were left for later."""

from __future__ import annotations

from collections.abc import Sequence

from everyword.engine.encoding import embed
from everyword.engine.engine import Engine
from everyword.errors import ModelError
from everyword.models.protocol import Embedder
from everyword.storage.protocol import EMBED, Job, Model
from everyword.types.events import ASSISTANTS

_BATCH = 32  # events encoded and committed together
_LOOKED_AT = 512  # waiting events, among which those of people are encoded before those of assistants
_RETRY_FIRST_S = 2  # after a failed attempt; doubles up to a quarter of an hour
_RETRY_MOST_S = 900
_SECOND = 1_000_000  # microseconds


def encode_some(engine: Engine, *, due: bool = True, patience_s: float | None = None) -> int:
    """Encode some of the waiting events; return their number, 0 where none is left or none can be encoded now.

    due: leave those alone that failed and are not due again yet. patience_s: how long to wait for the write lock.
    """
    with engine.store.file_reader() as reader:
        jobs = reader.jobs(kind=EMBED, due_before=engine.now() if due else None, limit=_LOOKED_AT)
        serving = engine.models.serving(reader) if jobs else None
    if serving is None or serving.embedder is None:
        return 0
    return sum(
        _encode(engine, space, some, serving.embedder, serving.model, patience_s)
        for space, some in _by_space(_first(engine, jobs)).items()
    )


def _first(engine: Engine, jobs: Sequence[Job]) -> Sequence[Job]:
    """Choose the next batch: what people said first, since answers of assistants are long and repeat it."""
    if len(jobs) <= _BATCH:
        return jobs
    later: set[int] = set()
    for space, some in _by_space(jobs).items():
        with engine.store.reader(space) as reader:
            outlines = reader.outlines([job.seq for job in some])
        later |= {seq for seq, one in outlines.items() if (one.role or "").casefold() in ASSISTANTS}
    return sorted(jobs, key=lambda job: job.seq in later)[:_BATCH]


def _by_space(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.space, []).append(job)
    return found


def _encode(
    engine: Engine,
    space: str,
    jobs: Sequence[Job],
    embedder: Embedder,
    model: Model | None,
    patience_s: float | None,
) -> int:
    with engine.store.reader(space) as reader:
        events = reader.fetch([job.seq for job in jobs])
    try:
        vectors = dict(zip(events, embed(embedder, list(events.values())), strict=True))
    except ModelError as error:
        _postpone(engine, jobs, error)
        return 0
    with engine.store.writer(space, patience_s=patience_s) as writer:
        active = next((one for one in writer.file.models() if one.state == "active"), None)
        if active is None:
            active = engine.models.register(writer.file, embedder)
        elif active != model:
            return 0  # a rebuild switched models; the next round uses the new one
        writer.put_vectors(active, vectors)
        for job in jobs:
            if job.seq not in events:
                writer.file.drop_job(job)
    return len(jobs)


def _postpone(engine: Engine, jobs: Sequence[Job], error: ModelError) -> None:
    engine.models.say(f"Vectors are postponed: {error}")
    with engine.store.file_writer() as writer:
        for job in jobs:
            wait_s = min(_RETRY_MOST_S, _RETRY_FIRST_S * 2**job.attempts)
            writer.fail_job(job, error=str(error), due_at=engine.now() + wait_s * _SECOND)
