"""The queue of what an LLM is to do: one takes a job for a while, and one that fails waits longer and longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from recollect.core.errors import ModelError, RecollectError, StoreError
from recollect.engine.engine import Engine
from recollect.inference.protocol import LLM
from recollect.store.protocol import Job

# How long nobody else takes what is being done: longer than two requests with all their attempts mostly take. Should it
# end before, it is done twice and the second answer is thrown away.
_LEASE_S = 900
_RETRY_FIRST_S = 2  # after no answer; doubles up to a quarter of an hour
_RETRY_MOST_S = 900
_AGAIN_FIRST_S = 60  # after an answer that is of no use: asking again costs tokens; doubles up to a day
_AGAIN_MOST_S = 86_400
_DOUBLINGS = 20  # of a wait, more than either limit needs: attempts grow without end, numbers should not
_MOST_USELESS = 3  # answers of no use in a row, after which others are not asked for: it is the model, not the question
_SECOND = 1_000_000  # microseconds


def llm_to_read(engine: Engine) -> LLM | None:
    """Give the LLM that is to read events, if one is."""
    return engine.llm if engine.settings.llm_extract and not engine.store.read_only else None


def llm_to_fold(engine: Engine) -> LLM | None:
    """Give the LLM that is to write of many events, if one is."""
    return engine.llm if engine.settings.llm_fold and not engine.store.read_only else None


class Worked(NamedTuple):
    done: int  # in the words of the one who did it
    last: bool  # nothing is due any more, or nothing can be done now


def work_through(
    engine: Engine,
    llm: LLM | None,
    kind: str,
    do: Callable[[LLM, Job], int],
    *,
    failing: str,
    told: Callable[[int], None],
    most: int | None = None,
) -> Worked:
    """Do the jobs of a kind that are due, one by one, until `most` are done. Only the store's own errors leave this.

    What fails waits, and `failing` says what of: the others are tried, unless nothing answers at all.
    """
    done = useless = 0
    while llm is not None and useless < _MOST_USELESS and (most is None or done < most):
        job = _taken(engine, kind)
        if job is None:
            return Worked(done, last=True)
        try:
            done += do(llm, job)
            useless = 0
        except StoreError:
            raise
        except RecollectError as error:
            _postpone(engine, job, error, failing)
            if not _is_about_the_question(error):
                return Worked(done, last=True)
            useless += 1
        told(done)
    return Worked(done, last=llm is None or useless >= _MOST_USELESS)


def _taken(engine: Engine, kind: str) -> Job | None:
    """Take the oldest job that is due, so that nobody else does for a while."""
    now = engine.now()
    with engine.store.reader() as reader:
        if not reader.jobs(kind=kind, due_before=now, limit=1):
            return None
    with engine.store.writer() as writer:
        return next(iter(writer.take_jobs(kind, now=now, until=now + _LEASE_S * _SECOND, limit=1)), None)


def _is_about_the_question(error: RecollectError) -> bool:
    """Tell whether another question may fare better: not where there is no answer at all."""
    return isinstance(error, ModelError) and not getattr(error, "retryable", False)


def _postpone(engine: Engine, job: Job, error: RecollectError, what: str) -> None:
    """Let a job wait, and say so."""
    about = _is_about_the_question(error)
    first, most = (_AGAIN_FIRST_S, _AGAIN_MOST_S) if about else (_RETRY_FIRST_S, _RETRY_MOST_S)
    wait_s = min(most, first * 2 ** min(job.attempts, _DOUBLINGS))
    with engine.store.writer() as writer:
        writer.fail_job(job, error=str(error), due_at=engine.now() + wait_s * _SECOND)
    engine.models.say(f"{what} has to wait: {error}")
