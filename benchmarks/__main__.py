"""`python -m benchmarks`: speed, size and survival of what ships, in tables. Takes minutes on a quiet machine."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import table, times

PARTS = (
    "start",
    "encoding",
    "writing",
    "peers",
    "growth",
    "linking",
    "forgetting",
    "survival",
    "serving",
    "page",
    "postgres",
)


def main() -> None:
    """Run the parts that were asked for and keep the numbers in .bench/results.json."""
    asked = _arguments()
    folder = Path(asked.folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    results: dict[str, Any] = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "at": time.strftime("%F"),
    }
    if "start" in asked.only:
        results["help_ms"] = _start()
    if "encoding" in asked.only:
        from benchmarks.encoding import encoding

        results["encoding"] = encoding(asked.texts)
    if "writing" in asked.only:
        from benchmarks.writing import writing

        results["writing"] = writing(folder)
    if "peers" in asked.only:
        from benchmarks.peers import peers

        results["peers"] = peers(folder, events=asked.events, systems=asked.systems)
    if "growth" in asked.only:
        from benchmarks.growth import growth

        results["growth"] = growth(folder, asked.sizes, kind=asked.kind, views=not asked.no_views)
    if "linking" in asked.only:
        from benchmarks.linking import linking

        results["linking"] = linking(folder, asked.sizes)
    if "forgetting" in asked.only:
        from benchmarks.forgetting import forgetting

        results["forgetting"] = forgetting(folder)
    if "survival" in asked.only:
        results["survival"] = _survival(folder, asked.kills, asked.storm_s)
    if "serving" in asked.only:
        from benchmarks.serving import serving

        results["serving"] = serving(
            folder,
            events=asked.served,
            clients=asked.clients,
            seconds=asked.load_s,
            pauses=asked.pauses,
            processes=asked.processes,
            filled=asked.filled,
        )
    if "page" in asked.only:
        from benchmarks.page import page

        results["page"] = page(folder, events=max(asked.sizes), filled=asked.filled)
    if "postgres" in asked.only:
        from benchmarks.postgres import serving as on_a_server
        from benchmarks.postgres import writes

        results["postgres"] = on_a_server(folder)
        results["postgres_writes"] = writes()
    (folder / "results.json").write_text(json.dumps(results, indent=1, default=_plain))


def _start() -> float:
    command = [str(Path(sys.executable).with_name("everyword")), "--help"]
    taken = times([lambda: subprocess.run(command, check=True, capture_output=True)], 10)
    table("Starting", ["", "ms p50 / p99", "goal"], [["everyword --help", taken, "150"]])
    return taken.p50


def _survival(folder: Path, kills: int, storm_s: float) -> dict[str, Any]:
    from benchmarks.survival import kill_round, storm

    rounds = [kill_round(folder / f"killed-{seed}.db", seed) for seed in range(kills)]
    stormed = storm(folder / "storm.db", writers=8, readers=4, seconds=storm_s)
    table(
        f"kill -9 at a random moment of a write storm, {kills} times",
        ["acknowledged", "lost", "came back", "unfindable", "half written", "problems"],
        [
            [
                sum(one.acknowledged for one in rounds),
                *(
                    sum(len(getattr(one, name)) for one in rounds)
                    for name in ("lost", "returned", "unfindable", "half")
                ),
                sum(len(one.problems) for one in rounds),
            ]
        ],
    )
    table(
        f"8 processes write and 4 read one file for {storm_s:.0f} s",
        ["events", "events/s", "fewest, most a writer", "lost", "doubled", "errors", "longest wait, s", "goal"],
        [
            [
                stormed.added,
                f"{stormed.per_second:.0f}",
                f"{stormed.fewest}, {stormed.most}",
                stormed.lost,
                stormed.doubled,
                len(stormed.errors),
                f"{stormed.longest_wait_s:.2f}",
                "2",
            ]
        ],
    )
    return {"kill": rounds, "storm": stormed}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument(
        "--sizes", type=lambda text: [int(one) for one in text.split(",")], default=[1_000, 10_000, 100_000]
    )
    parser.add_argument(
        "--kind", choices=("lines", "chat", "assistant"), default="lines", help="of the events that growth writes"
    )
    parser.add_argument("--no-views", action="store_true", help="growth without what is derived")
    parser.add_argument("--events", type=int, default=1_000, help="that each peer is given")
    parser.add_argument("--systems", type=lambda text: text.split(","), help="of the peers, instead of all")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="files whose texts are encoded as well")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--storm-s", type=float, default=30.0)
    parser.add_argument("--served", type=int, default=50_000, help="events in the memory that is served")
    parser.add_argument("--filled", help="a memory to copy and ask or serve, instead of filling one")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1, help="that serve")
    parser.add_argument("--load-s", type=float, default=60.0)
    parser.add_argument("--pauses", type=lambda text: [float(one) for one in text.split(",")], default=[20.0, 10.0])
    parser.add_argument("--folder", default=".bench")
    return parser.parse_args()


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


if __name__ == "__main__":
    main()
