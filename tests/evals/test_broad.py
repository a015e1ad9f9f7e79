"""Broad questions: how much of an overview a context covers, and that the file is whole."""

from __future__ import annotations

import json
from pathlib import Path

from evals.broad import BUDGETS, Broad, as_table, measure, read_questions


def test_a_point_is_covered_by_any_of_its_lines(tmp_path: Path) -> None:
    told = {
        "session_1_date_time": "4:30 pm on 28 May, 2021",
        "session_1": [
            {"speaker": "Ida", "dia_id": "D1:1", "text": "I bought a kayak last week."},
            {"speaker": "Tom", "dia_id": "D1:2", "text": "I sold the boat."},
        ],
    }
    data = tmp_path / "locomo.json"
    data.write_text(json.dumps([{"sample_id": "c", "conversation": told, "qa": []}]), encoding="utf-8")
    points = [frozenset({"D1:1", "D7:7"}), frozenset({"D7:8"})]
    covered = measure([Broad("c", "What did Ida buy?", points)], data)
    assert covered == {budget: [0.5] for budget in BUDGETS}
    assert "| 1 questions: points covered |" in as_table(covered)
    assert "0.500" in as_table(covered)


def test_every_question_has_points_with_lines() -> None:
    asked = read_questions()
    assert len({one.question for one in asked}) == len(asked) == 60
    for one in asked:
        assert len(one.points) >= 4
        assert all(one.points)
