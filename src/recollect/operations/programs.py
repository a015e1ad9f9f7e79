"""Operations for programs: the service and its client have them, the command line and agents do not.

The command line has better ways: `import` for many events, `history` for one statement, `doctor` for what waits.
"""

from __future__ import annotations

from recollect.operations.asking import RECALL
from recollect.operations.table import REDACT, Operation, Parameter

ADD_MANY = Operation(
    name="add_many",
    summary="remember a batch of events in one transaction: all of it or nothing",
    method="add_many",
    parameters=(
        Parameter(name="events", kind="objects", help="events, each with the parameters of `add`", required=True),
        REDACT,
    ),
    creates=True,
    result="written",
)

ACTIVITY = Operation(
    name="activity",
    summary="count events over time, in equal parts, and list who spoke and which wings there are",
    method="activity",
    parameters=(
        Parameter(name="speaker", kind="text", help="said by this speaker alone"),
        Parameter(name="session", kind="text", help="of this session alone"),
        Parameter(name="since", kind="time", help="happened at this time or later"),
        Parameter(name="until", kind="time", help="happened before this time"),
        Parameter(name="parts", kind="integer", help="how many (default: 120)", default=120),
    ),
    read_only=True,
)

ARTIFACT = Operation(
    name="artifact",
    summary="read one statement by its id",
    method="artifact",
    parameters=(Parameter(name="id", kind="text", help="an artifact's id", required=True),),
    read_only=True,
)

CHANGES = Operation(
    name="changes",
    summary="read what happened behind a position: events, statements, concepts, intents, jobs, what was forgotten",
    method="changes",
    parameters=(
        Parameter(name="after", kind="text", help='the position of the answer before; "now" for the newest position'),
        Parameter(name="limit", kind="integer", help="how many of each kind at most (default: 100)", default=100),
    ),
    read_only=True,
)

HELD = Operation(
    name="held",
    summary="list the facts that were true in a span of time, those that were so for the longest part of it first",
    method="held",
    parameters=(
        Parameter(name="since", kind="time", help="when the span begins", required=True),
        Parameter(name="until", kind="time", help="when it ends", required=True),
        Parameter(name="subject", kind="text", help="of this one alone; any of its names"),
        Parameter(name="limit", kind="integer", help="how many at most (default: 100)", default=100),
    ),
    read_only=True,
    result="facts",
)

INTENT = Operation(
    name="intent",
    summary="read one intent by its id, whatever became of it",
    method="intent",
    parameters=(
        Parameter(name="id", kind="text", help="an intent's id", required=True),
        Parameter(name="now", kind="time", help="the asker's clock (default: this machine's)"),
    ),
    read_only=True,
)

JOBS = Operation(
    name="jobs",
    summary="list the work that waits, oldest first",
    method="jobs",
    parameters=(Parameter(name="limit", kind="integer", help="how many at most (default: 100)", default=100),),
    read_only=True,
    result="jobs",
)

MAP = Operation(
    name="map",
    summary="draw concepts, entities and intents, the strongest of each, and what joins them",
    method="map",
    parameters=(Parameter(name="limit", kind="integer", help="how many nodes at most (default: 150)", default=150),),
    read_only=True,
)

GLANCE = Operation(
    name="glance",
    summary="find events by their words alone, in a moment, while `recall` still compares what is meant",
    method="glance",
    parameters=RECALL.parameters,
    read_only=True,
)

FOR_PROGRAMS = (ACTIVITY, ADD_MANY, ARTIFACT, CHANGES, GLANCE, HELD, INTENT, JOBS, MAP)
