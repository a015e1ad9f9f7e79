"""What an evaluation is made of. Task, system, metric and result know these values and not each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

LINES_TIMED = 20  # latency is that of a search for so many, about what an agent asks for


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event of a store, as a task gives it to a system. `key` is what evidence names."""

    key: str
    text: str
    speaker: str | None = None
    session: str | None = None
    role: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to one store."""

    id: str
    store: str
    text: str
    category: str
    evidence: tuple[str, ...] = ()  # keys of the lines that answer it
    sessions: tuple[str, ...] = ()  # sessions that answer it, where only those are known
    answer: str = ""
    answerable: bool = True
    now: datetime | None = None
    notes: str = ""  # what an audit said of the gold evidence or answer
    expects: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what else a task's own metrics need


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Stores, and questions to them. `graph` holds a gold graph where the task has one."""

    name: str
    data_hash: str
    stores: Mapping[str, Sequence[Line]]
    questions: Sequence[Asked]
    seed: int | None = None
    graph: Mapping[str, Any] = field(default_factory=dict[str, Any])
    remarks: Sequence[str] = ()  # wrong or missing gold evidence, what was left out and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One line that a system found, best first."""

    key: str
    score: float
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system gave for a question."""

    found: Sequence[Found]
    confidence: float | None = None  # that the memory holds an answer; for abstention
    pack: Callable[[int], str] | None = None  # token budget -> text, by the system itself; none: the runner packs
    took_ms: float | None = None  # what finding took, where the system knows better than the runner's clock


class System(Protocol):
    """A memory under test. One instance a run; stores never see each other."""

    name: str

    def ingest(self, store: str, lines: Sequence[Line]) -> float | None:
        """Take in all lines of a store; tell the ms that it took where that is known better than by the clock."""
        ...

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        """Find the lines that answer a question."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Tell version, recipe, model and whatever else a result must carry."""
        ...

    def size_bytes(self) -> int | None:
        """Tell what the stores take on disk, where that can be told."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@runtime_checkable
class Hurried(Protocol):
    """A system that may be slow to take lines in, and gives up with OutOfTime when `end` of the clock has passed."""

    end: float  # as `time.perf_counter` counts
