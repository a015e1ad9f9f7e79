"""LoCoMo in its original format: each conversation is a store, each turn a line.

What its authors derived from the conversations (`observation`, `session_summary`, `event_summary`) is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.errors import EvalError
from evals.tasks.reading import hash_of, moment, read_json, read_jsonl
from evals.values import Asked, Line, Task

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
NOT_ANSWERABLE = "adversarial"
GROUPS = {"cat 1-3": ("multi-hop", "temporal", "open-domain")}  # what CogCanvas reports as one figure

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")  # also "D:11:26" and "D30:05", which the file has beside "D11:26"


def locomo(path: Path, *, audit: Path | None = None) -> Task:
    """Read conversations and questions; `audit` has corrected evidence, which then counts in place of the file's."""
    samples = read_json(path)
    if not isinstance(samples, list) or not all(isinstance(one, dict) and "conversation" in one for one in samples):
        raise EvalError(f"{path} is not LoCoMo: a list of samples with `conversation` and `qa` was expected.")
    corrected = {(str(row["sample_id"]), int(row["qa_index"])): row for row in read_jsonl(audit)} if audit else {}
    remarks: list[str] = []
    stores: dict[str, Sequence[Line]] = {}
    questions: list[Asked] = []
    for number, sample in enumerate(samples):
        name = str(sample.get("sample_id", f"sample-{number}"))
        stores[name] = lines = list(_lines(name, sample["conversation"], remarks))
        questions += _questions(name, sample.get("qa", ()), lines, corrected, remarks)
    if corrected:
        remarks.append(_audited(samples, corrected, questions))
    return Task(name="locomo", data_hash=hash_of(path, audit), stores=stores, questions=questions, remarks=remarks)


def _lines(store: str, conversation: Mapping[str, Any], remarks: list[str]) -> Iterator[Line]:
    sessions = sorted((int(found[1]), name) for name in conversation if (found := _SESSION.fullmatch(name)))
    for _, name in sessions:
        date = str(conversation.get(f"{name}_date_time", ""))
        at = moment(date)
        if at is None:
            remarks.append(f"{store} {name}: no date in {date!r}; its turns are undated")
        for turn in conversation[name]:
            key = _turn_ids(str(turn["dia_id"]))
            caption = turn.get("blip_caption")
            text = str(turn.get("text") or "")
            yield Line(
                key=key[0] if key else str(turn["dia_id"]),
                text=f"{text} [image: {caption}]".strip() if caption else text,
                speaker=turn.get("speaker"),
                session=name,
                at=at,
            )


def _questions(
    store: str,
    asked: Sequence[Mapping[str, Any]],
    lines: Sequence[Line],
    corrected: Mapping[tuple[str, int], Mapping[str, Any]],
    remarks: list[str],
) -> Iterator[Asked]:
    known = {line.key for line in lines}
    # The file has no time of asking. The end of the conversation is one that does not move with the machine's clock.
    now = max((line.at for line in lines if line.at), default=None)
    for index, question in enumerate(asked):
        id, text = f"{store}/{index}", str(question["question"])
        audit = corrected.get((store, index), {})
        if audit and str(audit.get("question", text)) != text:
            remarks.append(f"{id}: the audit speaks of another question; its evidence is not used")
            audit = {}
        category = CATEGORIES.get(question.get("category", 0), str(question.get("category")))
        answerable = category != NOT_ANSWERABLE
        evidence = audit.get("evidence_best", question.get("evidence") or ())
        yield Asked(
            id=id,
            store=store,
            text=text,
            category=category,
            evidence=_evidence(id, evidence, known, remarks),
            answer=str(question.get("answer", "")) if answerable else "",
            answerable=answerable,
            now=now,
            notes=_notes(audit),
        )


def _evidence(id: str, given: Sequence[Any] | str, known: set[str], remarks: list[str]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for one in [given] if isinstance(given, str) else given:
        keys = _turn_ids(str(one))
        if not keys:
            remarks.append(f"{id}: evidence {one!r} names no turn")
        elif [str(one)] != keys:
            remarks.append(f"{id}: evidence {one!r} read as {' '.join(keys)}")
        for key in keys:
            if key in known:
                kept[key] = None
            else:
                remarks.append(f"{id}: evidence {key} is not in the conversation")
    if not kept:
        remarks.append(f"{id}: no evidence; recall is not measured on it")
    return tuple(kept)


def _turn_ids(text: str) -> list[str]:
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(text)]


def _audited(
    samples: Sequence[Mapping[str, Any]],
    corrected: Mapping[tuple[str, int], Mapping[str, Any]],
    questions: Sequence[Asked],
) -> str:
    given = [question.get("evidence") or () for sample in samples for question in sample.get("qa", ())]
    other = sum(set(asked.evidence) != set(before) for asked, before in zip(questions, given, strict=True))
    disputed = sum(bool(asked.notes) for asked in questions)
    return (
        f"the audit speaks of {len(corrected)} questions: evidence other than the file's counts for {other}, and the "
        f"answer of {disputed} is disputed (their rows have the note; the file's answer counts)"
    )


def _notes(audit: Mapping[str, Any]) -> str:
    if "audit_error_type" not in audit:
        return ""
    return f"{audit['audit_error_type']}: the answer should be {audit.get('audit_correct_answer', 'unknown')!r}"
