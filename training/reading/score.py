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

from training.reading import corpus
from training.reading.corpus import Conversation
from training.reading.decoding import Matrix, Settings
from training.reading.evaluation import Chosen, evaluate, headline
from training.reading.examples import Joined, Reading, Writer, prefix
from training.reading.model import layout


class OnnxRunner:
    """Runs the graph on one row at a time."""

    def __init__(self, path: Path, threads: int = 2) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session: Any = onnxruntime.InferenceSession(str(path), options)
        self._takes = {one.name for one in self._session.get_inputs()}

    def read(self, rows: Sequence[Reading]) -> list[Matrix]:
        return [self.run("reading", row) for row in rows]

    def answer(self, rows: Sequence[Joined]) -> list[Matrix]:
        return [self.run("answer", row) for row in rows]

    def pair(self, rows: Sequence[Joined]) -> Matrix:
        return np.concatenate([self.run("pair", row) for row in rows]) if rows else np.zeros((0, len(corpus.PAIRS)))

    def run(self, name: str, row: Reading | Joined) -> Matrix:
        """Give one output for one row."""
        feeds = {"input_ids": row.ids, "segments": row.segments, "shapes": row.shapes}
        given = {key: np.array(value, np.int64) for key, value in feeds.items() if key in self._takes}
        return self._session.run([name], given)[0]


def ranked(runner: OnnxRunner, writer: Writer, c: Conversation) -> list[list[int]]:
    """Order the turns of a conversation for each of its questions by late interaction."""
    if not c.questions:
        return []
    lines = [runner.run("tokens", writer.plain(t.text, prefix(t))) for t in c.turns]
    found: list[list[int]] = []
    for question in c.questions:
        asked = runner.run("tokens", writer.plain(question.text))
        scores = [float((asked @ line.T).max(1).sum()) for line in lines]
        found.append(np.argsort(scores)[::-1].tolist())
    return found


def main() -> None:
    """Print scores as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--graph", default="reader.onnx")
    parser.add_argument("--talk", type=Path)
    parser.add_argument("--split", choices=["choose", "held"], default="choose")
    parser.add_argument("--most", type=int, default=0, help="take about so many conversations, to try the code")
    arguments = parser.parse_args()
    about = json.loads((arguments.model / "reader.json").read_text())
    chosen = about["chosen"]
    settings = Chosen(**{**chosen, "settings": Settings(**chosen["settings"])})
    writer = Writer(arguments.model / "tokenizer.json")
    runner = OnnxRunner(arguments.model / arguments.graph)
    recall = OnnxRunner(arguments.model / "recall.onnx")
    conversations = [one for one in corpus.load(talk=arguments.talk) if one.split == arguments.split]
    if arguments.most:
        conversations = conversations[:: max(1, len(conversations) // arguments.most)]
    relations = about["relations"]
    result, _ = evaluate(
        runner, conversations, writer, relations, layout(len(relations)), lambda c: ranked(recall, writer, c), settings
    )
    print(json.dumps({"split": arguments.split, "headline": headline(result), **result}, indent=1))


if __name__ == "__main__":
    main()
