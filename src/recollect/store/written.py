"""What a store must do for what an LLM writes of many events: summaries of sessions, plans for the concept graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

SUMMARISE = "summarise"  # the kind of job that lets an LLM write of a session; its event is the first of the session
PLAN = "plan"  # the kind of job that lets an LLM word concepts; its event is one that made a concept


class WrittenRow(NamedTuple):
    """What an LLM wrote of a session."""

    session: str
    events: int  # how many it was written of
    extractor: str
    refused: int
    body: str


class PlanRow(NamedTuple):
    """A plan that an LLM proposed after an event."""

    seq: int
    place: int  # among the plans after that event
    extractor: str
    refused: bool
    body: str


class Reach(NamedTuple):
    """How many events a session has, and the first of them to arrive."""

    events: int
    first: int | None


class WrittenReader(Protocol):
    """What was written, in a snapshot."""

    def written(self, space: str, sessions: Sequence[str]) -> dict[str, WrittenRow]:
        """Read what an LLM wrote of sessions."""
        ...

    def session_reach(self, space: str, session: str) -> Reach:
        """Tell how long a session is, and where it begins."""
        ...

    def plans_at(self, space: str, seqs: Sequence[int]) -> list[PlanRow]:
        """Read the plans that were proposed after events, in their order."""
        ...

    def plans_resting_on(self, space: str, seqs: Sequence[int]) -> list[tuple[int, int]]:
        """List the plans that rest on events or use their words, by event and place."""
        ...

    def last_plan(self, space: str) -> int:
        """Tell the last event after which a plan was proposed; 0 where none was."""
        ...

    def last_event_upto(self, space: str, seq: int) -> int | None:
        """Tell the last event up to a number."""
        ...

    def refusals(self, space: str) -> int:
        """Count what was not let in of what an LLM answered."""
        ...


class WrittenWriter(WrittenReader, Protocol):
    """Changes to what was written, within a transaction."""

    def put_written(self, space: str, row: WrittenRow) -> None:
        """Keep what an LLM wrote of a session."""
        ...

    def drop_written(self, space: str, sessions: Sequence[str]) -> None:
        """Remove what an LLM wrote of sessions."""
        ...

    def owe_job(self, space: str, kind: str, seq: int, *, due_at: int) -> None:
        """Leave a job for an event, or put off the one that is there; one that failed stays as it is."""
        ...

    def put_plan(
        self, space: str, seq: int, *, extractor: str, refused: bool, body: str, sources: Sequence[int]
    ) -> int:
        """Keep a plan that was proposed after an event; tell its place among those after that event."""
        ...

    def drop_plans(self, space: str, plans: Sequence[tuple[int, int]]) -> None:
        """Remove plans, by event and place."""
        ...
