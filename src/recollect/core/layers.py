"""What an agent is told before the first word: the layers L0 to L2, each line with its source and its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from recollect.core.values import Citation, Context, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the agent is, or whom it serves, in the words that were set; every agent is told them first."""

    text: str
    event_id: str
    set_at: datetime
    wing: str | None = None  # for this project alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One line of a wake-up: which layer it is of, where it comes from, and why it was chosen."""

    layer: int  # 0: identity, 1: what matters now, 2: the topic that was named
    kind: str
    text: str
    citation: Citation
    priority: float
    reasons: tuple[Score, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUp(Context):
    """A context that answers no question: identity, and the few things that matter now."""

    lines: tuple[Told, ...] = ()
    considered: int = 0  # how many things the lines were chosen from
