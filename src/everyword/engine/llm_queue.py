"""The queue of LLM jobs: take a job under a lease, and retry failures with exponential backoff."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from everyword.engine.engine import Engine
from everyword.errors import EverywordError, ModelError, StoreError
from everyword.models.protocol import LLM
from everyword.storage.rows import Job

# For this time no other process takes the job: longer than two requests with their retries usually take. If the lease
# ends earlier, the job is done twice and the second answer is dropped.
_LEASE_S = 900
_RETRY_FIRST_S = 2  # after no answer; doubles up to a quarter of an hour
_RETRY_MOST_S = 900
_USELESS_FIRST_S = 60  # after a useless answer, since asking again costs tokens; doubles up to a day
_USELESS_MOST_S = 86_400
_MOST_USELESS = 3  # useless answers in a row, after which the model itself is taken to be the problem
_SECOND = 1_000_000  # microseconds


def llm_to_read(engine: Engine) -> LLM | None:
    """Return the LLM that reads events, if there is one."""
    return engine.llm if engine.settings.llm_extract and not engine.store.read_only else None


def llm_to_fold(engine: Engine) -> LLM | None:
    """Return the LLM that summarises sessions and revises concepts, if there is one."""
    return engine.llm if engine.settings.llm_fold and not engine.store.read_only else None


class Worked(NamedTuple):
    """How much of a queue was done."""

    done: int  # as counted by `do`
    last: bool  # no job is due, or none can be done now


def work_through(
    engine: Engine,
    llm: LLM | None,
    kind: str,
    do: Callable[[LLM, Job], int],
    *,
    failing: str,
    on_done: Callable[[int], None],
    most: int | None = None,
) -> Worked:
    """Do the due jobs of a kind, one by one, until `most` are done. Raises only errors of the store.

    A job that fails is postponed, with a warning that begins with `failing`. The next one is tried unless the LLM does
    not answer at all.
    """
    done = useless = 0
    while llm is not None and useless < _MOST_USELESS and (most is None or done < most):
        job = _take(engine, kind)
        if job is None:
            return Worked(done, last=True)
        try:
            done += do(llm, job)
            useless = 0
        except StoreError:
            raise
        except EverywordError as error:
            _postpone(engine, job, error, failing)
            if not _is_about_the_question(error):
                return Worked(done, last=True)
            useless += 1
        on_done(done)
    return Worked(done, last=llm is None or useless >= _MOST_USELESS)


def _take(engine: Engine, kind: str) -> Job | None:
    """Take the oldest due job, under a lease."""
    now = engine.now()
    with engine.store.file_reader() as reader:
        if not reader.jobs(kind=kind, due_before=now, limit=1):
            return None
    with engine.store.file_writer() as writer:
        return next(iter(writer.take_jobs(kind, now=now, until=now + _LEASE_S * _SECOND, limit=1)), None)


def _is_about_the_question(error: EverywordError) -> bool:
    """Tell whether another question may succeed; not if the LLM does not answer at all."""
    return isinstance(error, ModelError) and not getattr(error, "retryable", False)


def _postpone(engine: Engine, job: Job, error: EverywordError, what: str) -> None:
    """Postpone a job and warn."""
    about = _is_about_the_question(error)
    first, most = (_USELESS_FIRST_S, _USELESS_MOST_S) if about else (_RETRY_FIRST_S, _RETRY_MOST_S)
    due_at = engine.next_attempt(job.attempts, first_s=first, most_s=most)
    with engine.store.file_writer() as writer:
        writer.fail_job(job, error=str(error), due_at=due_at)
    engine.models.say(f"{what} is postponed: {error}")
