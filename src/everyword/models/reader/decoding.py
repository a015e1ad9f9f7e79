"""Turn the reader's numbers for one window of a turn into names and statements. Needs numpy only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from everyword.lazy_patterns import lazy_pattern
from everyword.models.reader.rows import PUNCTUATION, ReadingRow
from everyword.types.events import Span

KINDS = "attribute fact preference relationship habit event plan task decision insight instruction".split()
MODES = "asserted negated hypothetical asked reported".split()
STATES = "open done dropped".split()  # of plans and tasks
GOALS = frozenset({"plan", "task"})
TYPES = "person pet organisation place product work event project other".split()
PAIRS = "same refines replaces ends fulfils unrelated".split()
CHOICES = "earlier later neither".split()  # which of two turns answers a question, as far as these two tell
ABOUT = "speaker listener name other".split()  # `name`: the words stand in the turn or in the one before it

POINTER_DIMS = 32  # of the product that points from a statement to a name
LONGEST_VALUE = 14  # tokens
LONGEST_NAME = 8
LONGEST_ANSWER = 24
LIKELY_RELATIONS = 4  # whose chances are told
_PAIRED = (*(one.split() for one in ("( )", "[ ]", "“ ”", "« »")), ('"', '"'))
# A word with marks in it, as "Cargo.lock", "src/parse.rs" or "3.12": all of it is in a span, or nothing. Of 30,000
# labelled names, values and statements, 16 begin or end within one. An apostrophe does part: "Ana's".
_WORD = lazy_pattern(r"[\wÀ-ɏ]+(?:(?:[-./:\\@&+=#~]|(?<=\d),(?=\d))[\wÀ-ɏ]+)*", re.ASCII)
_BRIDGE = 1  # words within a statement that may look as if they were outside

Matrix = np.ndarray[Any, Any]
Columns = Mapping[str, slice]


class Thresholds(Struct, frozen=True):
    """Chosen after training, on conversations that were kept back for it."""

    inside: float = 0.5  # that a word is part of a statement
    keep: float = 0.0  # that a whole statement is one
    name: float = 0.5  # that a word is part of a name


class FoundEntity(Struct, frozen=True):
    """A name in a turn."""

    start: int
    end: int
    type: str  # one of TYPES
    score: float


class FoundStatement(Struct, frozen=True):
    """A statement in a turn."""

    start: int
    end: int
    score: float
    kind: str  # one of KINDS
    kind_score: float
    mode: str  # one of MODES
    state: str | None  # one of STATES, for plans and tasks
    about: str  # one of ABOUT
    about_text: str | None  # the name, where about is `name`
    relation: str | None
    value: Span | None
    lasting: float  # how likely it is worth telling unasked weeks later
    relation_scores: Mapping[str, float] = {}  # how likely it has the likeliest relations


class FoundAnswer(Struct, frozen=True):
    """The words of a turn that answer a question best."""

    span: Span
    score: float  # log odds against there being no answer in this turn


def columns(relations: int) -> dict[str, slice]:
    """Say which columns of the reading's matrix belong to what; relation 0 is none."""
    sizes = {
        "entity": 1 + 2 * len(TYPES),  # outside, then begins and inside of each type
        "statement": 3,  # outside, begins, inside
        "kind": len(KINDS),
        "mode": len(MODES),
        "state": len(STATES),
        "about": len(ABOUT),
        "value": 2,  # how likely the value begins or ends here
        "relation": relations,
        "pointer": 4 * POINTER_DIMS,  # of a statement: to a name's first and last token; of a token: as first, as last
        "lasting": 1,
    }
    found: dict[str, slice] = {}
    at = 0
    for name, size in sizes.items():
        found[name] = slice(at, at + size)
        at += size
    return found


def softmax(logits: Matrix) -> Matrix:
    """Turn logits into probabilities."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def entities(row: ReadingRow, told: Matrix, where: Columns, least: Thresholds) -> list[FoundEntity]:
    """Find names: words that are likelier part of one than not."""
    chances = _by_word(row, softmax(told[:, where["entity"]]), least.name)
    begins, inside = chances[:, 1::2].sum(1), chances[:, 2::2].sum(1)
    found: list[FoundEntity] = []
    for tokens in _runs(row, begins, inside, least.name, 0):
        tokens = _without_punctuation(row, tokens)
        if tokens:
            by_type = (chances[tokens, 1::2] + chances[tokens, 2::2]).mean(0)
            start, end = row.starts[tokens[0]], row.ends[tokens[-1]]
            found.append(FoundEntity(start, end, TYPES[int(by_type.argmax())], float(by_type.sum())))
    return found


def statements(
    row: ReadingRow, told: Matrix, where: Columns, relations: Sequence[str], least: Thresholds
) -> list[FoundStatement]:
    """Find statements and read off what is said of each."""
    spans = statement_spans(row, told, where, least.inside)
    return [describe(row, told, where, relations, tokens, score) for tokens, score in spans if score >= least.keep]


def statement_spans(row: ReadingRow, told: Matrix, where: Columns, inside: float) -> list[tuple[list[int], float]]:
    """Find the tokens of each statement, and how sure it is."""
    chances = _by_word(row, softmax(told[:, where["statement"]]), inside)
    runs = [_without_punctuation(row, run) for run in _runs(row, chances[:, 1], chances[:, 2], inside, _BRIDGE)]
    return [(tokens, float(1 - chances[tokens, 0].mean())) for tokens in runs if tokens]


def describe(
    row: ReadingRow, told: Matrix, where: Columns, relations: Sequence[str], tokens: list[int], score: float
) -> FoundStatement:
    """Read off what is said of the statement that these tokens make."""
    mean = told[tokens].mean(0)
    kinds = softmax(mean[where["kind"]])
    kind = KINDS[int(kinds.argmax())]
    about = ABOUT[int(mean[where["about"]].argmax())]
    chances = softmax(mean[where["relation"]])
    likely = [int(one) for one in np.argsort(-chances)[:LIKELY_RELATIONS]]
    relation = likely[0]
    start, end = _with_pairs(row.turn.text, row.starts[tokens[0]], row.ends[tokens[-1]])
    return FoundStatement(
        start=start,
        end=end,
        score=score,
        kind=kind,
        kind_score=float(kinds.max()),
        mode=MODES[int(mean[where["mode"]].argmax())],
        state=STATES[int(mean[where["state"]].argmax())] if kind in GOALS else None,
        about=about,
        about_text=_pointed_to(row, told[:, where["pointer"]], tokens) if about == "name" else None,
        relation=relations[relation] if relation else None,
        value=_value(row, told[:, where["value"]], tokens),
        lasting=float(1 / (1 + np.exp(-mean[where["lasting"]][0]))),
        relation_scores={relations[one]: float(chances[one]) for one in likely if one},
    )


def answer(starts: Sequence[int], ends: Sequence[int], logits: Matrix) -> FoundAnswer | None:
    """Find the best answer in a row of a question and a line; None where the line has no words."""
    places = [n for n, start in enumerate(starts) if start >= 0]
    if not places:
        return None
    score, first, last = best_span(logits[places, 0], logits[places, 1], LONGEST_ANSWER)
    span = Span(starts[places[first]], ends[places[last]])
    return FoundAnswer(span, score - float(logits[0].sum()))


def best_span(begins: Matrix, ends: Matrix, longest: int) -> tuple[float, int, int]:
    """Find the best beginning and end, less than `longest` apart."""
    sums = begins[:, None] + ends[None, :]
    allowed = np.triu(np.ones(sums.shape, bool)) & ~np.triu(np.ones(sums.shape, bool), longest)
    place = int(np.where(allowed, sums, -np.inf).argmax())
    first, last = divmod(place, len(ends))
    return float(sums[first, last]), first, last


def _runs(row: ReadingRow, begins: Matrix, inside: Matrix, least: float, bridge: int) -> list[list[int]]:
    """Group words that are likely inside; a likely beginning starts a group. The first token speaks for its word.

    bridge: words within a group that may look as if they were outside; then a group of one word ("Please | always
    answer") goes on in the next word, too.
    """
    found: list[list[int]] = []
    gap: list[int] = []  # tokens since the last word inside
    missed = bridge + 1  # words since then
    words = 0  # of the last group
    for tokens in _words(row):
        n = tokens[0]
        if begins[n] + inside[n] < least:
            missed += 1
            gap += tokens
            continue
        if missed > bridge or (begins[n] > inside[n] and not (bridge and words == 1 and not missed)):
            found.append([])
            words = 0
        else:
            found[-1] += gap
        found[-1] += tokens
        words += 1
        gap, missed = [], 0
    return found


def _by_word(row: ReadingRow, chances: Matrix, least: float) -> Matrix:
    """Let the first part of a word that is likely inside speak for the whole word."""
    found = chances.copy()
    for tokens in _words(row):
        parts = [n for n in tokens if row.first[n]]
        if len(parts) > 1:
            found[tokens] = chances[next((n for n in parts if 1 - chances[n, 0] >= least), parts[0])]
    return found


def _words(row: ReadingRow) -> list[list[int]]:
    """Group the tokens of the turn by the word that they are in."""
    found: list[list[int]] = []
    end = -1  # of the last word
    for n in row.own():
        if not found or (row.first[n] and row.starts[n] >= end):
            found.append([])
            word = _WORD.match(row.turn.text, row.starts[n])
            end = word.end() if word else -1
        found[-1].append(n)
    return found


def _without_punctuation(row: ReadingRow, tokens: list[int]) -> list[int]:
    while tokens and row.shapes[tokens[0]] == PUNCTUATION:
        tokens = tokens[1:]
    while tokens and row.shapes[tokens[-1]] == PUNCTUATION:
        tokens = tokens[:-1]
    return tokens


def _with_pairs(text: str, start: int, end: int) -> Span:
    """Take in the bracket or quotation mark beside a span that belongs to one within it."""
    for first, last in _PAIRED:
        within = text[start:end]
        more = within.count(first) % 2 if first == last else within.count(first) - within.count(last)
        stop = last in '"”' and text[end : end + 1] in tuple(",.!?")  # before the mark: "Inception."
        if more > 0 and text[end + stop : end + stop + 1] == last:
            end += stop + 1
        elif more and text[max(start - 1, 0) : start] == first:
            start -= 1
    return Span(start, end)


def _value(row: ReadingRow, told: Matrix, tokens: list[int]) -> Span | None:
    score, first, last = best_span(told[tokens, 0], told[tokens, 1], LONGEST_VALUE)
    if score <= 0:
        return None
    words = [word for word in _words(row) if word[0] <= tokens[last] and tokens[first] <= word[-1]]
    inside = [n for n in (*words[0], *words[-1]) if n in tokens]
    return Span(row.starts[inside[0]], row.ends[inside[-1]])


def _pointed_to(row: ReadingRow, told: Matrix, tokens: list[int]) -> str | None:
    """Find the name that a statement is about, in the turn or in the one before."""
    d = POINTER_DIMS
    to_first, to_last = told[tokens, :d].mean(0), told[tokens, d : 2 * d].mean(0)
    best: tuple[float, str] | None = None
    for segment, turn in ((0, row.turn), (1, row.before)):
        places = [n for n, start in enumerate(row.starts) if start >= 0 and row.segments[n] == segment]
        if turn is None or not places:
            continue
        keys = told[places]
        score, first, last = best_span(keys[:, 2 * d : 3 * d] @ to_first, keys[:, 3 * d :] @ to_last, LONGEST_NAME)
        if best is None or score > best[0]:
            best = score, turn.text[row.starts[places[first]] : row.ends[places[last]]]
    return best[1] if best else None
