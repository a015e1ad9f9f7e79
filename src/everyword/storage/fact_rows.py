"""Write facts as one line of JSON, and read them back; both backends store and compare that line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from everyword.types.graph import RELATIONS, Fact, FactDraft

# As files have it since the first of them; when a fact was learned is in no line, but with the events it rests on.
_SAID_AT = "recorded_at"


def fact_line(fact: Fact, claims: Sequence[int]) -> str:
    """Write what a fact's columns do not hold; equal facts are equal text."""
    body = {
        "subject_name": fact.subject_name,
        "object_name": fact.object_name,
        "valid_from": _written(fact.valid_from),
        "valid_to": _written(fact.valid_to),
        _SAID_AT: fact.said_at.isoformat(),
        "confidence": fact.confidence,
        "conflicts": fact.conflicts,
        "claims": sorted(claims),
    }
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def fact_of(
    id: str,
    subject: str,
    relation: str,
    object: str,
    conflicts: bool,
    body: Mapping[str, Any],
    claims: Mapping[int, FactDraft],
) -> Fact:
    """Read a fact back."""
    return Fact(
        id=id,
        subject=subject,
        subject_name=body["subject_name"],
        relation=relation,
        object=object,
        object_name=body["object_name"],
        valid_from=_read(body["valid_from"]),
        valid_to=_read(body["valid_to"]),
        said_at=datetime.fromisoformat(body[_SAID_AT]),
        confidence=body["confidence"],
        sources=tuple(claims[number] for number in body["claims"] if number in claims),
        conflicts=conflicts,
    )


def renumbered(line: str, by: int) -> str:
    """Give a fact's line for claims whose numbers have moved, all by as much."""
    body: dict[str, Any] = json.loads(line)
    body["claims"] = [number + by for number in body["claims"]]
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def with_claims_named(line: str, names: Mapping[int, int]) -> str:
    """Give a fact's line with what its claims say in the place of their numbers, which differ from store to store."""
    body: dict[str, Any] = json.loads(line)
    body["claims"] = sorted(names.get(number, 0) for number in body["claims"])
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def single_of(relation: str) -> bool:
    """Tell whether a relation has one object at a time."""
    known = RELATIONS.get(relation)
    return known is not None and known.single and known.lasts


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
