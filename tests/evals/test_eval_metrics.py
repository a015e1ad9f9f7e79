"""Metrics against values worked out by hand."""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
import pytest
from evals.metrics import answer_words, score, share
from evals.packing import pack
from evals.summary import Estimate, auroc, estimates
from evals.values import Answer, Asked, Found, Line

LINES = {
    key: Line(key=key, text=text, session=session)
    for key, text, session in (
        ("a", "one", "s1"),
        ("b", "two", "s1"),
        ("c", "three", "s2"),
        ("d", "four", "s3"),
        ("e", "five", None),
    )
}


def _asked(**more: object) -> Asked:
    return Asked(id="q", store="one", text="?", category="x", **more)  # type: ignore[arg-type]


def _found(*keys: str) -> Answer:
    return Answer(found=[Found(key=key, score=1.0) for key in keys])


def test_recall_of_events() -> None:
    measured = score(_asked(evidence=("b", "d")), _found("a", "b", "c", "e", "x", "d"), LINES, {})
    assert {name: value for name, value in measured.items() if name.startswith("event.frac")} == {
        "event.frac@1": 0.0, "event.frac@5": 0.5, "event.frac@10": 1.0, "event.frac@20": 1.0
    }  # fmt: skip
    assert (measured["event.any@1"], measured["event.any@5"]) == (0.0, 1.0)
    assert (measured["event.all@5"], measured["event.all@10"]) == (0.0, 1.0)
    assert measured["event.mrr"] == 0.5
    gain = 1 / math.log2(3) + 1 / math.log2(7)
    assert measured["event.ndcg@10"] == pytest.approx(gain / (1 + 1 / math.log2(3)))


def test_sessions_are_ranked_by_their_best_line() -> None:
    # The ranking of sessions is s1, s2, s3: the second line of s1 and the line without a session take no place.
    measured = score(_asked(evidence=("d",)), _found("a", "b", "e", "c", "d"), LINES, {})
    assert measured["session.mrr"] == pytest.approx(1 / 3)
    assert measured["session.any@1"] == 0.0
    assert measured["session.any@5"] == 1.0
    only_sessions = score(_asked(sessions=("s2", "s3")), _found("c"), LINES, {})
    assert only_sessions["session.frac@1"] == 0.5
    assert "event.frac@1" not in only_sessions


OLD, NEW = datetime(2024, 1, 1), datetime(2024, 3, 1)
MOVES = {
    "old": Line(key="old", text="I live in Rome", session="s1", at=OLD),
    "old2": Line(key="old2", text="Rome is warm", session="s1", at=OLD),
    "new": Line(key="new", text="I moved to Oslo", session="s2", at=NEW),
    "other": Line(key="other", text="Plums", session="s3", at=NEW),
}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (("new", "old"), 1.0),
        (("other", "new"), 1.0),  # what is no evidence takes no part, and older evidence need not be found
        (("old2", "new", "old"), 0.0),
        (("old",), 0.0),
        (("other",), 0.0),  # nothing found is no success
    ],
)
def test_the_newest_evidence_should_come_first(found: tuple[str, ...], expected: float) -> None:
    asked = _asked(evidence=("old", "old2", "new"), expects={"newest_first": True})
    assert score(asked, _found(*found), MOVES, {})["newest_first"] == expected


@pytest.mark.parametrize(
    ("found", "earlier", "expected"), [("new", False, 1.0), ("old", True, 1.0), ("new", True, 0.0)]
)
def test_a_question_may_ask_for_the_state_before_the_change(found: str, earlier: bool, expected: float) -> None:
    asked = _asked(evidence=("old", "new"), expects={"newest_first": True, "earlier": earlier})
    assert score(asked, _found(found), MOVES, {})["state_first"] == expected
    assert score(asked, _found("other"), MOVES, {})["state_first"] == 0.0


def test_newest_first_by_sessions_where_no_lines_are_named_and_not_at_all_without_a_change() -> None:
    by_session = _asked(sessions=("s1", "s2"), expects={"newest_first": True})
    assert score(by_session, _found("other", "new", "old"), MOVES, {})["newest_first"] == 1.0
    assert score(by_session, _found("old2", "new"), MOVES, {})["newest_first"] == 0.0
    unchanged = _asked(evidence=("old", "old2"), expects={"newest_first": True})
    assert "newest_first" not in score(unchanged, _found("old"), MOVES, {})
    assert "newest_first" not in score(_asked(evidence=("old", "new")), _found("new"), MOVES, {})


def test_a_line_found_twice_counts_once() -> None:
    measured = score(_asked(evidence=("b",)), _found("a", "a", "b"), LINES, {})
    assert measured["event.mrr"] == 0.5


def test_without_gold_nothing_is_measured() -> None:
    assert score(_asked(answerable=False), _found("a"), LINES, {300: "x"}) == {}
    assert score(_asked(answer="the"), _found("a"), LINES, {300: "x"}) == {}


def test_nothing_found_is_zero_everywhere() -> None:
    measured = score(_asked(evidence=("a",), answer="x"), _found(), LINES, {300: ""})
    assert set(measured.values()) == {0.0}


def test_words_of_an_answer() -> None:
    assert answer_words("The Dogs, a dog's   RUNNING!") == {"dog", "run"}
    assert answer_words("Don't") == answer_words("dont")
    wanted = answer_words("adopted two kittens in May")
    assert share(wanted, "In May we are adopting a kitten.") == pytest.approx(4 / 5)
    asked = _asked(answer="two kittens")
    measured = score(asked, _found(), LINES, {300: "a kitten", 600: "kittens: two"})
    assert measured == {"gold@300": 0.5, "gold@600": 1.0}


def test_lines_are_packed_whole_while_they_fit() -> None:
    lines = {key: Line(key=key, text=text) for key, text in (("a", "x x x"), ("b", "y y y y y y"), ("c", "z"))}
    answer = _found("a", "b", "c", "unknown")
    packed = pack(answer.found, lines, (4, 100), lambda text: len(text.split()))
    assert packed == {4: "x x x\nz", 100: "x x x\ny y y y y y\nz"}


def test_estimates_average_what_is_there() -> None:
    rows = [{"m": 1.0}, {"m": 0.0, "other": 1.0}, {"m": 1.0}, {"m": 0.0}]
    found = estimates(rows, seed=3)
    assert (found["m"].mean, found["m"].n) == (0.5, 4)
    assert 0.0 <= found["m"].low < 0.5 < found["m"].high <= 1.0
    assert found["other"] == Estimate(mean=1.0, low=1.0, high=1.0, n=1)
    assert estimates(rows, seed=3) == found
    assert estimates([], seed=3) == {}


def test_an_interval_is_as_wide_as_theory_says() -> None:
    values = np.random.default_rng(0).random(400) < 0.3
    found = estimates([{"m": float(value)} for value in values])["m"]
    expected = 1.96 * math.sqrt(found.mean * (1 - found.mean) / 400)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.15)


def test_auroc() -> None:
    # Of six pairs four are in order and one is a tie.
    found = auroc(np.array([0.9, 0.5, 0.3]), np.array([0.5, 0.2]))
    assert found is not None
    assert found.mean == pytest.approx((1 + 1 + 0.5 + 1 + 0 + 1) / 6)
    assert auroc(np.array([1.0]), np.array([])) is None


def test_figures_are_written_as_papers_do() -> None:
    assert str(Estimate(mean=0.5, low=0.0, high=1.0, n=2)) == ".500 [.000 1.00]"
    assert str(Estimate(mean=-0.25, low=-0.5, high=0.1, n=2)) == "-.250 [-.500 .100]"
