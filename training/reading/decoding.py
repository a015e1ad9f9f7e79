"""Turn the reader's numbers for one window of a turn into names and statements. Needs numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.reading.corpus import ABOUT, GOALS, KINDS, MODES, STATES, TYPES, Span
from training.reading.examples import MARK, Reading

POINTER_DIMS = 32
LONGEST_VALUE = 14  # tokens
LONGEST_NAME = 8
BRIDGE = 1  # words within a statement that may look as if they were outside

Matrix = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is chosen after training, on conversations that were kept back for it."""

    inside: float = 0.5  # how sure a word is part of a statement
    keep: float = 0.0  # how sure a whole statement is
    name: float = 0.5  # how sure a word is part of a name


@dataclass(frozen=True, slots=True)
class FoundEntity:
    start: int
    end: int
    type: str
    score: float


@dataclass(frozen=True, slots=True)
class FoundStatement:
    start: int
    end: int
    score: float
    kind: str
    kind_score: float
    mode: str
    state: str | None
    about: str
    about_text: str | None  # the words that were pointed to
    relation: str | None
    value: Span | None


def softmax(logits: Matrix) -> Matrix:
    """Make probabilities of logits."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def entities(reading: Reading, told: Matrix, columns: dict[str, slice], settings: Settings) -> list[FoundEntity]:
    """Find names: words that are likelier part of one than not."""
    chances = softmax(told[:, columns["entity"]])
    begins, inside = chances[:, 1::2].sum(1), chances[:, 2::2].sum(1)
    found: list[FoundEntity] = []
    for tokens in _runs(reading, begins, inside, settings.name, 0):
        tokens = _without_marks(reading, tokens)
        if tokens:
            by_type = (chances[tokens, 1::2] + chances[tokens, 2::2]).mean(0)
            span = reading.starts[tokens[0]], reading.ends[tokens[-1]]
            found.append(FoundEntity(*span, TYPES[int(by_type.argmax())], float(by_type.sum())))
    return found


def statements(
    reading: Reading, told: Matrix, columns: dict[str, slice], relations: Sequence[str], settings: Settings
) -> list[FoundStatement]:
    """Find statements and read off what is said of each."""
    spans = statement_spans(reading, told, columns, settings.inside)
    return [
        describe(reading, told, columns, relations, tokens, score) for tokens, score in spans if score >= settings.keep
    ]


def statement_spans(
    reading: Reading, told: Matrix, columns: dict[str, slice], inside: float
) -> list[tuple[list[int], float]]:
    """Find the tokens of each statement, and how sure it is."""
    chances = softmax(told[:, columns["statement"]])
    runs = [_without_marks(reading, run) for run in _runs(reading, chances[:, 1], chances[:, 2], inside, BRIDGE)]
    return [(tokens, float(1 - chances[tokens, 0].mean())) for tokens in runs if tokens]


def describe(
    reading: Reading, told: Matrix, columns: dict[str, slice], relations: Sequence[str], tokens: list[int], score: float
) -> FoundStatement:
    """Say what the reader thinks of a statement that these tokens make."""
    mean = told[tokens].mean(0)
    kinds = softmax(mean[columns["kind"]])
    kind = KINDS[int(kinds.argmax())]
    about = ABOUT[int(mean[columns["about"]].argmax())]
    relation = int(mean[columns["relation"]].argmax())
    return FoundStatement(
        reading.starts[tokens[0]],
        reading.ends[tokens[-1]],
        score,
        kind,
        float(kinds.max()),
        MODES[int(mean[columns["mode"]].argmax())],
        STATES[int(mean[columns["state"]].argmax())] if kind in GOALS else None,
        about,
        _pointed(reading, told[:, columns["pointer"]], tokens) if about == "name" else None,
        relations[relation] if relation else None,
        _value(reading, told[:, columns["value"]], tokens),
    )


def best_span(begins: Matrix, ends: Matrix, longest: int) -> tuple[float, int, int]:
    """Find the best beginning and end, at most `longest` apart."""
    sums = begins[:, None] + ends[None, :]
    allowed = np.triu(np.ones(sums.shape, bool)) & ~np.triu(np.ones(sums.shape, bool), longest)
    place = int(np.where(allowed, sums, -np.inf).argmax())
    first, last = divmod(place, len(ends))
    return float(sums[first, last]), first, last


def _runs(reading: Reading, begins: Matrix, inside: Matrix, least: float, bridge: int) -> list[list[int]]:
    """Group words that are likely inside; a likely beginning starts a group. The first token speaks for its word."""
    found: list[list[int]] = []
    gap: list[int] = []  # tokens since the last word inside
    missed, word_in = bridge + 1, False  # words since then
    for n in reading.own():
        if reading.first[n]:
            word_in = bool(begins[n] + inside[n] >= least)
            missed += not word_in
            if word_in:
                if missed > bridge or begins[n] > inside[n]:
                    found.append([])
                else:
                    found[-1] += gap
                gap, missed = [], 0
        if word_in:
            found[-1].append(n)
        else:
            gap.append(n)
    return found


def _without_marks(reading: Reading, tokens: list[int]) -> list[int]:
    while tokens and reading.shapes[tokens[0]] == MARK:
        tokens = tokens[1:]
    while tokens and reading.shapes[tokens[-1]] == MARK:
        tokens = tokens[:-1]
    return tokens


def _value(reading: Reading, told: Matrix, tokens: list[int]) -> Span | None:
    score, first, last = best_span(told[tokens, 0], told[tokens, 1], LONGEST_VALUE)
    return (reading.starts[tokens[first]], reading.ends[tokens[last]]) if score > 0 else None


def _pointed(reading: Reading, told: Matrix, tokens: list[int]) -> str | None:
    to_first, to_last = told[tokens, :POINTER_DIMS].mean(0), told[tokens, POINTER_DIMS : 2 * POINTER_DIMS].mean(0)
    best: tuple[float, str] | None = None
    for segment, turn in ((0, reading.turn), (1, reading.before)):
        places = [n for n, start in enumerate(reading.starts) if start >= 0 and reading.segments[n] == segment]
        if turn is None or not places:
            continue
        keys = told[places]
        begins = keys[:, 2 * POINTER_DIMS : 3 * POINTER_DIMS] @ to_first
        score, first, last = best_span(begins, keys[:, 3 * POINTER_DIMS :] @ to_last, LONGEST_NAME)
        words = turn.text[reading.starts[places[first]] : reading.ends[places[last]]]
        if best is None or score > best[0]:
            best = score, words
    return best[1] if best else None
