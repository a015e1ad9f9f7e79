"""Score a reader on conversations: what it reads, pairs and answers. Choose settings where none are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import msgspec
import numpy as np

from everyword.models.reader import decoding
from everyword.models.reader.decoding import KINDS, MODES, PAIRS, Matrix, Thresholds, softmax
from everyword.models.reader.rows import JoinedRow, ReadingRow
from training.reading.corpus import Conversation, Turn
from training.reading.examples import Writer, covered, side, statements_of
from training.reading.metrics import (
    Count,
    ReadingScores,
    answer_scores,
    best_least,
    calibration_error,
    match,
    pair_scores,
    share,
)

CANDIDATES = 8  # turns that a question is put to
RANK_WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
INSIDE = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
KEEP = (0.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
AS_GOOD = 0.005  # F1 that is worth less than surer statements
TEMPERATURES = tuple(0.5 * 1.1**n for n in range(22))


class Runner(Protocol):
    """Runs a reader, in torch or from its ONNX graph."""

    def read(self, rows: Sequence[ReadingRow]) -> list[Matrix]: ...
    def pair(self, rows: Sequence[JoinedRow]) -> Matrix: ...
    def answer(self, rows: Sequence[JoinedRow]) -> list[Matrix]: ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is chosen on the conversations kept back for it, and stored with the weights."""

    settings: Thresholds = field(default_factory=Thresholds)
    answer_least: float = 0.0
    answer_rank: float = 0.0  # what is taken off a turn's score for each place further down in recall, by its logarithm
    temperatures: dict[str, float] | None = None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "settings": msgspec.structs.asdict(self.settings)}


Candidate = tuple[float, int, bool]  # how sure an answer is, its turn's place in recall, whether it is right
Ranked = Callable[[Conversation], Sequence[Sequence[int]]]  # of each question, the turns that recall would find


def evaluate(
    runner: Runner, conversations: Sequence[Conversation], writer: Writer, relations: Sequence[str],
    columns: dict[str, slice], ranked: Ranked, chosen: Chosen | None,
) -> tuple[dict[str, Any], Chosen]:  # fmt: skip
    """Score; English alone and every other language apart."""
    english = [one for one in conversations if one.lang == "en"]
    readings = [row for one in english for row in writer.readings(one)]
    told = runner.read(readings)
    answers = _answers(runner, english, writer, ranked)
    pairs = _pairs(runner, english, writer)
    if chosen is None:
        temperatures = _temperatures(readings, told, columns, pairs)
        by_rank = {weight: best_answers(answers, weight) for weight in RANK_WEIGHTS}
        weight = max(by_rank, key=lambda one: answer_scores(by_rank[one], best_least(by_rank[one]))["right"])
        best = by_rank[weight]
        chosen = Chosen(_settings(readings, told, columns), best_least(best), weight, temperatures)
    result = _read_scores(readings, told, columns, relations, chosen.settings).result()
    result["turns"] = sum(len(one.turns) for one in english)
    result["pairs"] = _pair_result(pairs, (chosen.temperatures or {}).get("pair", 1.0))
    result["answers"] = answer_scores(best_answers(answers, chosen.answer_rank), chosen.answer_least)
    result["kind ece"] = _kind_error(readings, told, columns, (chosen.temperatures or {}).get("kind", 1.0))
    registers = {turn.key: one.register for one in english for turn in one.turns}
    for register in sorted({one.register for one in english}):
        some = [(a, b) for a, b in zip(readings, told, strict=True) if registers[a.turn.key] == register]
        scores = _read_scores([a for a, _ in some], [b for _, b in some], columns, relations, chosen.settings)
        result.setdefault("registers", {})[register] = scores.result()["statements"]
    for lang in sorted({one.lang for one in conversations} - {"en"}):
        rows = [row for one in conversations if one.lang == lang for row in writer.readings(one)]
        found = _read_scores(rows, runner.read(rows), columns, relations, chosen.settings).result()
        result.setdefault("languages", {})[lang] = {k: found[k] for k in ("statements", "entities", "accuracy")}
    return result, chosen


def headline(result: dict[str, Any]) -> float:
    """Give one number to choose by: the mean of what the goals name."""
    rates = result["accuracy"]
    answers = result["answers"]
    parts = [
        result["statements"]["f1"], rates.get("kind", 0.0), result["entities"]["f1"], rates.get("entity type", 0.0),
        result["open goals"]["f1"], result["pairs"]["macro f1"], (answers["right"] + answers["refused"]) / 2,
    ]  # fmt: skip
    return round(float(np.mean(parts)), 4)


def gold_tokens(reading: ReadingRow, start: int, end: int) -> list[int]:
    """List the tokens of a labelled span."""
    return covered(reading.starts, reading.ends, reading.own(), (start, end))


def _read_scores(
    readings: Sequence[ReadingRow], told: Sequence[Matrix], columns: dict[str, slice], relations: Sequence[str],
    settings: Thresholds,
) -> ReadingScores:  # fmt: skip
    turns: dict[str, Turn] = {}
    names: dict[str, list[Any]] = defaultdict(list)
    found: dict[str, list[Any]] = defaultdict(list)
    for reading, matrix in zip(readings, told, strict=True):
        key = reading.turn.key
        turns[key] = reading.turn
        names[key] += decoding.entities(reading, matrix, columns, settings)
        found[key] += decoding.statements(reading, matrix, columns, relations, settings)
    scores = ReadingScores(frozenset(relations))
    for key, turn in turns.items():
        scores.turn(turn, names[key], found[key])
    return scores


def _settings(readings: Sequence[ReadingRow], told: Sequence[Matrix], columns: dict[str, slice]) -> Thresholds:
    """Choose the strictest bars among those whose F1 of statements is as good as the best."""
    tried: list[tuple[float, Thresholds]] = []
    labels = [[(one.start, one.end) for one in statements_of(reading)] for reading in readings]
    for inside in INSIDE:
        found = [
            [((row.starts[tokens[0]], row.ends[tokens[-1]]), score) for tokens, score in
             decoding.statement_spans(row, matrix, columns, inside)]
            for row, matrix in zip(readings, told, strict=True)
        ]  # fmt: skip
        for keep in KEEP:
            count = Count()
            for some, label in zip(found, labels, strict=True):
                kept = [span for span, score in some if score >= keep]
                count.add(len(match(kept, label)), len(kept), len(label))
            tried.append((count.scores()["f1"], Thresholds(inside, keep)))
    best = max(f1 for f1, _ in tried)
    good = [(bars.keep, f1, bars) for f1, bars in tried if f1 >= best - AS_GOOD]
    return max(good, key=lambda one: one[:2])[2]


def _pairs(runner: Runner, conversations: Sequence[Conversation], writer: Writer) -> tuple[Matrix, list[int]]:
    rows = [
        (writer.pair(side(c, *p.a), side(c, *p.b)), PAIRS.index(p.relation)) for c in conversations for p in c.pairs
    ]
    return runner.pair([row for row, _ in rows]), [label for _, label in rows]


def _pair_result(pairs: tuple[Matrix, list[int]], temperature: float) -> dict[str, Any]:
    logits, labels = pairs
    if not labels:
        return pair_scores([], [])
    chances = softmax(logits / temperature)
    best = chances.argmax(1).tolist()
    sure = [(float(row.max()), a == b) for row, a, b in zip(chances, best, labels, strict=True)]
    return {**pair_scores(best, labels), "ece": calibration_error(sure)}


def _answers(
    runner: Runner, conversations: Sequence[Conversation], writer: Writer, ranked: Ranked
) -> list[tuple[bool, list[Candidate]]]:
    """Give of each question whether it has an answer, and what each candidate turn would answer."""
    rows: list[JoinedRow] = []
    of: list[tuple[int, int]] = []  # the question and the turn of each row
    questions = [(turns, c, q) for c in conversations for turns, q in zip(ranked(c), c.questions, strict=True)]
    for number, (turns, c, q) in enumerate(questions):
        for turn in turns[:CANDIDATES]:
            rows.append(writer.answer(q.text, c.turns[turn], c.turns[turn - 1] if turn else None))
            of.append((number, turn))
    told = runner.answer(rows)
    found: list[tuple[bool, list[Candidate]]] = [(q.turn is not None, []) for _, _, q in questions]
    for (number, turn), row, logits in zip(of, rows, told, strict=True):
        best = decoding.answer(row.starts, row.ends, logits)
        if best is None:
            continue
        asked = questions[number][2]
        right = asked.turn == turn and asked.answer is not None and share(best.span, asked.answer) >= 0.5
        found[number][1].append((best.score, questions[number][0].index(turn), right))
    return found


def best_answers(answers: Sequence[tuple[bool, list[Candidate]]], weight: float) -> list[tuple[float, bool, bool]]:
    """Take the best candidate of each question."""
    found: list[tuple[float, bool, bool]] = []
    for answerable, candidates in answers:
        scored = [(score - weight * float(np.log1p(rank)), right) for score, rank, right in candidates]
        found.append((*max(scored, default=(-1e9, False)), answerable))
    return found


def _described(
    readings: Sequence[ReadingRow], told: Sequence[Matrix], columns: dict[str, slice], part: str, names: Sequence[str]
) -> tuple[Matrix, list[int]]:
    logits: list[Matrix] = []
    labels: list[int] = []
    for reading, matrix in zip(readings, told, strict=True):
        for one in statements_of(reading):
            tokens = gold_tokens(reading, one.start, one.end)
            if tokens:
                logits.append(matrix[tokens].mean(0)[columns[part]])
                labels.append(names.index(getattr(one, part)))
    return (np.stack(logits) if logits else np.zeros((0, len(names)))), labels


def _temperatures(
    readings: Sequence[ReadingRow], told: Sequence[Matrix], columns: dict[str, slice], pairs: tuple[Matrix, list[int]]
) -> dict[str, float]:
    """Find the temperature of each part under which the labels are likeliest."""
    parts = {
        "kind": _described(readings, told, columns, "kind", KINDS),
        "mode": _described(readings, told, columns, "mode", MODES),
        "pair": pairs,
    }
    return {name: likeliest_temperature(*one) for name, one in parts.items() if one[1]}


def likeliest_temperature(logits: Matrix, labels: list[int]) -> float:
    def loss(temperature: float) -> float:
        chances = softmax(logits / temperature)[np.arange(len(labels)), labels]
        return float(-np.log(chances + 1e-9).mean())

    return round(min(TEMPERATURES, key=loss), 3)


def _kind_error(
    readings: Sequence[ReadingRow], told: Sequence[Matrix], columns: dict[str, slice], temperature: float
) -> float:
    logits, labels = _described(readings, told, columns, "kind", KINDS)
    if not labels:
        return 0.0
    chances = softmax(logits / temperature)
    return calibration_error(
        [(float(row.max()), int(row.argmax()) == n) for row, n in zip(chances, labels, strict=True)]
    )
