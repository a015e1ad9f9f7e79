"""The service under load: many clients ask and write at once over HTTP; is anything lost, slow or growing?"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.material import QUESTIONS, SampledEmbedder, lines
from benchmarks.measure import console, table
from everyword import Memory

BATCH = 1_000
WRITE_SHARE = 0.2
PATIENCE_S = 120.0  # for one answer: beyond, it counts as an error


@dataclass
class Load:
    """What a run of clients saw."""

    clients: int
    pause_s: float  # how long each thinks between two requests, on average
    seconds: float = 0.0
    recalls: list[float] = field(default_factory=list)  # seconds each
    adds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    lost: int = 0
    memory_mb: list[float] = field(default_factory=list)  # of the service, each second
    cpu_s: float = 0.0  # of the service
    others: float = 0.0  # the machine's load average meanwhile, less than which a core has nothing else to do

    @property
    def done(self) -> int:
        """Count the requests that were answered."""
        return len(self.recalls) + len(self.adds)

    def row(self) -> list[object]:
        """Lay out for the table."""
        quarter = max(1, len(self.memory_mb) // 4)
        begin, end = np.median(self.memory_mb[quarter : 2 * quarter]), np.median(self.memory_mb[-quarter:])
        return [
            f"{self.clients}, each every {self.pause_s:g} s",
            f"{self.done / self.seconds:.1f}",
            f"{self.cpu_s / max(1, self.done) * 1e3:.0f}",
            _quantiles(self.recalls),
            _quantiles(self.adds),
            len(self.errors),
            f"{self.lost} of {len(self.acknowledged)}",
            f"{begin:.0f}, {end:.0f}",
            f"{self.others:.0f}",
        ]


def serving(
    folder: Path,
    *,
    events: int,
    clients: int,
    seconds: float,
    pauses: list[float],
    processes: int = 1,
    filled: str | None = None,
) -> list[Load]:
    """Fill a memory (or copy one that is filled), serve it, and let clients at it, faster with each run."""
    path = folder / "served.db"
    if filled:
        shutil.copy(filled, path)
    else:
        _fill(path, events)
    with Memory.open(path, embedder="none") as memory:
        events = memory.stats().events
    results: list[Load] = []
    for pause_s in pauses:
        process, address = _serve(path, processes)
        try:
            loaded = asyncio.run(_load(address, process.pid, clients, seconds, pause_s, f"p{pause_s}"))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        loaded.lost = _lost(path, loaded.acknowledged)
        results.append(loaded)
        console.print(f"{loaded.row()}  {sorted(set(loaded.errors))[:3]}", highlight=False)
    table(
        f"{clients} clients for {seconds:.0f} s over {events:,} events, 80% recall, 20% add, {processes} process(es)",
        ["clients", "answers/s", "CPU ms", "recall p50 / p99, ms", "add p50 / p99, ms", "errors", "lost", "MB", "load"],
        [one.row() for one in results],
    )
    return results


def _fill(path: Path, events: int) -> None:
    source = lines(1)
    with Memory.open(path, embedder=SampledEmbedder(), durability="normal") as memory:
        for _ in range(0, events, BATCH):
            memory.add_many(list(islice(source, BATCH)))
        memory.admin.settle()  # large writes leave concepts to be folded later: here that would be under the load


def _serve(path: Path, processes: int) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "everyword", "serve", "--port", "0", "--memory", str(path), "--no-mcp"]
    # All clients are one user of this machine here, whom the rate would stop: it is not what is measured.
    command += ["--rate", "0", "--processes", str(processes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().split(" at ")[1].split()[0]
    for _ in range(4 * processes):  # each on a connection of its own, so that every process is warm
        httpx.get(f"{address}/v1/recall", params={"query": "warm"}, timeout=PATIENCE_S).raise_for_status()
    return process, address


async def _load(address: str, pid: int, clients: int, seconds: float, pause_s: float, run: str) -> Load:
    load = Load(clients=clients, pause_s=pause_s)
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=address, timeout=PATIENCE_S, limits=limits) as http:
        watching = asyncio.create_task(_watch(pid, load))
        written = lines(seed=7)
        next(written)  # the first one takes a while: it makes the vocabulary
        begun, cpu = time.perf_counter(), _cpu_s(pid)
        asking = (_client(http, load, written, number, begun + seconds, run) for number in range(clients))
        await asyncio.gather(*asking)
        load.seconds, load.cpu_s = time.perf_counter() - begun, _cpu_s(pid) - cpu
        load.others = os.getloadavg()[0]
        watching.cancel()
    return load


async def _client(
    http: httpx.AsyncClient, load: Load, written: Iterator[dict[str, object]], number: int, until: float, run: str
) -> None:
    chance = random.Random(f"{run}-{number}")
    await _think(chance, load, until)
    count = 0
    while time.perf_counter() < until:
        count += 1
        begun = time.perf_counter()
        try:
            if chance.random() < WRITE_SHARE:
                key = f"{run}-{number}-{count}"
                event = {**next(written), "key": key}
                answer = await http.post("/v1/add", content=json.dumps(event), headers=_JSON)
                answer.raise_for_status()
                load.acknowledged.append(key)
                load.adds.append(time.perf_counter() - begun)
            else:
                # No two questions are alike: nothing is answered from what was asked before.
                question = f"{chance.choice(QUESTIONS)} {chance.choice(QUESTIONS)} {number}-{count}"
                answer = await http.get("/v1/recall", params={"query": question})
                answer.raise_for_status()
                load.recalls.append(time.perf_counter() - begun)
        except httpx.HTTPError as error:
            load.errors.append(f"{type(error).__name__}: {str(error)[:100]} {_told(error)}")
        await _think(chance, load, until)


async def _think(chance: random.Random, load: Load, until: float) -> None:
    pause_s = chance.expovariate(1 / load.pause_s) if load.pause_s else 0.0
    await asyncio.sleep(max(0.0, min(pause_s, until - time.perf_counter())))


def _told(error: httpx.HTTPError) -> str:
    return error.response.text[-200:] if isinstance(error, httpx.HTTPStatusError) else ""


async def _watch(pid: int, load: Load) -> None:
    while True:
        load.memory_mb.append(_resident_mb(pid))
        await asyncio.sleep(1)


def _cpu_s(pid: int) -> float:
    """Tell the time that the service has computed: unlike the time it took, others do not change it much."""
    stats = [Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split() for one in _family(pid)]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int) -> float:
    pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in _family(pid))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _family(pid: int) -> list[int]:
    """List a process and those that it started: `--processes` has the work done by others."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def _lost(path: Path, keys: list[str]) -> int:
    with Memory.open(path, embedder="none", create=False) as memory:
        kept = {event.key for event in memory.events(newest_first=True)}
    return sum(key not in kept for key in keys)


def _quantiles(taken: list[float]) -> str:
    if not taken:
        return "-"
    return f"{np.median(taken) * 1e3:,.0f} / {np.quantile(taken, 0.99) * 1e3:,.0f}"


_JSON: dict[str, Any] = {"content-type": "application/json"}
