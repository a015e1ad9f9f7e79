"""Operations on what a memory says unasked: intents, beliefs, the window, the palace."""

from __future__ import annotations

from recollect.operations.table import AS_OF, BY, NOW, Operation, Parameter

INTENTS = Operation(
    name="intents",
    summary="list goals that the evidence points to and that are not met, each with its quotes",
    method="intents",
    parameters=(
        Parameter(
            name="status",
            kind="text",
            help="resolved, rejected, deferred, expired or any (default: pending and scheduled)",
        ),
        Parameter(name="category", kind="text", help="task, promise, wish, question or reminder"),
        Parameter(name="limit", kind="integer", help="how many at most (default: 5)", default=5),
        NOW,
        AS_OF,
    ),
    read_only=True,
    result="intents",
)

ANSWER_INTENT = Operation(
    name="answer_intent",
    summary="say what is to become of an intent: accept, modify, defer, reject or done",
    details="The answer is kept in the log, and moves how readily intents of its category are shown. What was rejected "
    "is never shown again.",
    method="answer_intent",
    parameters=(
        Parameter(name="id", kind="text", help="an intent's id", required=True, positional=True),
        Parameter(
            name="answer",
            kind="text",
            help="accept, modify, defer, reject or done",
            required=True,
            positional=True,
        ),
        Parameter(name="text", kind="text", help="for modify: the intent in your own words"),
        Parameter(name="until", kind="time", help="for defer: not before this time (default: in a week)"),
        BY,
    ),
)

BELIEFS = Operation(
    name="beliefs",
    summary="tell where things are and how they stand, as each person believes, with the words that it rests on",
    details="Whoever was there when a thing changed knows; whoever had left believes what was so before, until told.",
    method="beliefs",
    parameters=(
        Parameter(
            name="holder", kind="text", help="who believes it (default: everybody, and how it is)", positional=True
        ),
        Parameter(name="thing", kind="text", help="about this thing alone", positional=True),
        Parameter(name="of", kind="text", help="what the holder thinks that this person thinks"),
        AS_OF,
    ),
    read_only=True,
    result="beliefs",
)

WINDOW = Operation(
    name="window",
    summary="show what matters now, without a question: events, concepts and intents in three tiers",
    method="window",
    parameters=(
        Parameter(name="budget", kind="integer", help="how many tokens at most (default: 2000)", default=2000),
        NOW,
        AS_OF,
    ),
    read_only=True,
)

PALACE = Operation(
    name="palace",
    summary="lay the memory out as a place: wing, room (concept), hall (kind), closet (summary), drawer (event)",
    method="palace",
    parameters=(
        Parameter(name="rooms", kind="integer", help="rooms of a wing at most (default: 20)", default=20),
        Parameter(name="drawers", kind="integer", help="events of a room at most (default: 10)", default=10),
        AS_OF,
    ),
    read_only=True,
)
