"""Training the reader: a small one learns five conversations, and its graph gives what the network gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")
pytest.importorskip("onnx", reason="training needs onnx: pip install -r training/requirements.txt")

from training.reading import export, train  # noqa: E402
from training.reading.data import CANDIDATES, AskedTable  # noqa: E402
from training.reading.examples import side  # noqa: E402
from training.reading.model import make  # noqa: E402

from everyword.models.reader.rows import JoinedRow  # noqa: E402


@pytest.fixture(scope="module")
def bench() -> train.Bench:
    return train.Bench(None, "cpu", most=5)


def test_a_small_reader_learns_five_conversations(bench: train.Bench) -> None:
    plan = train.Plan(batch=6, rate=5e-4, drop=0.0, smooth=0.0, masked=0.0)
    model = make(bench.arrays, len(bench.relations), layers=[0, 5])
    material = train.Material(bench, plan, bench.conversations)
    weights = train.class_weights(bench.conversations, "cpu")
    learner = train.learner_of(model, plan)
    losses: list[float] = []
    for _ in range(24):
        train.set_rate(learner, 0.1)
        parts = train.step_losses(material, plan, model, weights)
        loss = sum(parts.values())
        model.zero_grad()
        loss.backward()
        learner.step()
        losses.append(loss.item())
    assert {"kind", "statement", "entity", "pair", "line", "answer"} <= set(parts)
    assert np.mean(losses[-4:]) < 0.85 * np.mean(losses[:4])


def test_a_question_has_its_right_line_once_among_the_candidates(bench: train.Bench) -> None:
    table = AskedTable(bench.conversations, bench.ranked, [], bench.writer, "cpu")
    asked = np.arange(len(table.asked))
    rows, right, first, _ = table.candidates(asked, np.random.default_rng(0))
    groups = rows.reshape(len(asked), CANDIDATES)
    for number, place in enumerate(right.tolist()):
        wanted = table.asked[number].right
        assert sum(row in wanted for row in groups[number]) == (place < CANDIDATES)
        if place < CANDIDATES:
            assert groups[number][place] in wanted
            assert 0 < first[number] < table.sizes[groups[number][place]]


def test_the_graph_gives_what_the_networks_give(bench: train.Bench, tmp_path: Path) -> None:
    import onnx
    import onnxruntime

    torch.manual_seed(1)
    model = make(bench.arrays, 3, layers=[0, 5]).eval()
    c = next(one for one in bench.conversations if one.pairs)
    pair = c.pairs[0]
    row: JoinedRow = bench.writer.pair(side(c, *pair.a), side(c, *pair.b))
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    batch = train.pad([row], "cpu")
    with torch.no_grad():
        last, both = model.both(*batch.parts)
        want = {"reading": model.reading(both)[0], "answer": model.answers(both)[0]}
        want["pair"] = model.pairs(last, batch.there, batch.segments)
    feeds = {name: np.array(value, np.int64) for name, value in (("segments", row.segments), ("shapes", row.shapes))}
    feeds["words"] = bench.arrays[export.WORDS][row.ids]
    for rounded, near in ((False, 5e-3), (True, 0.25)):
        path = tmp_path / f"{rounded}.onnx"
        onnx.save(export.build(arrays, rounded=rounded), path)
        session = onnxruntime.InferenceSession(str(path))
        told = session.run(list(want), feeds)
        for value, (name, right) in zip(told, want.items(), strict=True):
            assert np.abs(value - right.numpy()).max() < near, name
