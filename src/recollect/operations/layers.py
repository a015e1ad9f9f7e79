"""Operations that tell what matters before anybody asks."""

from __future__ import annotations

from recollect.operations.table import BY, NOW, REDACT, WING, Operation, Parameter

WAKE_UP = Operation(
    name="wake_up",
    summary="tell what an agent should know before the first word: who it is, and what matters now",
    details="Each line is cited. While nothing happens, the same lines are told.",
    method="wake_up",
    parameters=(
        Parameter(name="budget", kind="integer", help="how many tokens at most (default: 200)", default=200),
        WING,
        Parameter(name="topic", kind="text", help="also what is known about this person or thing"),
        NOW,
    ),
    read_only=True,
)

IDENTITY = Operation(
    name="identity",
    summary="show who the agent is, or set it; every wake_up begins with it",
    method="identity",
    parameters=(
        Parameter(name="text", kind="text", help="who it is, in about 50 tokens; left out: show it", positional=True),
        WING,
        BY,
        REDACT,
    ),
    creates=True,
    maybe=True,
    result="identity",
)
