"""Events, drafts and vectors for the conformance suite, made without a memory around them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from everyword.storage.postings import K1, B, terms_of
from everyword.storage.protocol import Reader, Store, Writer
from everyword.storage.rows import Draft, Model, UnitVector
from everyword.text.terms import searchable_terms, term_counts
from everyword.types.events import Event, Span, content_of, event_id, identity_of
from everyword.types.times import to_micros

SPACE = "home"
NOW = 1_767_225_600_000_000  # 2026-01-01 in microseconds: a store is told the time, it never asks
START = datetime(2026, 1, 1, tzinfo=UTC)
DIMS = 16


def draft(text: str, *, vectors: Sequence[UnitVector] | None = None, recorded_at: int | None = None, **fields) -> Draft:
    """Make an event ready to be written, as the capture layer would."""
    event = Event(text=text, **{"at": START, **fields})
    content = content_of(event)
    raw_id = identity_of(event.key, content)
    return Draft(
        event=replace(event, id=event_id(raw_id)),
        raw_id=raw_id,
        content=content,
        moment=to_micros(event.at),
        terms=terms_of(searchable_terms(event)),
        vectors=None if vectors is None else tuple(vectors),
        recorded_at=recorded_at,
    )


def drafts(texts: Iterable[str], **fields) -> list[Draft]:
    """Make drafts one minute apart."""
    return [draft(text, **{"at": START + timedelta(minutes=n), **fields}) for n, text in enumerate(texts)]


def put(store: Store, made: Sequence[Draft], *, space: str = SPACE, model: Model | None = None) -> list[int]:
    """Append drafts in a transaction of their own; give their seqs."""
    with store.writer(space) as writer:
        return append(writer, made, model=model)


def append(writer: Writer, made: Sequence[Draft], *, model: Model | None = None) -> list[int]:
    """Append drafts; give their seqs."""
    writer.append(made, model, now=NOW, queue=True)
    known = writer.find([one.raw_id for one in made])
    return [known[one.raw_id].seq for one in made]


def remove(store: Store, seqs: Sequence[int], *, space: str = SPACE) -> dict[str, int]:
    """Remove events in a transaction of its own."""
    with store.writer(space) as writer:
        return writer.remove(np.array(sorted(seqs), np.int64))


def asked(text: str) -> dict[int, float]:
    """Make the terms of a question."""
    return {term: float(count) for term, count in term_counts(text).items()}


def found(reader: Reader, text: str, *, k: int = 100, allowed=None) -> list[int]:
    """Search words; give seqs in rank order."""
    return reader.by_words(asked(text), k, allowed).seqs.tolist()


def naive_bm25(texts: Mapping[int, str], question: Mapping[int, float]) -> list[tuple[int, float]]:
    """Rank by the textbook formula, from the texts alone; the newer first among equals."""
    counted: dict[int, Counter[int]] = {seq: term_counts(text) for seq, text in texts.items()}
    average = sum(sum(counts.values()) for counts in counted.values()) / len(counted)
    scores: dict[int, float] = {}
    for term, weight in question.items():
        holders = [seq for seq, counts in counted.items() if term in counts]
        idf = math.log(1 + (len(counted) - len(holders) + 0.5) / (len(holders) + 0.5))
        for seq in holders:
            often, length = counted[seq][term], sum(counted[seq].values())
            norm = K1 * (1 - B + B * length / average)
            scores[seq] = scores.get(seq, 0.0) + weight * idf * often * (K1 + 1) / (often + norm)
    return sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))


def unit_vectors(random: np.random.Generator, windows: int = 1) -> list[UnitVector]:
    """Make the vectors of an event of so many windows."""
    made: list[UnitVector] = []
    for number in range(windows):
        tokens = random.bytes(12)
        made.append(UnitVector(span=Span(number * 10, number * 10 + 15), pooled=pooled(random), tokens=tokens))
    return made


def pooled(random: np.random.Generator) -> NDArray[np.int8]:
    """Make a stored vector of unit length times 127."""
    vector = random.standard_normal(DIMS)
    return np.round(vector / np.linalg.norm(vector) * 127).astype(np.int8)


def direction(random: np.random.Generator) -> NDArray[np.float32]:
    """Make a question's vector."""
    vector = random.standard_normal(DIMS).astype(np.float32)
    return vector / np.linalg.norm(vector)


def naive_nearest(
    vectors: Mapping[int, Sequence[UnitVector]], question: NDArray[np.float32]
) -> list[tuple[int, float]]:
    """Rank by cosine of the best window, one by one."""
    scores = {
        seq: max(float(one.pooled.astype(np.float64) @ question / 127) for one in units)
        for seq, units in vectors.items()
    }
    return sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))


def add_model(writer: Writer, name: str = "tiny", state: str = "active") -> Model:
    """Register a model."""
    return writer.file.add_model(name=name, version="1", dims=DIMS, token_dims=4, state=state)  # type: ignore[arg-type]
