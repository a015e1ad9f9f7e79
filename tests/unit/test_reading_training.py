"""Training the reader: a small one learns five conversations, and its graph gives what the network gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch: pip install -r training/requirements.txt")
pytest.importorskip("onnx", reason="training needs onnx: pip install -r training/requirements.txt")

from training.reading import export, label, llama, train  # noqa: E402
from training.reading.corpus import KINDS  # noqa: E402
from training.reading.data import CANDIDATES, AskedTable  # noqa: E402
from training.reading.decoding import Settings, softmax, statement_spans  # noqa: E402
from training.reading.examples import Joined, side, statements_of  # noqa: E402
from training.reading.model import layout, make, recall  # noqa: E402


@pytest.fixture(scope="module")
def bench() -> train.Bench:
    return train.Bench(None, "cpu", most=5)


def test_a_small_reader_learns_five_conversations(bench: train.Bench) -> None:
    plan = train.Plan(batch=6, rate=5e-4, drop=0.0, smooth=0.0, masked=0.0)
    model = make(bench.arrays, len(bench.relations), layers=[0, 5])
    material = train.Material(bench, plan, bench.conversations)
    weights = train.class_weights(bench.conversations, "cpu")
    exact = train.exact_weights(model, model)
    learner = train.learner_of(model, plan, exact)
    losses: list[float] = []
    for _ in range(24):
        train.set_rate(learner, 0.1)
        parts = train.step_losses(material, plan, model, weights)
        loss = sum(parts.values())
        model.zero_grad()
        loss.backward()
        train.step(learner, exact)
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
    row: Joined = bench.writer.pair(side(c, *pair.a), side(c, *pair.b))
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    batch = train.pad([row], "cpu")
    own = [n for n, segment in enumerate(row.segments) if segment == 0]
    with torch.no_grad():
        last, both = model.both(*batch.parts)
        want = {"reading": model.reading(both)[0], "answer": model.answers(both)[0]}
        want["tokens"] = recall(bench.arrays)(batch.ids[:, own], batch.there[:, own])[0]
        want["pair"] = model.pairs(last, batch.there, batch.segments)
    feeds = {"input_ids": row.ids, "segments": row.segments, "shapes": row.shapes}
    for rounded, near in ((False, 5e-3), (True, 0.25)):
        path = tmp_path / f"{rounded}.onnx"
        onnx.save(export.build(arrays, bench.arrays, rounded=rounded), path)
        session = onnxruntime.InferenceSession(str(path))
        told = session.run(list(want), {name: np.array(value, np.int64) for name, value in feeds.items()})
        for value, (name, right) in zip(told, want.items(), strict=True):
            assert np.abs(value - right.numpy()).max() < near, name


def test_recall_gives_the_vectors_that_it_gave(bench: train.Bench, tmp_path: Path) -> None:
    import onnx
    import onnxruntime

    model = make(bench.arrays, 3, layers=[0])
    arrays = {name: value.numpy() for name, value in model.state_dict().items()}
    onnx.save(export.build(arrays, bench.arrays, rounded=True), tmp_path / "reader.onnx")
    before, after = (
        onnxruntime.InferenceSession(str(path)) for path in (train.SMALL / "model.onnx", tmp_path / "reader.onnx")
    )
    c = bench.conversations[0]
    told = list(bench.writer.readings(c))[1]
    alone = [n for n, segment in enumerate(told.segments) if segment == 0]
    ids = np.array(told.ids, np.int64)
    was = before.run(["tokens", "pooled"], {"input_ids": ids[alone]})
    segments, shapes = (np.array(one, np.int64) for one in (told.segments, told.shapes))
    now = after.run(["tokens", "pooled"], {"input_ids": ids, "segments": segments, "shapes": shapes})
    for a, b in zip(was, now, strict=True):
        assert np.abs(a - b).max() < 1e-5


def test_the_teacher_looks_ahead_only_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama, "LAYERS", 3)
    monkeypatch.setattr(llama, "WORDS", 50)
    torch.manual_seed(1)
    ids = torch.tensor([[1, 7, 8, 9]])
    other = torch.tensor([[1, 7, 8, 10]])
    rest = torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids), torch.zeros_like(ids)
    for ahead, echo, sees in ((0, False, True), (2, False, True), (3, False, False), (3, True, True)):
        encoder = llama.LlamaEncoder(ahead=ahead, echo=echo)
        first, second = (encoder.ends(row, *rest)[0][0, 1] for row in (ids, other))
        assert torch.allclose(first, second, atol=1e-6) is not sees


def test_chances_move_to_the_reader_by_characters(bench: train.Bench) -> None:
    reading = next(row for c in bench.conversations for row in bench.writer.readings(c) if statements_of(row))
    columns = layout(1)
    told = np.random.default_rng(1).normal(size=(len(reading.ids), columns["pointer"].stop))
    (found,) = label._soft_readings([reading], [reading], [[told]], columns, Settings(inside=0.3))
    own = reading.own()
    assert np.allclose(found.tags[own, :-3], softmax(told[own][:, columns["entity"]]), atol=1e-2)
    assert np.allclose(found.tags[own, -3:], softmax(told[own][:, columns["statement"]]), atol=1e-2)
    spans = statement_spans(reading, told, columns, 0.3)
    assert found.spans == [(tokens[0], tokens[-1]) for tokens, _ in spans]
    assert np.allclose(found.said[:, : len(KINDS)].sum(1), 1, atol=1e-2)
