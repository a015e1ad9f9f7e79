"""Score an exported reader, as the product would run it: python -m training.reading.score --model FOLDER --split held

This is the only command that reads the held conversations. The settings are those that training chose on others.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from everyword.models.reader.decoding import PAIRS, Matrix, Thresholds, columns
from everyword.models.reader.reader import TextReader
from everyword.models.reader.rows import JoinedRow, ReadingRow, prefix
from training.reading import corpus
from training.reading.corpus import Conversation
from training.reading.evaluation import Chosen, evaluate, headline
from training.reading.examples import Writer
from training.reading.export import SMALL


class OnnxRunner:
    """Runs the product's reader on one row at a time."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def read(self, rows: Sequence[ReadingRow]) -> list[Matrix]:
        return [self._reader.run("reading", row) for row in rows]

    def answer(self, rows: Sequence[JoinedRow]) -> list[Matrix]:
        return [self._reader.run("answer", row) for row in rows]

    def pair(self, rows: Sequence[JoinedRow]) -> Matrix:
        return np.concatenate([self._reader.run("pair", row) for row in rows]) if rows else np.zeros((0, len(PAIRS)))


class Recall:
    """Runs everyword-small as it is."""

    def __init__(self) -> None:
        import onnxruntime

        self._session: Any = onnxruntime.InferenceSession(str(SMALL / "model.onnx"))

    def tokens(self, row: JoinedRow) -> Matrix:
        """Give the token vectors of a text."""
        return self._session.run(["tokens"], {"input_ids": np.array(row.ids, np.int64)})[0]


def ranked(recall: Recall, writer: Writer, c: Conversation) -> list[list[int]]:
    """Order the turns of a conversation for each of its questions by late interaction."""
    if not c.questions:
        return []
    lines = [recall.tokens(writer.plain(t.text, prefix(t))) for t in c.turns]
    found: list[list[int]] = []
    for question in c.questions:
        asked = recall.tokens(writer.plain(question.text))
        scores = [float((asked @ line.T).max(1).sum()) for line in lines]
        found.append(np.argsort(scores)[::-1].tolist())
    return found


def main() -> None:
    """Print scores as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--talk", type=Path)
    parser.add_argument("--split", choices=["choose", "held"], default="choose")
    parser.add_argument("--most", type=int, default=0, help="take about so many conversations, to try the code")
    arguments = parser.parse_args()
    about = json.loads((arguments.model / "reader.json").read_text())
    chosen = Chosen(
        Thresholds(**about["thresholds"]),
        about["answer_least"],
        about["answer_rank"],
        about["temperatures"],
    )
    writer = Writer(SMALL / "tokenizer.json")
    runner, recall = OnnxRunner(TextReader.in_folder(arguments.model)), Recall()
    conversations = [one for one in corpus.load(talk=arguments.talk) if one.split == arguments.split]
    if arguments.most:
        conversations = conversations[:: max(1, len(conversations) // arguments.most)]
    relations = about["relations"]
    result, _ = evaluate(
        runner, conversations, writer, relations, columns(len(relations)), lambda c: ranked(recall, writer, c), chosen
    )
    print(json.dumps({"split": arguments.split, "headline": headline(result), **result}, indent=1))


if __name__ == "__main__":
    main()
