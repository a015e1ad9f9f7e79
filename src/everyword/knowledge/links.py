"""Links between statements: one speaks of another, one gave rise to another, or one merely followed another.

After CogCanvas. The caller gives the statements in the order of their turns and says how similar two of them are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from everyword.text.terms import STOPWORDS
from everyword.types.statements import Statement, StatementKind

# Cosines, as CogCanvas has them: a lower one will do where the two share words or names.
REFERENCE_SIMILAR = 0.5
REFERENCE_SIMILAR_WITH_WORDS = 0.3
CAUSE_SIMILAR = 0.45
CAUSE_SIMILAR_WITH_WORDS = 0.3
SHARED_WORDS = 2  # words in common that count as overlap; a name in common counts alone
# What follows within so many turns may follow from it.
TASK_AFTER_DECISION = 5
INSIGHT_AFTER_FACT = 3
DECISION_AFTER_FACT = 2
EVENT_AFTER_DECISION = 10
# A link by order alone is a guess: half the weight of a sure one at one turn's distance, less with each turn more.
FOLLOWS_WEIGHT = 0.5
MOST_REFERENCES = 5  # of one statement, the most similar first: a hub of everything explains nothing
MOST_FOLLOWS = 2  # of one statement, the nearest first


class LinkKind(StrEnum):
    """How one statement is linked to another."""

    REFERENCE = "reference"  # from the later to the earlier: speaks of the same
    CAUSAL = "causal"  # from the cause to what it led to
    TEMPORAL = "temporal"  # likewise, by order alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A statement and the turn of the talk that it comes from."""

    statement: Statement
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed, weighted, dated link."""

    source: str  # statement id
    target: str  # statement id
    kind: LinkKind
    weight: float  # 0 to 1
    at: datetime | None  # since when: when the later of the two was said
    reason: str


Similarity = Callable[[Statement, Statement], float]


def link(new: Sequence[Placed], earlier: Sequence[Placed], similarity: Similarity) -> tuple[Link, ...]:
    """Link new statements to earlier ones and to one another; `earlier` comes first in time."""
    links: list[Link] = []
    before = sorted(earlier, key=_order)
    for placed in sorted(new, key=_order):
        links += _links_of(placed, before, similarity)
        before.append(placed)
    return tuple(links)


def _order(placed: Placed) -> tuple[int, int, str]:
    return placed.turn, placed.statement.span.start, placed.statement.id


def _links_of(later: Placed, before: Sequence[Placed], similarity: Similarity) -> list[Link]:
    references: list[Link] = []
    causes: list[tuple[float, Link]] = []
    follows: list[Link] = []
    for earlier in before:
        if earlier.statement.id == later.statement.id:
            continue
        cosine = similarity(earlier.statement, later.statement)
        shares = _shares(earlier.statement, later.statement)
        caused = _caused(earlier, later, cosine, shares)
        if caused is not None:
            causes.append((cosine, caused))
        elif _follows(earlier, later):
            follows.append(_followed(earlier, later))
        if cosine >= REFERENCE_SIMILAR or (shares and cosine >= REFERENCE_SIMILAR_WITH_WORDS):
            references.append(_reference(earlier, later, cosine, shares))
    references.sort(key=lambda found: (-found.weight, found.target))
    # Of all that could be the cause, the most similar is taken: a task has one decision behind it.
    best = [max(causes, key=lambda pair: (pair[0], pair[1].source))[1]] if causes else []
    follows.sort(key=lambda found: (-found.weight, found.source))
    return [*references[:MOST_REFERENCES], *best, *follows[:MOST_FOLLOWS]]


def _caused(earlier: Placed, later: Placed, cosine: float, shares: str) -> Link | None:
    reach = _REACH.get((earlier.statement.kind, later.statement.kind))
    if reach is None or not 0 <= later.turn - earlier.turn <= reach:
        return None
    if cosine < CAUSE_SIMILAR and not (shares and cosine >= CAUSE_SIMILAR_WITH_WORDS):
        return None
    return Link(
        source=earlier.statement.id,
        target=later.statement.id,
        kind=LinkKind.CAUSAL,
        weight=min(1.0, cosine),
        at=later.statement.valid_from,
        reason=_because(cosine, shares, later.turn - earlier.turn),
    )


_REACH = {
    (StatementKind.DECISION, StatementKind.TASK): TASK_AFTER_DECISION,
    (StatementKind.FACT, StatementKind.INSIGHT): INSIGHT_AFTER_FACT,
    (StatementKind.DECISION, StatementKind.INSIGHT): INSIGHT_AFTER_FACT,
}
_FOLLOWING = {
    (StatementKind.FACT, StatementKind.DECISION): DECISION_AFTER_FACT,
    (StatementKind.DECISION, StatementKind.EVENT): EVENT_AFTER_DECISION,
}


def _follows(earlier: Placed, later: Placed) -> bool:
    reach = _FOLLOWING.get((earlier.statement.kind, later.statement.kind))
    return reach is not None and 0 < later.turn - earlier.turn <= reach


def _followed(earlier: Placed, later: Placed) -> Link:
    distance = later.turn - earlier.turn
    return Link(
        source=earlier.statement.id,
        target=later.statement.id,
        kind=LinkKind.TEMPORAL,
        weight=FOLLOWS_WEIGHT / distance,
        at=later.statement.valid_from,
        reason=f"{earlier.statement.kind.value}, {_turns(distance)} before",
    )


def _reference(earlier: Placed, later: Placed, cosine: float, shares: str) -> Link:
    return Link(
        source=later.statement.id,
        target=earlier.statement.id,
        kind=LinkKind.REFERENCE,
        weight=min(1.0, cosine),
        at=later.statement.valid_from,
        reason=_because(cosine, shares, later.turn - earlier.turn),
    )


def _because(cosine: float, shares: str, distance: int) -> str:
    words = f", shares {shares}" if shares else ""
    return f"similarity {cosine:.2f}{words}, {_turns(distance)} apart"


def _turns(distance: int) -> str:
    return f"{distance} turn{'' if distance == 1 else 's'}"


_WORD = re.compile(r"[^\W_]{3,}")


def _shares(one: Statement, other: Statement) -> str:
    """Name what two statements have in common: a name besides that of whom they are about, or enough words."""
    people = {one.about, other.about, one.speaker, other.speaker}
    names = (set(one.entities) & set(other.entities)) - people
    if names:
        return min(names)
    words = _words(one) & _words(other)
    return " ".join(sorted(words)[:3]) if len(words) >= SHARED_WORDS else ""


def _words(statement: Statement) -> set[str]:
    return {word for word in _WORD.findall((statement.value or statement.content).lower()) if word not in STOPWORDS}
