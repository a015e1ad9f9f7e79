"""How long it takes to forget one session of a large file, and how much of the file that writes."""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks.material import lines
from benchmarks.measure import table
from everyword import Memory
from everyword.ingest.redaction.redact import rules_of
from everyword.ingest.validation import drafts_of
from everyword.settings import Settings
from everyword.storage.rows import Draft, UnitVector
from everyword.storage.sqlite import SqliteStore
from everyword.types.events import Span
from everyword.types.times import utc_now

BATCH = 4096
TOKEN_BYTES = 6_000  # of an event: with them some 8 KB, as a chat line had with all derived layers
SESSIONS = 5  # forgotten one after the other


def forgetting(folder: Path, *, megabytes: int = 1000) -> dict[str, Any]:
    """Fill a file through the store, without a model, then forget sessions of 20 events."""
    path = folder / "forgetting.db"
    events = _fill(path, megabytes * 1_000_000)
    taken: list[float] = []
    with Memory.open(path, embedder="hashing", extract=False, fold=False) as memory:
        names = [f"session-{events // 20 * place // SESSIONS + 1}" for place in range(SESSIONS)]
        memory.forget(session=names[0], dry_run=True)  # brings along what a first call imports
        for name in names:
            begun = time.perf_counter()
            receipt = memory.forget(session=name)
            taken.append(time.perf_counter() - begun)
            assert receipt.scrubbed
            assert receipt.events == 20
    table(
        f"Forgetting a session of 20 events, in a file of {path.stat().st_size / 1e6:,.0f} MB with {events:,} events",
        ["", "s", "goal"],
        [["the first", f"{taken[0]:.2f}", "1"], ["the others, median", f"{np.median(taken[1:]):.2f}", "1"]],
    )
    return {"bytes": path.stat().st_size, "events": events, "seconds": taken}


def _fill(path: Path, size: int) -> int:
    chance = np.random.default_rng(1)
    settings = Settings(durability="normal", redact="none")
    store = SqliteStore(path, settings)
    made, events = lines(), 0
    with store.file_writer() as writer:
        model = writer.add_model(name="benchmark", version="1", dims=128, token_dims=96, state="active")
    try:
        while store.size()[0] < size:
            drafts = drafts_of(
                islice(made, BATCH), wing=None, clock=utc_now, settings=settings, rules=rules_of(settings, None)
            )
            with store.writer("default") as writer:
                vectors = [_with_vectors(draft, chance) for draft in drafts]
                writer.append(vectors, model, now=time.time_ns() // 1000, queue=False)
            events += BATCH
    finally:
        store.close()
    return events


def _with_vectors(draft: Draft, chance: np.random.Generator) -> Draft:
    pooled = chance.integers(-127, 127, 128, np.int8)
    vector = UnitVector(span=Span(0, len(draft.event.text)), pooled=pooled, tokens=chance.bytes(TOKEN_BYTES))
    return replace(draft, vectors=(vector,))


def main() -> None:
    """Measure with a size of one's own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", default=".bench")
    parser.add_argument("--megabytes", type=int, default=1000)
    asked = parser.parse_args()
    folder = Path(asked.folder)
    folder.mkdir(exist_ok=True)
    (folder / "forgetting.db").unlink(missing_ok=True)
    forgetting(folder, megabytes=asked.megabytes)


if __name__ == "__main__":
    main()
