"""A file and a server side by side: the same events in as many spaces, one client and many, each a process.

`python -m benchmarks.postgres writes --against PATH` compares this checkout with another one on one server, in turns:
adds a second and the median recall of 16 clients.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material import QUESTIONS, lines
from benchmarks.measure import table
from everyword import Memory
from everyword.settings import Settings
from everyword.storage.copy import copy_store
from everyword.storage.opening import open_store

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

# No model: what is measured is the store, and both get the same vectors.
EMBEDDER = "hashing"
BATCH = 50
MANY_SPACES = 10_000
_BARE = {"extract": False, "fold": False}  # derived layers are not part of the write then
_OURS = Path(__file__).parent.parent
WRITE_ROUNDS = 3  # in which checkouts take turns
OPENINGS = 7  # new processes that ask one question


def serving(
    folder: Path,
    *,
    events: int = 100_000,
    spaces: int = 100,
    clients: tuple[int, ...] = (1, 16),
    seconds: float = 10,
    filled: str | None = None,
) -> dict[str, Any]:
    """Measure both stores in one run, with a memory that is filled for it or copied from one that was."""
    from postgres_server import running

    results: dict[str, Any] = {"events": events, "spaces": spaces}
    file = str(folder / "compared.db")
    if filled:
        shutil.copy(filled, file)
    else:
        begun = time.perf_counter()
        fill(file, events, spaces)
        results["filled_per_s"] = events / (time.perf_counter() - begun)
    with running(durable=True) as server:
        results["copied"] = _copied(file, server.location)
        for name, location in (("sqlite", file), ("postgresql", server.location)):
            results[name] = {
                "bytes_an_event": _size(location) / events,
                "clients": {count: _load(location, spaces, count, seconds) for count in clients},
            }
        results["opening_ms"] = _openings(server, spaces)
    _print(results)
    return results


def fill(location: str, events: int, spaces: int, **settings: bool) -> None:
    """Write events in batches, to one space after the other."""
    made = lines()
    with Memory.open(location, embedder=EMBEDDER, durability="normal", **settings) as memory:
        for number in range(0, events, BATCH):
            memory.space(f"tenant {number // BATCH % spaces}").add_many(list(islice(made, min(BATCH, events - number))))
        if not settings:
            memory.admin.settle()  # what waits would be folded while adding is timed


def _copied(source: str, target: str) -> dict[str, float]:
    old, new = open_store(source, Settings()), open_store(target, Settings())
    begun = time.perf_counter()
    copied = copy_store(old, new, lambda what, done, total: None)
    took = time.perf_counter() - begun
    old.close()
    new.close()
    return {"rows": copied.rows, "seconds": took}


def _size(location: str) -> float:
    store = open_store(location, Settings())
    try:
        return store.size()[0]
    finally:
        store.close()


def _load(
    location: str, spaces: int, clients: int, seconds: float, *, checkout: Path = _OURS, derives: bool = True
) -> dict[str, Any]:
    """Let clients ask, then write, for some seconds each; every client is a process."""
    measured: dict[str, Any] = {}
    command = [sys.executable, "-m", "benchmarks.postgres"]
    env = _environment(checkout)
    for what in ("recall", "add"):
        processes = [
            subprocess.Popen(
                [*command, what, location, *map(str, (spaces, number, seconds, derives))],
                cwd=checkout,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(clients)
        ]
        for process in processes:  # all are ready before one begins
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        taken = [time_ms for process in processes for time_ms in json.loads(process.communicate()[0])]
        measured[what] = {
            "per_s": len(taken) / seconds,
            "p50": float(np.median(taken)),
            "p99": float(np.quantile(taken, 0.99)),
        }
    return measured


def _environment(checkout: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}


def writes(*, against: str | None = None, events: int = 5_000, spaces: int = 32, seconds: float = 10) -> dict[str, Any]:
    """Let 16 clients add and recall with each checkout in turns, each with its own code and benchmark."""
    from postgres_server import running

    runs = {"now": (_OURS, True), "nothing derived": (_OURS, False)}
    if against:
        runs = {"before": (Path(against), True)} | runs
    measured: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    with running(durable=True) as server:
        places = {name: f"{server.location}?schema={name.replace(' ', '_')}" for name in runs}
        for name, (checkout, derives) in runs.items():
            settings = {} if derives else _BARE
            filling = f"from benchmarks.postgres import fill; fill({places[name]!r}, {events}, {spaces}, **{settings})"
            subprocess.run([sys.executable, "-c", filling], cwd=checkout, env=_environment(checkout), check=True)
        for _ in range(WRITE_ROUNDS):
            for name, (checkout, derives) in runs.items():
                measured[name].append(_load(places[name], spaces, 16, seconds, checkout=checkout, derives=derives))
    results = {
        name: {
            what: {value: float(np.median([one[what][value] for one in several])) for value in ("per_s", "p50", "p99")}
            for what in ("add", "recall")
        }
        for name, several in measured.items()
    }
    rows: list[list[object]] = []
    for name, one in results.items():
        rows.append([name])
        for what in ("add", "recall"):
            rows[-1] += [f"{one[what]['per_s']:.0f}", f"{one[what]['p50']:.1f} / {one[what]['p99']:.1f}"]
    table(
        f"16 clients, {events:,} events in {spaces} spaces, {os.cpu_count()} cores",
        ["", "adds/s", "ms p50 / p99", "recalls/s", "ms p50 / p99"],
        rows,
    )
    return results


def _client(what: str, location: str, spaces: int, number: int, seconds: float, *, derives: bool) -> None:
    chance = np.random.default_rng(number)
    made: Iterator[dict[str, object]] = lines(seed=time.time_ns() % 1_000_000_007 + number)
    taken: list[float] = []
    with Memory.open(location, embedder=EMBEDDER, **({} if derives else _BARE)) as memory:
        handles = [memory.space(f"tenant {n}") for n in range(spaces)]
        for handle in handles:  # what is measured is a process that has been running, not one that begins
            handle.recall(QUESTIONS[0])
        if what == "add":  # the first write brings the patterns along that read what events state
            handles[0].add_many([next(made)])
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.perf_counter() + seconds
        while (begun := time.perf_counter()) < end:
            handle = handles[int(chance.integers(spaces))]
            if what == "recall":
                handle.recall(QUESTIONS[int(chance.integers(len(QUESTIONS)))])
            else:
                handle.add_many([next(made)])
            taken.append((time.perf_counter() - begun) * 1e3)
    print(json.dumps(taken))


def _openings(server: Any, spaces: int) -> dict[str, float]:
    """Time the first answer of a new process, with few spaces beside its own and with many."""
    few = f"{server.location}?schema=few"
    many = f"{server.location}?schema=many"
    fill(few, 10 * BATCH, 10)
    fill(many, 10 * BATCH, 10)
    _spread(many, MANY_SPACES)
    taken: dict[str, list[float]] = {few: [], many: []}
    for _ in range(OPENINGS):
        for location, times in taken.items():
            begun = time.perf_counter()
            with Memory.open(location, embedder=EMBEDDER) as memory:
                memory.space("tenant 3").recall(QUESTIONS[0])
            times.append((time.perf_counter() - begun) * 1e3)
    return {"10 spaces": float(np.median(taken[few])), f"{MANY_SPACES} spaces": float(np.median(taken[many]))}


def _spread(location: str, spaces: int) -> None:
    from everyword.ingest.redaction.redact import rules_of
    from everyword.ingest.validation import drafts_of
    from everyword.types.times import utc_now

    settings = Settings(durability="normal")
    store, rules = open_store(location, settings), rules_of(settings, None)
    made = lines(seed=7)
    for start in range(0, spaces, 100):
        with store.file_writer() as writer:
            for number in range(start, start + 100):
                drafts = drafts_of([next(made)], wing=None, clock=utc_now, settings=settings, rules=rules)
                writer.writer(f"spread {number}").append(drafts, None, now=time.time_ns() // 1000, queue=False)
    store.close()


def _print(results: dict[str, Any]) -> None:
    rows: list[list[object]] = []
    for name in ("sqlite", "postgresql"):
        for clients, one in results[name]["clients"].items():
            rows.append([f"{name}, {clients} client{'s' if clients > 1 else ''}"])
            for what in ("add", "recall"):
                rows[-1] += [f"{one[what]['per_s']:.0f}", f"{one[what]['p50']:.1f} / {one[what]['p99']:.1f}"]
    table(
        f"{results['events']:,} events in {results['spaces']} spaces, {os.cpu_count()} cores",
        ["", "adds/s", "ms p50 / p99", "recalls/s", "ms p50 / p99"],
        rows,
    )
    sizes = [[name, f"{results[name]['bytes_an_event']:.0f}"] for name in ("sqlite", "postgresql")]
    table("Size", ["", "bytes an event"], sizes)
    table(
        "A new process's first answer", ["", "ms"], [[name, f"{ms:.0f}"] for name, ms in results["opening_ms"].items()]
    )
    copied = results["copied"]
    table("everyword migrate", ["rows", "rows/s"], [[copied["rows"], f"{copied['rows'] / copied['seconds']:.0f}"]])


def main() -> None:
    """Be a client, or measure with sizes of one's own."""
    if sys.argv[1:2] in (["recall"], ["add"]):
        what, location, spaces, number, seconds, derives = sys.argv[1:7]
        _client(what, location, int(spaces), int(number), float(seconds), derives=derives == "True")
        return
    if sys.argv[1:2] == ["writes"]:
        parser = argparse.ArgumentParser(description="Compare two checkouts on one server.")
        parser.add_argument("--against", metavar="CHECKOUT", help="the root of another checkout")
        parser.add_argument("--seconds", type=float, default=10)
        asked = parser.parse_args(sys.argv[2:])
        writes(against=asked.against, seconds=asked.seconds)
        return
    parser = argparse.ArgumentParser(description="Compare a file and a server.")
    parser.add_argument("--folder", default=".bench")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--spaces", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--filled", metavar="FILE", help="a memory with that many events and spaces, to be copied")
    asked = parser.parse_args()
    folder = Path(asked.folder)
    folder.mkdir(exist_ok=True)
    (folder / "compared.db").unlink(missing_ok=True)
    results = serving(
        folder,
        events=asked.events,
        spaces=asked.spaces,
        clients=tuple(asked.clients),
        seconds=asked.seconds,
        filled=asked.filled,
    )
    (folder / "postgres.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
