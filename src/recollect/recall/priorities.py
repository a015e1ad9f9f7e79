"""What matters now: how much a statement counts when nobody has asked anything yet.

    priority = importance x (FLOOR + (1 - FLOOR) x recency) + use + deadline + here

Recency counts from the last event of the memory, not from the clock, and deadlines count in days: while nothing happens
and no day is due, the same things stay at the top.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

from recollect.core.artifacts import TO_DO, Artifact, ArtifactKind, Category
from recollect.core.values import Score

# From 0 to 1: how much an agent gains by knowing it unasked. What is to be done or was decided changes what it does;
# what happened can wait until somebody asks.
IMPORTANCE = {
    ArtifactKind.REMINDER: 1.0,
    ArtifactKind.DECISION: 0.9,
    ArtifactKind.TODO: 0.9,
    ArtifactKind.PREFERENCE: 0.85,
    ArtifactKind.KEY_FACT: 0.7,
    ArtifactKind.RELATIONSHIP: 0.6,
    ArtifactKind.ATTRIBUTE: 0.6,
    ArtifactKind.INSIGHT: 0.5,
    ArtifactKind.EVENT: 0.3,
}
# Added to the importance: what it would be worst to act against (an allergy), and who somebody is.
WEIGHTY = {Category.WELLNESS: 0.25, Category.IDENTITY: 0.1}
# Days after which a statement counts half, by how long such things stay true.
HALF_LIFE_DAYS = {
    ArtifactKind.REMINDER: 14,
    ArtifactKind.TODO: 14,
    ArtifactKind.EVENT: 14,
    ArtifactKind.DECISION: 60,
    ArtifactKind.KEY_FACT: 60,
    ArtifactKind.INSIGHT: 60,
    ArtifactKind.PREFERENCE: 365,
    ArtifactKind.RELATIONSHIP: 365,
    ArtifactKind.ATTRIBUTE: 365,
}
FLOOR = 0.4  # of the importance that age never takes: an old allergy is one
# For each doubling of how often it was said again; and the most that this may add.
USE = 0.06
MOST_USE = 0.24
# Days until it is due, and what that adds. What was missed counts for a week as what is due tomorrow.
DEADLINES = ((1, 0.5), (7, 0.3), (30, 0.1))
MISSED_DAYS = 7
HERE = 0.25  # it was said in the project that is at hand
# An assistant's own plans are mostly about the task of that moment.
BY_ASSISTANT = 0.5  # times the importance
_DATED = (ArtifactKind.REMINDER, ArtifactKind.TODO, ArtifactKind.EVENT, ArtifactKind.DECISION)
# What is so only until its day: "the flight is on 20 January". A day of the year comes round again, and what is so
# "from February" goes on.
_MAY_BE_A_DATE = (ArtifactKind.KEY_FACT, ArtifactKind.ATTRIBUTE)
_ONLY_WHEN = re.compile(
    r"(?:(?:on|in|at|by|for|due|set|scheduled|planned|booked|until|till|before|around|now|the|closed|open)\s)*",
    re.IGNORECASE,
)
_EVERY_YEAR = ("birthday", "anniversary", "name day", "born")


def weigh(
    artifact: Artifact,
    *,
    said_at: datetime,
    latest: datetime,
    today: datetime,
    confirmed: int,
    here: bool,
    by_assistant: bool,
) -> tuple[Score, ...]:
    """Say what speaks for a statement; the sum is its priority."""
    days = max(0, (latest - said_at) // timedelta(days=1))
    importance = min(1.0, IMPORTANCE[artifact.kind] + WEIGHTY.get(artifact.category, 0.0)) * artifact.confidence
    if by_assistant:
        importance *= BY_ASSISTANT
    recency = 0.5 ** (days / HALF_LIFE_DAYS[artifact.kind])
    kept = importance * (FLOOR + (1 - FLOOR) * recency)
    whose = ", said by an assistant" if by_assistant else ""
    scores = [
        _score("importance", importance, f"{_named(artifact)}, certain to {artifact.confidence:.0%}{whose}"),
        _score("recency", kept - importance, f"{days} days before the last event"),
    ]
    if confirmed:
        used = min(MOST_USE, USE * math.log2(1 + confirmed))
        scores.append(_score("use", used, f"said again {confirmed} times"))
    scores += _deadline(artifact, today)
    if here:
        scores.append(_score("here", HERE, "of the project at hand"))
    return tuple(scores)


def is_over(artifact: Artifact, today: datetime) -> bool:
    """Tell what lies behind: a date that has passed is history, not news."""
    if artifact.date is None or artifact.kind is ArtifactKind.DECISION:
        return False
    if artifact.kind not in _DATED and not _is_a_date(artifact, artifact.date.words):
        return False
    missed = MISSED_DAYS if artifact.kind in TO_DO else 0
    return today - artifact.date.end >= timedelta(days=missed)  # so, since nothing can be added to the last of years


def _is_a_date(artifact: Artifact, words: str) -> bool:
    """Tell whether a date is all that a statement says of its subject."""
    if artifact.kind not in _MAY_BE_A_DATE or not artifact.value or artifact.slot is None:
        return False
    if any(word in artifact.slot.attribute for word in _EVERY_YEAR):
        return False
    before, _, _ = artifact.value.partition(words)
    return before != artifact.value and _ONLY_WHEN.fullmatch(before) is not None


def _deadline(artifact: Artifact, today: datetime) -> list[Score]:
    if artifact.date is None or artifact.kind not in _DATED:
        return []
    left = (artifact.date.end - today) // timedelta(days=1) - 1  # the end is the day after
    if left < 0:
        late = artifact.kind is not ArtifactKind.EVENT and left >= -MISSED_DAYS
        return [_score("deadline", DEADLINES[0][1], f"was due {-left} days ago")] if late else []
    bonus = next((bonus for days, bonus in DEADLINES if left <= days), 0.0)
    return [_score("deadline", bonus, f"{artifact.date.words}: {left} days left")] if bonus else []


def _named(artifact: Artifact) -> str:
    kind = artifact.kind.value.replace("_", " ")
    return f"{kind} ({artifact.category.value})" if artifact.category in WEIGHTY else kind


def _score(stage: str, score: float, why: str) -> Score:
    return Score(stage=stage, score=round(score, 4), why=why)
