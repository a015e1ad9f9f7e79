"""How recall, memory and the file grow with the number of events, beside FTS5 alone and plain Chroma."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material import QUESTIONS, SampledEmbedder, lines
from benchmarks.measure import Times, console, resident_mb, table, times
from everyword import Memory
from everyword.retrieval.config import Arm, SearchConfig
from everyword.storage.nearest import EXACT_UP_TO
from everyword.text.terms import question_terms

BATCH = 1000
ROUNDS = 4  # of every question
COLD_RUNS = 5


# The arms of words and vectors and late interaction over what they find, and nothing else: what the other stages add
# to a recall is told against it.
BARE = SearchConfig(
    name="bare", words=Arm(depth=100, weight=0.5), vectors=Arm(depth=100, weight=0.5), rerank_depth=200, dedup=True
)


def recalling(folder: Path, sizes: list[int], *, peers: bool, filled: str | None = None) -> list[dict[str, Any]]:
    """Grow one memory through the sizes (or copy one that is filled); measure at each, print, and give the numbers."""
    embedder = SampledEmbedder()
    source = lines(1)
    path = folder / "grown.db"
    if filled:
        shutil.copy(filled, path)
    results: list[dict[str, Any]] = []
    fts5, chroma = _Fts5(folder / "fts5.db"), _Chroma(folder / "chroma") if peers else None
    with Memory.open(path, embedder=embedder, durability="normal") as memory:
        there, written = memory.stats().events, 0
        for size in [there] if filled else sizes:
            begun = time.perf_counter()
            while written < size:
                batch = list(islice(source, min(BATCH, size - written)))
                if written >= there:
                    memory.add_many(batch)
                fts5.add(batch)
                if chroma and size <= chroma.most:
                    chroma.add(batch, embedder)
                written += len(batch)
            console.print(f"{size:,} events written in {time.perf_counter() - begun:.0f} s", highlight=False)
            results.append(_measured(memory, embedder, fts5, chroma, size, path))
    _print(results)
    return results


def _measured(
    memory: Memory, embedder: SampledEmbedder, fts5: _Fts5, chroma: _Chroma | None, size: int, path: Path
) -> dict[str, Any]:
    recall = times([lambda q=q: memory.recall(q) for q in QUESTIONS], ROUNDS)
    with Memory.open(path, embedder=embedder, recipe=BARE, read_only=True) as other:
        bare = times([lambda q=q: other.recall(q) for q in QUESTIONS], ROUNDS)
    stages = _stages(memory, embedder)
    lexical = times([lambda q=q: fts5.search(q) for q in QUESTIONS], 1)
    other = None
    if chroma and size <= chroma.most:
        other = times([lambda q=q: chroma.search(embedder.question(q).pooled) for q in QUESTIONS], ROUNDS)
    stats = memory.stats(parts=True)
    return {
        "events": size,
        "recall": recall,
        "bare": bare,
        "stages": stages,
        "fts5": lexical,
        "chroma": other,
        "bytes": stats.bytes,
        "parts": dict(stats.bytes_by_part),
        "memory_mb": resident_mb(),
        "shortlist": _shortlist_recall(memory, embedder) if size > EXACT_UP_TO else None,
        "cold": _cold(path, size),
    }


def _stages(memory: Memory, embedder: SampledEmbedder) -> dict[str, Times]:
    questions = [embedder.question(text) for text in QUESTIONS]
    with memory.scope.engine.store.reader("default") as reader:
        (model,) = [one for one in reader.file.models() if one.state == "active"]
        terms = [dict.fromkeys(question_terms(text), 1.0) for text in QUESTIONS]
        near = [reader.by_vector(model, one.pooled, 200, None).seqs.tolist() for one in questions]
        rows = [[row.tokens for row in reader.passages(model, seqs)] for seqs in near]
        return {
            "question": times([lambda q=q: embedder.question(q) for q in QUESTIONS], ROUNDS),
            "words": times([lambda t=t: reader.by_words(t, 100, None) for t in terms], ROUNDS),
            "vectors": times([lambda q=q: reader.by_vector(model, q.pooled, 100, None) for q in questions], ROUNDS),
            "fetch": times([lambda s=s: reader.passages(model, s) for s in near], ROUNDS),
            "late": times(
                [lambda q=q, r=r: embedder.late_matches(q, r) for q, r in zip(questions, rows, strict=True)], ROUNDS
            ),
        }


def _shortlist_recall(memory: Memory, embedder: SampledEmbedder) -> float:
    """Tell the share of the true nearest hundred that the shortlist finds."""
    with memory.scope.engine.store.reader("default") as reader:
        (model,) = [one for one in reader.file.models() if one.state == "active"]
        view = reader.sql.pooled_view(reader.row, model)
    shares: list[float] = []
    for text in QUESTIONS:
        vector = embedder.question(text).pooled
        found = set(view.nearest(vector, 100).seqs.tolist())
        exact = np.concatenate([block.astype(np.float32) @ vector for block in np.array_split(view.pooled, 64)])
        true = view.seqs[np.argsort(-exact)[:100]].tolist()
        shares.append(len(found.intersection(true)) / 100)
    return float(np.mean(shares))


def _cold(path: Path, size: int) -> Times:
    """Ask one question through the command line, in a new process each time."""
    command = [str(Path(sys.executable).with_name("everyword")), "--memory", str(path), "recall", QUESTIONS[0]]
    return times(
        [lambda: subprocess.run(command, check=True, capture_output=True, env=_usual_environment())], COLD_RUNS
    )


def _usual_environment() -> dict[str, str]:
    # Some shells forbid Python to keep compiled modules, which no user does.
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class _Fts5:
    """FTS5 alone: the same lines, stemmed, BM25, any word of the question."""

    def __init__(self, path: Path) -> None:
        import apsw

        self._connection = apsw.Connection(str(path))
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "normal")
        self._connection.execute("CREATE VIRTUAL TABLE line USING fts5(text, tokenize = 'porter unicode61')")

    def add(self, batch: list[dict[str, object]]) -> None:
        with self._connection:
            self._connection.executemany("INSERT INTO line (text) VALUES (?)", ((one["text"],) for one in batch))

    def search(self, question: str) -> list[Any]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        found = "SELECT rowid, text FROM line WHERE line MATCH ? ORDER BY rank LIMIT 50"
        return self._connection.execute(found, (words,)).fetchall()


class _Chroma:
    """Plain Chroma: the same pooled vectors in a persistent collection."""

    most = 100_000  # beyond, building its index takes longer than all the rest

    def __init__(self, path: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
        self._collection = client.create_collection("line", configuration={"hnsw": {"space": "cosine"}})
        self._count = 0

    def add(self, batch: list[dict[str, object]], embedder: SampledEmbedder) -> None:
        texts = [str(one["text"]) for one in batch]
        vectors = [passage.pooled.astype(np.float32) for passage in embedder.passages(texts)]
        ids = [str(self._count + number) for number in range(len(batch))]
        self._count += len(batch)
        self._collection.add(ids=ids, embeddings=vectors, documents=texts)

    def search(self, vector: np.ndarray) -> Any:
        return self._collection.query(query_embeddings=[vector], n_results=10)


def _print(results: list[dict[str, Any]]) -> None:
    goals = {10_000: "12 / 48", 100_000: "25 / 100", 1_000_000: "120 / 480"}
    table(
        "Recall, ms p50 / p99, question encoded each time",
        ["events", "recall", "goal", "bare recall", "FTS5 alone", "Chroma + encoding", "cold CLI, ms", "goal"],
        [
            [
                f"{one['events']:,}",
                one["recall"],
                goals.get(one["events"], ""),
                one["bare"],
                f"{one['fts5']} ({one['fts5'].p50 / one['recall'].p50:.1f}x)",
                f"{one['chroma']} ({one['chroma'].p50 / one['recall'].p50:.1f}x)" if one["chroma"] else "-",
                f"{one['cold'].p50:.0f}",
                "600" if one["events"] == 100_000 else "",
            ]
            for one in results
        ],
    )
    table(
        "Where the time goes, ms p50 / p99",
        ["events", "question", "words", "vectors", "fetch 200", "late 200", "shortlist recall@100"],
        [
            [
                f"{one['events']:,}",
                *(one["stages"][name] for name in ("question", "words", "vectors", "fetch", "late")),
                "exact" if one["shortlist"] is None else f"{one['shortlist']:.3f}",
            ]
            for one in results
        ],
    )
    table(
        "Size",
        [
            "events",
            "file MB",
            "bytes an event",
            "process MB",
            "text and log",
            "words",
            "pooled",
            "token vectors",
            "goal",
        ],
        [
            [
                f"{one['events']:,}",
                f"{one['bytes'] / 1e6:.0f}",
                f"{one['bytes'] / one['events']:.0f}",
                f"{one['memory_mb']:.0f}",
                *(
                    f"{_part(one, *names):.0f} MB"
                    for names in (("events",), ("word", "postings"), ("pooled",), ("vectors",))
                ),
                "350 MB file, 600 MB process" if one["events"] == 100_000 else "",
            ]
            for one in results
        ],
    )


def _part(one: dict[str, Any], *prefixes: str) -> float:
    return sum(size for name, size in one["parts"].items() if name.startswith(prefixes)) / 1e6
