"""Embeddings kept between runs, by content and model, so that an ablation costs seconds.

What the cache saves is told, not hidden: each entry has the milliseconds that encoding took when it was made, and
`saved_ms` adds them up, so that latencies and rates are those of a system without it.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from everyword.models.embedders import load_embedder
from everyword.models.protocol import Embedder, LateInteraction, Matches, ModelCard, Passage, Question
from everyword.models.tokenizers import load_tokenizer

CACHE = Path(".evals") / "cache" / "embeddings.sqlite"
_BATCH = 64  # passages encoded between two commits: what an interruption costs at most


def open_embedder(spec: str | None = None, cache: Path | None = None, *, anew: bool = False) -> CachedEmbedder:
    """Load the product's embedder behind the cache; `anew` encodes everything again and keeps the new times."""
    embedder = load_embedder(spec)
    if embedder is None:
        raise ValueError("Words alone need no embedder.")
    kept = Encodings(cache or CACHE, anew=anew)
    return (
        CachedLateEmbedder(embedder, kept) if isinstance(embedder, LateInteraction) else CachedEmbedder(embedder, kept)
    )


class Entry(NamedTuple):
    """What was kept of one text."""

    pooled: bytes
    tokens: bytes
    ms: float


class Encodings:
    """A file of encoded texts."""

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.anew = anew
        self._made_here: set[bytes] | None = set() if anew else None
        self._sql = _statements()
        # Another run may write at the same time: both wait, and both would write the same.
        self._file = sqlite3.connect(path, timeout=60, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute("PRAGMA synchronous=OFF")
        self._file.executescript(self._sql["make"])

    def find(self, key: bytes) -> Entry | None:
        """Look a text up; nothing that an earlier run made is found where all is to be made anew."""
        if self._made_here is not None and key not in self._made_here:
            return None
        row = self._file.execute(self._sql["find"], (key,)).fetchone()
        return None if row is None else Entry(*row)

    def keep(self, entries: Sequence[tuple[bytes, Entry]]) -> None:
        """Write entries in one transaction."""
        with self._file:
            self._file.executemany(self._sql["keep"], [(key, *entry) for key, entry in entries])
        if self._made_here is not None:
            self._made_here.update(key for key, _ in entries)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class CachedEmbedder:
    """An embedder that encodes each text once in its life."""

    def __init__(self, embedder: Embedder, kept: Encodings) -> None:
        self._embedder = embedder
        self._kept = kept
        self.anew = kept.anew
        self._ready = False
        self._saved_ms = 0.0

    @property
    def card(self) -> ModelCard:
        """Say what these vectors are comparable with."""
        return self._embedder.card

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored, or read them from the cache."""
        keys = [self._key("passage", text) for text in texts]
        known = {key: entry for key in dict.fromkeys(keys) if (entry := self._kept.find(key)) is not None}
        self._saved_ms += sum(entry.ms for entry in known.values())
        missing = list({key: text for key, text in zip(keys, texts, strict=True) if key not in known}.items())
        for start in range(0, len(missing), _BATCH):
            known.update(self._encode(missing[start : start + _BATCH]))
        return [_passage(known[key]) for key in keys]

    def question(self, text: str) -> Question:
        """Encode a question, or read it from the cache."""
        key = self._key("question", text)
        entry = self._kept.find(key)
        if entry is not None:
            self._saved_ms += entry.ms
            return self._question(entry)
        self._load()
        begun = time.perf_counter()
        made = self._embedder.question(text)
        entry = Entry(made.pooled.tobytes(), made.tokens.tobytes(), _since(begun))
        self._kept.keep([(key, entry)])
        return made

    def saved_ms(self) -> float:
        """Tell what the cache saved since this was last asked."""
        saved, self._saved_ms = self._saved_ms, 0.0
        return saved

    def release(self) -> None:
        """Let go of the cache's file. Not `close`: a memory closes its embedder, and many memories share this one."""
        self._kept.close()

    def _encode(self, missing: Sequence[tuple[bytes, str]]) -> dict[bytes, Entry]:
        self._load()
        begun = time.perf_counter()
        made = self._embedder.passages([text for _, text in missing])
        each = _since(begun) / len(missing)
        entries = [
            (key, Entry(passage.pooled.tobytes(), passage.tokens, each))
            for (key, _), passage in zip(missing, made, strict=True)
        ]
        self._kept.keep(entries)
        return dict(entries)

    def _load(self) -> None:
        # Loading the model is paid once a process, and belongs to no question.
        if not self._ready:
            self._embedder.question("ready")
            self._ready = True

    def _key(self, kind: str, text: str) -> bytes:
        return hashlib.sha256(f"{self.card.label}\0{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _question(self, entry: Entry) -> Question:
        tokens = np.frombuffer(entry.tokens, np.float32)
        return Question(
            pooled=np.frombuffer(entry.pooled, np.float32), tokens=tokens.reshape(-1, max(1, self.card.token_dims))
        )


class CachedLateEmbedder(CachedEmbedder):
    """The same for an embedder with late interaction."""

    def __init__(self, embedder: Any, kept: Encodings) -> None:
        super().__init__(embedder, kept)
        self._late: LateInteraction = embedder
        self._last: tuple[bytes, list[bytes], Matches] | None = None

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Compare as the embedder does; the search for more lines that follows a timed one finds it done already."""
        asked, given = question.tokens.tobytes(), list(passages)
        if self._last is None or self._last[0] != asked or self._last[1] != given:
            self._last = (asked, given, self._late.late_matches(question, given))
        return Matches(*(part.copy() for part in self._last[2]))

    def forget_last(self) -> None:
        """Make the next comparison a real one: what is timed is the product's own work."""
        self._last = None


class CountedOnce:
    """The product's tokenizer, which counts each word once: its tokens never reach across a blank."""

    def __init__(self) -> None:
        tokenizer = load_tokenizer()
        self.name = tokenizer.name
        self._count = lru_cache(maxsize=1 << 17)(tokenizer.count)
        self.count = lru_cache(maxsize=1 << 14)(self._summed)  # of a text; lines come back in every context

    def _summed(self, text: str) -> int:
        return sum(map(self._count, text.replace("\n", " ").split(" ")))


def _passage(entry: Entry) -> Passage:
    return Passage(pooled=np.frombuffer(entry.pooled, np.int8), tokens=entry.tokens)


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1e3


def _statements() -> dict[str, str]:
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
