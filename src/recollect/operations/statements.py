"""Operations on what events state: artifacts."""

from __future__ import annotations

from recollect.operations.table import AS_OF, BY, Operation, Parameter

_ARTIFACT = Parameter(name="id", kind="text", help="an artifact's id", required=True, positional=True)

ARTIFACTS = Operation(
    name="artifacts",
    summary="list decisions, todos, preferences, facts ..., each with the words that it rests on",
    method="artifacts",
    parameters=(
        Parameter(name="kind", kind="text", help="decision, todo, reminder, key_fact, insight, preference, event ..."),
        Parameter(name="about", kind="text", help="about this person or thing alone"),
        Parameter(
            name="status",
            kind="text",
            help="current, superseded, retracted or any (default: current)",
            default="current",
        ),
        Parameter(name="tag", kind="text", help="with this tag, as topic:work_career"),
        AS_OF,
        Parameter(name="limit", kind="integer", help="how many at most"),
    ),
    read_only=True,
    result="artifacts",
)

HISTORY = Operation(
    name="history",
    summary="tell how a statement changed, with its quotes and the reasons",
    method="history",
    parameters=(_ARTIFACT,),
    read_only=True,
)

CORRECT = Operation(
    name="correct",
    summary="put a statement right in your own words, and its facts; the old version stays in its history",
    method="correct",
    parameters=(
        _ARTIFACT,
        Parameter(name="text", kind="text", help="what is so", required=True, positional=True),
        BY,
    ),
)

RETRACT = Operation(
    name="retract",
    summary="take a statement back, and end its facts; it stays in its history",
    method="retract",
    parameters=(
        _ARTIFACT,
        Parameter(
            name="reason",
            kind="text",
            help="ended: it was so and is no longer; never_true: it never was, also not in the past (default: ended)",
            default="ended",
        ),
        Parameter(name="at", kind="time", help="for ended: since when it is no longer so (default: now)"),
        BY,
    ),
)

RECORDS = Operation(
    name="records",
    summary="list edits: identities, corrections, retractions, answers to intents, changes taken back",
    method="records",
    parameters=(
        Parameter(name="kind", kind="text", help="identity, correction, retraction, feedback or unfold"),
        Parameter(name="limit", kind="integer", help="how many at most"),
    ),
    read_only=True,
    result="records",
)
