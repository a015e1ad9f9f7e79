"""Everyword beside other memories: the same texts, the same encoder, one run.

Each peer runs in an environment of its own (`evals.systems.peers`, installed on first use) and asks a loopback server
for the vectors of our default model. Everyword is measured as users have it, with that model in its own process, and
once more with the vectors of that server alone, as the peers have them. The systems take turns, call by call, so that
all see the same load of the machine. Times include encoding. The processor time of each system's own process, without
encoding, depends less on that load; it has no waiting for the disk. The views of Everyword are derived between the
measurements, and are part of its size.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from evals.systems.peers import SETUPS, CouldNotRun, EmbeddingServer, Peer, PeerFailed
from evals.values import Line

from benchmarks.material import QUESTIONS, lines
from benchmarks.measure import console, table, times_of
from everyword import Memory
from everyword.models.embedders import EverywordSmall
from everyword.models.protocol import Matches, ModelCard, Passage, Question
from everyword.types.times import as_datetime

SERVED = "everyword-served"  # with the server's pooled vectors alone
SYSTEMS = ("everyword", SERVED, "chroma", "mem0", "mempalace", "langgraph-sqlite")
SINGLE = 100  # events added one by one, once the others are there
WARM = 8  # events of another store, before anything is timed
BATCH = 100
ROUNDS = 3  # of every question
HITS = 10


class Metered:
    """The default model; counts the processor time spent in it."""

    def __init__(self) -> None:
        self._model = EverywordSmall()
        self.cpu_s = 0.0

    @property
    def card(self) -> ModelCard:
        return self._model.card

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        with self._counted():
            return self._model.passages(texts)

    def question(self, text: str) -> Question:
        with self._counted():
            return self._model.question(text)

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        return self._model.late_matches(question, passages)

    @contextmanager
    def _counted(self) -> Generator[None, None, None]:
        begun = time.process_time()
        try:
            yield
        finally:
            self.cpu_s += time.process_time() - begun


class ClosablePeer(Peer):
    """A peer whose size is taken after it has closed its files."""

    def add(self, store: str, given: Sequence[Line]) -> float:
        return self.ingest(store, given) / 1e3

    def ask(self, store: str, question: str) -> float:
        return (self.search(store, question, k=HITS, now=None).took_ms or 0.0) / 1e3

    def cpu_s(self) -> float:
        """Tell the processor time of its process so far, in ticks of 10 ms: right on average over many calls."""
        assert self._worker is not None
        fields = Path(f"/proc/{self._worker._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def closed_bytes(self) -> int:
        assert self._worker is not None
        self._worker.close()
        self._worker = None
        return self.size_bytes() or 0


class Ours:
    """Everyword through the same few calls."""

    def __init__(self, path: Path, metered: Metered, url: str | None = None) -> None:
        self._path = path
        self._metered = metered
        self.memory = Memory.open(path, f"{url}#passage" if url else metered, background=False)

    def add(self, store: str, given: Sequence[Line]) -> float:
        space = self.memory.space(store)
        events = [
            {"text": one.text, "speaker": one.speaker, "session": one.session, "at": one.at, "key": one.key}
            for one in given
        ]
        begun = time.perf_counter()
        space.add_many(events)
        return time.perf_counter() - begun

    def ask(self, store: str, question: str) -> float:
        space = self.memory.space(store)
        begun = time.perf_counter()
        space.recall(question, HITS)
        return time.perf_counter() - begun

    def cpu_s(self) -> float:
        return time.process_time() - self._metered.cpu_s

    def closed_bytes(self) -> int:
        self.memory.admin.settle()
        self.memory.close()
        return self._path.stat().st_size

    def close(self) -> None:
        self.memory.close()


System = Ours | ClosablePeer


def peers(folder: Path, *, events: int, systems: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure the systems in turns; print a table and return the numbers. What can't run gets a row that says why."""
    events = math.ceil(events / BATCH) * BATCH
    metered = Metered()
    server = EmbeddingServer(metered)
    running: dict[str, System] = {}
    problems: dict[str, str] = {}
    for name in systems or SYSTEMS:
        console.print(f"opening {name}", highlight=False)
        try:
            running[name] = _opened(name, folder, metered, server.url)
        except CouldNotRun as problem:
            problems[name] = str(problem)
    try:
        results = {**_measured(running, events), **problems}
    finally:
        for system in running.values():
            system.close()
        server.close()
    _print(results, events)
    return results


def _opened(name: str, folder: Path, metered: Metered, url: str) -> System:
    if name == "everyword":
        return Ours(folder / "everyword.db", metered)
    if name == SERVED:
        return Ours(folder / "everyword-served.db", metered, url)
    return ClosablePeer(name, SETUPS[name], metered)


def _measured(running: dict[str, System], events: int) -> dict[str, Any]:
    told = list(islice(_told(), WARM + events + SINGLE))
    warm, many, single = told[:WARM], told[WARM : WARM + events], told[WARM + events :]
    failed: dict[str, str] = {}

    def in_turns(action: Callable[[System], float]) -> dict[str, tuple[float, float]]:
        """Let each system do it; give the seconds that each took, and its processor time."""
        taken: dict[str, tuple[float, float]] = {}
        for name in [name for name in running if name not in failed]:
            system = running[name]
            try:
                before = system.cpu_s()
                taken[name] = (action(system), system.cpu_s() - before)
            except PeerFailed as problem:
                failed[name] = str(problem)
        return taken

    in_turns(lambda system: system.add("warm", warm) + system.ask("warm", QUESTIONS[0]))
    batched = [
        in_turns(lambda system, part=many[start : start + BATCH]: system.add("store", part))
        for start in range(0, events, BATCH)
    ]
    for system in running.values():
        if isinstance(system, Ours):
            system.memory.admin.settle()
    in_turns(lambda system: system.ask("store", QUESTIONS[0]))
    asked = [in_turns(lambda system, q=q: system.ask("store", q)) for _ in range(ROUNDS) for q in QUESTIONS]
    added = [in_turns(lambda system, one=one: system.add("store", [one])) for one in single]
    taken = {"batched": batched, "asked": asked, "added": added}
    return {
        name: failed[name]
        if name in failed
        else {
            **{what: times_of([each[name] for each in turns]) for what, turns in taken.items()},
            # Means, since ticks of 10 ms have no median.
            **{f"{what}_cpu": 1e3 * mean(each[name][1] for each in turns) for what, turns in taken.items()},
            "bytes": system.closed_bytes() / len(told),
        }
        for name, system in running.items()
    }


def _told() -> Iterator[Line]:
    for number, one in enumerate(lines(5)):
        yield Line(
            key=str(number),
            text=str(one["text"]),
            speaker=str(one["speaker"]),
            session=str(one["session"]),
            at=as_datetime(one["at"]),
        )


def _print(results: dict[str, Any], events: int) -> None:
    rows: list[list[object]] = []
    for name, found in results.items():
        if isinstance(found, str):
            rows.append([name, found])
            continue
        added, asked, batched = found["added"], found["asked"], found["batched"]
        rows.append(
            [
                name,
                f"{1e3 / added.p50:.0f}",
                f"{added} ({found['added_cpu']:.1f})",
                f"{BATCH * 1e3 / batched.p50:.0f} ({found['batched_cpu'] / BATCH:.1f})",
                f"{asked} ({found['asked_cpu']:.1f})",
                f"{found['bytes']:,.0f}",
            ]
        )
    table(
        f"{events:,} events of 40 words, the same encoder for all; in brackets ms of processor time besides it",
        ["", "adds/s", "one add, p50 / p99 ms", "batched, events/s", "search, p50 / p99 ms", "bytes an event"],
        rows,
    )
