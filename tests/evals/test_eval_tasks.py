"""Loaders: the data sets' original formats, with the oddities that the real files have."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from evals.errors import EvalError
from evals.tasks import TaskOptions, load_task
from evals.tasks.locomo import locomo
from evals.tasks.longmemeval import longmemeval
from evals.tasks.plain import plain
from evals.tasks.reading import moment

CONVERSATION: dict[str, Any] = {
    "speaker_a": "Ida",
    "speaker_b": "Tom",
    "session_2_date_time": "12:05 am on 3 June, 2021",
    "session_2": [{"speaker": "Tom", "dia_id": "D2:1", "text": "I sold the boat."}],
    "session_1_date_time": "4:30 pm on 28 May, 2021",
    "session_1": [
        {"speaker": "Ida", "dia_id": "D1:1", "text": "Look at this!", "blip_caption": "a red kayak on a lake"},
        {"speaker": "Tom", "dia_id": "D1:2", "text": "Nice."},
    ],
    "session_9_date_time": "1:00 pm on 9 June, 2021",  # a date without a session, as in the original
}
QA: list[dict[str, Any]] = [
    {"question": "What colour is the kayak?", "answer": "red", "evidence": ["D1:1"], "category": 4},
    {"question": "When was the boat sold?", "answer": 2021, "evidence": ["D1:1; D2:01"], "category": 2},
    {"question": "Who likes lakes?", "answer": "Ida", "evidence": ["D:1:1", "D", "D7:3"], "category": 1},
    {"question": "Would Ida row?", "answer": "yes", "evidence": [], "category": 3},
    {"question": "Why did Ida sell it?", "adversarial_answer": "money", "evidence": ["D2:1"], "category": 5},
]


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    notes = {"observation": {"session_1": "SECRET"}, "session_summary": {"session_1": "SECRET"}}
    path.write_text(json.dumps([{"sample_id": "c1", "conversation": CONVERSATION, "qa": QA, **notes}]))
    return path


def test_locomo_turns_are_lines_in_order_with_captions_and_no_derived_notes(conversations: Path) -> None:
    lines = locomo(conversations).stores["c1"]
    assert [line.key for line in lines] == ["D1:1", "D1:2", "D2:1"]
    assert lines[0].text == "Look at this! [image: a red kayak on a lake]"
    assert (lines[0].speaker, lines[0].session) == ("Ida", "session_1")
    assert lines[0].at == datetime(2021, 5, 28, 16, 30, tzinfo=UTC)
    assert lines[2].at == datetime(2021, 6, 3, 0, 5, tzinfo=UTC)
    assert "SECRET" not in str(lines)


def test_locomo_evidence_is_normalised_and_what_is_wrong_with_it_is_said(conversations: Path) -> None:
    task = locomo(conversations)
    kayak, sold, lakes, row, why = task.questions
    assert kayak.evidence == ("D1:1",)
    assert sold.evidence == ("D1:1", "D2:1")
    assert sold.answer == "2021"
    assert lakes.evidence == ("D1:1",)
    assert row.evidence == ()
    assert [asked.category for asked in task.questions] == [
        "single-hop", "temporal", "multi-hop", "open-domain", "adversarial"
    ]  # fmt: skip
    assert (why.answerable, why.answer) == (False, "")
    assert kayak.now == datetime(2021, 6, 3, 0, 5, tzinfo=UTC)
    assert task.remarks == [
        "c1/1: evidence 'D1:1; D2:01' read as D1:1 D2:1",
        "c1/2: evidence 'D:1:1' read as D1:1",
        "c1/2: evidence 'D' names no turn",
        "c1/2: evidence D7:3 is not in the conversation",
        "c1/3: no evidence; recall is not measured on it",
    ]


def test_an_audit_corrects_evidence_and_is_told(conversations: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    rows = [
        {"sample_id": "c1", "qa_index": 0, "question": QA[0]["question"], "evidence_best": ["D1:2"],
         "audit_error_type": "WRONG", "audit_correct_answer": "blue"},
        {"sample_id": "c1", "qa_index": 3, "question": "another one", "evidence_best": ["D1:2"]},
    ]  # fmt: skip
    audit.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    before, task = locomo(conversations), locomo(conversations, audit=audit)
    assert task.questions[0].evidence == ("D1:2",)
    assert task.questions[0].answer == "red"
    assert task.questions[0].notes == "WRONG: the answer should be 'blue'"
    assert task.questions[3].evidence == ()
    assert "c1/3: the audit speaks of another question; its evidence is not used" in task.remarks
    assert "the audit speaks of 2 questions" in task.remarks[-1]
    assert "the answer of 1 is disputed" in task.remarks[-1]
    assert task.data_hash != before.data_hash


def _haystack(id: str, sessions: dict[str, tuple[str, list[tuple[str, str, bool]]]], **more: Any) -> dict[str, Any]:
    return {
        "question_id": id,
        "question_type": "single-session-user",
        "question": "Which bike?",
        "answer": "a Bianchi",
        "question_date": "2024/02/01 (Thu) 09:15",
        "haystack_session_ids": list(sessions),
        "haystack_dates": [date for date, _ in sessions.values()],
        "haystack_sessions": [
            [{"role": role, "content": text, "has_answer": right} for role, text, right in turns]
            for _, turns in sessions.values()
        ],
        "answer_session_ids": [],
    } | more


BIKE = ("2024/01/05 (Fri) 20:00", [("user", "My Bianchi is back.", True), ("assistant", "Great!", False)])
TEA = ("2024/01/02 (Tue) 08:00", [("user", "I drink tea.", False), ("assistant", " ", False)])


def _written(tmp_path: Path, *questions: dict[str, Any]) -> Path:
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps(questions))
    return path


def test_longmemeval_gives_each_question_its_haystack(tmp_path: Path) -> None:
    asked = _haystack("q1", {"bike": BIKE, "tea": TEA}, answer_session_ids=["bike"], answer=7)
    task = longmemeval(_written(tmp_path, asked, _haystack("q2_abs", {"tea": TEA}, answer_session_ids=["tea"])))
    assert {name: [line.key for line in lines] for name, lines in task.stores.items()} == {
        "q1": ["bike:0", "bike:1", "tea:0"],  # the empty turn is left out
        "q2_abs": ["tea:0"],
    }
    first, second = task.questions
    assert (first.evidence, first.sessions, first.answer) == (("bike:0",), ("bike",), "7")
    assert first.now == datetime(2024, 2, 1, 9, 15, tzinfo=UTC)
    assert (second.answerable, second.category, second.evidence, second.sessions) == (False, "abstention", (), ())
    assert task.stores["q1"][0].role == "user"


def test_the_union_holds_each_session_once(tmp_path: Path) -> None:
    later = ("2024/01/09 (Tue) 20:00", BIKE[1])
    told = ("2024/01/02 (Tue) 08:00", [("user", "I drink coffee.", True)])
    task = longmemeval(
        _written(
            tmp_path,
            _haystack("q1", {"bike": BIKE, "tea": TEA}, answer_session_ids=["bike"]),
            _haystack("q2", {"bike": later, "tea": told}, answer_session_ids=["tea", "gone"]),
        ),
        union=True,
    )
    assert task.name == "longmemeval-union"
    assert [line.key for line in task.stores["union"]] == ["tea:0", "tea~2:0", "bike:0", "bike:1"]
    assert task.questions[1].evidence == ("bike:0", "tea~2:0")
    assert task.questions[1].sessions == ("tea~2",)
    assert task.remarks == [
        "q2: 1 answer sessions are not in the haystack",
        "sessions that questions date differently, dated by the first: bike",
        "sessions that questions tell differently, kept as two: tea",
    ]


PLAIN: dict[str, Any] = {
    "name": "ours",
    "stores": {"one": [{"key": "a", "text": "Hello.", "at": "2024-01-01T10:00"}, {"key": "b", "text": "Bye."}]},
    "questions": [{"text": "Who?", "evidence": ["b", "zz"], "answer": "me", "expects": {"needle": "Bye"}}],
}


def test_the_plain_form(tmp_path: Path) -> None:
    path = tmp_path / "ours.json"
    path.write_text(json.dumps(PLAIN))
    task = plain(path)
    assert task.stores["one"][0].at == datetime(2024, 1, 1, 10, tzinfo=UTC)
    asked = task.questions[0]
    assert (asked.id, asked.store, asked.category, asked.evidence) == ("0", "one", "all", ("b",))
    assert asked.expects == {"needle": "Bye"}
    assert task.remarks == ["0: evidence zz is not in one"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stores": {"one": [{"key": "a"}]}}, "has no text"),
        ({"stores": {"one": [{"key": "a", "text": "x", "when": 1}]}}, "when is not known"),
        ({"stores": {"one": [{"key": "a", "text": "x", "at": "soon"}]}}, "'soon' is not a date"),
        ({"questions": [{"text": "x", "store": "two"}]}, "the store 'two' is not among one"),
        ({"questions": None, "stores": []}, "not our plain form"),
    ],
)
def test_a_wrong_plain_file_is_told_with_its_place(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "ours.json"
    whole = PLAIN | change
    path.write_text(json.dumps(whole if whole["questions"] is not None else []))
    with pytest.raises(EvalError, match=said):
        plain(path)


@pytest.mark.parametrize("load", [locomo, longmemeval, plain])
def test_another_file_is_told_apart(tmp_path: Path, load: Any) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    with pytest.raises(EvalError, match="is not"):
        load(path)
    path.write_text("{")
    with pytest.raises(EvalError, match="can't be read as JSON"):
        load(path)
    with pytest.raises(EvalError, match="There is no file"):
        load(tmp_path / "missing.json")


def test_dates_that_are_none() -> None:
    assert moment("13:99 pm on 40 Nonsense, 2021") is None
    assert moment("2021/13/01 (Mon) 10:00") is None
    assert moment("12:00 pm on 1 January, 2020") == datetime(2020, 1, 1, 12, tzinfo=UTC)
    assert moment("2020/02/03") == datetime(2020, 2, 3, tzinfo=UTC)


def test_a_limit_takes_questions_evenly(conversations: Path) -> None:
    chosen = load_task("locomo", TaskOptions(data=conversations, limit=2))
    assert [asked.id for asked in chosen.task.questions] == ["c1/0", "c1/2"]
    with pytest.raises(EvalError, match="--data"):
        load_task("locomo", TaskOptions())
    with pytest.raises(EvalError, match="There is no task 'other'"):
        load_task("other", TaskOptions())
