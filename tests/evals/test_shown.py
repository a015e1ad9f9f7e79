"""What is shown unasked, and labels of it that hold no text."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from evals.__main__ import main
from evals.shown import (
    ALL,
    CONCEPT,
    LABELS,
    MEMBER,
    Judged,
    Label,
    Shown,
    as_table,
    judge,
    measure,
    read_conversations,
    read_labels,
    wilson,
)

TOLD = {
    "1": ("9:00 am on 2 March, 2026", "Leo: I need to send the budget report to Ana by Friday.", "Ana: Thanks, Leo!"),
    "2": ("9:00 am on 3 March, 2026", "Leo: I sent the budget report to Ana.", "Ana: It arrived, thank you."),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    told: dict[str, Any] = {}
    for session, (at, *lines) in TOLD.items():
        said = [line.split(": ", 1) for line in lines]
        told[f"session_{session}_date_time"] = at
        told[f"session_{session}"] = [
            {"dia_id": f"D{session}:{number}", "speaker": speaker, "text": text}
            for number, (speaker, text) in enumerate(said, 1)
        ]
    path = tmp_path_factory.mktemp("data") / "tiny.json"
    path.write_text(json.dumps([{"sample_id": "c", "conversation": told, "qa": []}]), encoding="utf-8")
    return path


def test_what_is_shown_is_labelled_counted_and_never_stored_with_its_text(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, missing = tmp_path / "labels.jsonl", tmp_path / "missing.jsonl"
    labels.write_text("", encoding="utf-8")
    run = ["shown", "--data", str(data), "--labels", str(labels)]
    assert main([*run, "--missing", str(missing)]) == 0
    assert "| open intents, when first shown | none; 1 unlabelled |" in capsys.readouterr().out

    rows = [json.loads(line) for line in missing.read_text(encoding="utf-8").splitlines()]
    assert {row["what"] for row in rows} >= {"open", "done", "summary"}
    (task,) = [row for row in rows if row["what"] == "open"]
    assert "budget report" in task["text"]
    assert any("Thanks, Leo!" in line for line in task["lines"])
    for row in rows:
        row["right"] = None if row["what"] == "summary" else row["what"] == "open"
    missing.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main([*run, "--take", str(missing)]) == 0
    kept = labels.read_text(encoding="utf-8")
    assert "budget" not in kept
    assert {json.loads(line)["what"] for line in kept.splitlines()} == {"open", "done"}

    assert main(run) == 0
    table = capsys.readouterr().out
    assert "| open intents, when first shown | 1.00 [0.21, 1.00] of 1 |" in table
    assert "| intents shown as done | 0.00 [0.00, 0.79] of 1 |" in table
    assert "| session summaries | none; 2 unlabelled |" in table


def test_an_intent_is_open_until_the_session_that_its_label_names(data: Path) -> None:
    told = read_conversations(data)
    (task,) = [one for one in measure(told) if one.measure == ALL]
    later = task._replace(session="session_2")
    wider = ("c", "D1:1", 0, 51)  # as another reader may cut the quote
    assert task.key != wider
    assert [right for _, right in judge([task, later], [Label("open", wider, True)], told)] == [True, True]
    closed = Label("open", wider, True, until="session_2")
    assert [right for _, right in judge([task, later], [closed], told)] == [True, False]
    elsewhere = Label("open", ("c", "D1:2", 0, 51), True)
    assert [right for _, right in judge([task], [elsewhere], told)] == [None]


def test_members_count_for_the_label_of_their_concept_too() -> None:
    label, member = ("c", "1", 0, 6), ("c", "1", 0, 6, "2")
    rows: list[Judged] = [
        (Shown(CONCEPT, label, "s", "boiler", ()), False),
        (Shown(MEMBER, member, "s", "boiler: The boiler broke.", ()), True),
    ]
    table = as_table({"talk": rows})
    assert "| members of concepts | 1.00 [0.21, 1.00] of 1 |" in table
    assert "| members of concepts, whose label is right too | 0.00 [0.00, 0.79] of 1 |" in table


def test_chats_of_days_are_told_in_order_and_those_without_dates_left_out(tmp_path: Path) -> None:
    chats = [
        {"id": "Ida/2023-05-02", "turns": [{"speaker": "Ida", "role": "user", "text": "Hello.", "at": "2023-05-02"}]},
        {
            "id": "Ida/2023-05-01",
            "turns": [{"speaker": "assistant", "role": "assistant", "text": "Hi.", "at": "2023-05-01"}],
        },
        {"id": "x", "turns": [{"speaker": "Sam", "text": "Do you like sport?"}]},
    ]
    path = tmp_path / "talk.jsonl.xz"
    path.write_bytes(lzma.compress("".join(json.dumps(chat) + "\n" for chat in chats).encode()))
    (lines,) = read_conversations(path).values()
    assert [(line.key, line.session, line.speaker) for line in lines] == [
        ("2023-05-01/0", "2023-05-01", None),
        ("2023-05-02/0", "2023-05-02", "Ida"),
    ]


def test_shipped_labels_are_whole() -> None:
    labels = read_labels(LABELS)
    assert len({(one.what, one.key) for one in labels}) == len(labels) > 300
    assert {one.what for one in labels} == {"open", "done", "summary", "concept", "member"}


@pytest.mark.parametrize(("right", "of", "low", "high"), [(9, 10, 0.596, 0.982), (0, 5, 0.0, 0.434), (0, 0, 0.0, 1.0)])
def test_wilsons_interval(right: int, of: int, low: float, high: float) -> None:
    assert wilson(right, of) == pytest.approx((low, high), abs=0.001)
