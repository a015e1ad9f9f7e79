"""LongMemEval in its original format (oracle, S, M): each turn is a line.

Each question has a store of its own, its haystack. With `union` all sessions of the file make one store, so that the
other questions' sessions are the haystack: harder than the oracle file, and another protocol than LongMemEval-S.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from evals.errors import EvalError
from evals.metrics import EARLIER, NEWEST_FIRST
from evals.tasks.reading import hash_of, listed, moment, read_json
from evals.values import Asked, Line, Task

UNION = "union"
ABSTENTION = "_abs"
NOT_ANSWERABLE = "abstention"
CHANGED = "knowledge-update"  # questions on something that was first told one way and later another
# Of those, the ones that ask for the first way; not "more often than before", which asks for both.
_ASKS_EARLIER = re.compile(r"(?<!than )\b(?:before|initially|originally|earlier|in the first)\b", re.IGNORECASE)


class _Session(NamedTuple):
    name: str
    at: datetime | None
    turns: Sequence[Mapping[str, Any]]


def longmemeval(path: Path, *, union: bool = False) -> Task:
    """Read questions and their haystacks."""
    asked = read_json(path)
    if not isinstance(asked, list) or not all(isinstance(one, dict) and "haystack_sessions" in one for one in asked):
        raise EvalError(f"{path} is not LongMemEval: a list of questions with `haystack_sessions` was expected.")
    remarks: list[str] = []
    stores: dict[str, Sequence[Line]] = {}
    questions: list[Asked] = []
    joined = _Union()
    for question in asked:
        id = str(question["question_id"])
        sessions = list(_sessions(id, question, remarks))
        if union:
            sessions = [joined.add(session) for session in sessions]
        else:
            stores[id] = [line for session in sessions for line in _lines(session)]
        questions.append(_question(UNION if union else id, question, sessions, remarks))
    if union:
        stores[UNION] = joined.lines()
        remarks += joined.remarks()
    name = "longmemeval-union" if union else "longmemeval"
    return Task(name=name, data_hash=hash_of(path), stores=stores, questions=questions, remarks=remarks)


def _sessions(id: str, question: Mapping[str, Any], remarks: list[str]) -> Iterator[_Session]:
    contents = question["haystack_sessions"]
    names = question.get("haystack_session_ids") or [f"{id}-{number}" for number in range(len(contents))]
    dates = question.get("haystack_dates") or [""] * len(contents)
    if not len(contents) == len(names) == len(dates):
        raise EvalError(f"{id}: sessions, their ids and their dates are not equally many.")
    seen: set[str] = set()
    for name, date, turns in zip(names, dates, contents, strict=True):
        at = moment(str(date))
        if at is None:
            remarks.append(f"{id}: session {name} has no date that can be read: {date!r}")
        if name in seen:
            remarks.append(f"{id}: session {name} is in the haystack twice; the first one counts")
            continue
        seen.add(name)
        yield _Session(str(name), at, turns)


def _lines(session: _Session) -> Iterator[Line]:
    for number, turn in enumerate(session.turns):
        text = str(turn.get("content") or "")
        if text.strip():
            role = turn.get("role")
            yield Line(
                key=_key(session, number), text=text, speaker=role, role=role, session=session.name, at=session.at
            )


def _question(store: str, question: Mapping[str, Any], sessions: Sequence[_Session], remarks: list[str]) -> Asked:
    id = str(question["question_id"])
    answerable = not id.endswith(ABSTENTION)
    evidence = [
        _key(session, number)
        for session in sessions
        for number, turn in enumerate(session.turns)
        if turn.get("has_answer") and str(turn.get("content") or "").strip()
    ]
    given = [str(name) for name in question.get("answer_session_ids", ())]
    # A session of the union that two questions tell differently has another name there.
    named = [session.name for session in sessions if session.name.split(_Union.AGAIN)[0] in given]
    if len(named) < len(given):
        remarks.append(f"{id}: {len(given) - len(named)} answer sessions are not in the haystack")
    if answerable and not evidence:
        remarks.append(f"{id}: no turn is marked has_answer; recall of events is not measured on it")
    return Asked(
        id=id,
        store=store,
        text=str(question["question"]),
        category=str(question.get("question_type", "unknown")) if answerable else NOT_ANSWERABLE,
        evidence=tuple(evidence) if answerable else (),
        sessions=tuple(named) if answerable else (),
        answer=str(question.get("answer", "")) if answerable else "",
        answerable=answerable,
        now=moment(str(question.get("question_date", ""))),
        expects=_expects(question) if answerable and question.get("question_type") == CHANGED else {},
    )


def _expects(question: Mapping[str, Any]) -> dict[str, bool]:
    return {NEWEST_FIRST: True, EARLIER: _ASKS_EARLIER.search(str(question["question"])) is not None}


def _key(session: _Session, turn: int) -> str:
    return f"{session.name}:{turn}"


class _Union:
    """All sessions of a file, each once."""

    AGAIN = "~"

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._other_dates: list[str] = []
        self._other_turns: list[str] = []

    def add(self, session: _Session) -> _Session:
        """Take a session in, and give it back under the name that it has in the union."""
        name, number = session.name, 1
        while (known := self._sessions.get(name)) is not None:
            if _said(known) == _said(session):
                if known.at != session.at:
                    self._other_dates.append(session.name)
                return session._replace(name=name, at=known.at)
            number += 1
            name = f"{session.name}{self.AGAIN}{number}"
        if number > 1:
            self._other_turns.append(session.name)
        self._sessions[name] = session._replace(name=name)
        return self._sessions[name]

    def lines(self) -> list[Line]:
        """List all turns in the order in which they were said."""
        dated = sorted(self._sessions.values(), key=lambda session: (session.at is None, str(session.at)))
        return [line for session in dated for line in _lines(session)]

    def remarks(self) -> Iterator[str]:
        """Tell where questions disagree on a session that they share."""
        if self._other_dates:
            yield f"sessions that questions date differently, dated by the first: {listed(self._other_dates)}"
        if self._other_turns:
            yield f"sessions that questions tell differently, kept as two: {listed(self._other_turns)}"


def _said(session: _Session) -> list[tuple[Any, Any]]:
    return [(turn.get("role"), turn.get("content")) for turn in session.turns]
