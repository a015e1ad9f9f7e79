"""Operations on the temporal graph: who and what, and what is true of them when."""

from __future__ import annotations

from recollect.operations.table import Operation, Parameter

_LIMIT = Parameter(name="limit", kind="integer", help="how many at most (default: all)")

ENTITIES = Operation(
    name="entities",
    summary="list people, organisations, projects, places and things, the most spoken of first",
    method="entities",
    parameters=(
        Parameter(name="type", kind="text", help="person, organisation, project, place, thing or topic"),
        Parameter(name="prefix", kind="text", help="how one of its names begins", positional=True),
        _LIMIT,
    ),
    read_only=True,
    result="entities",
)

ENTITY = Operation(
    name="entity",
    summary="show whom or what a name means: its names, its type, when it was spoken of",
    method="entity",
    parameters=(
        Parameter(name="name", kind="text", help="any of its names, or its id", required=True, positional=True),
    ),
    read_only=True,
)

FACTS = Operation(
    name="facts",
    summary="list what is true of somebody or something, with its time and the words that it rests on",
    method="facts",
    parameters=(
        Parameter(name="subject", kind="text", help="of this one alone; any of its names", positional=True),
        Parameter(name="relation", kind="text", help="such as lives_in, works_at, married_to or likes"),
        Parameter(name="as_of", kind="time", help="what was true at this time"),
        Parameter(name="known_at", kind="time", help="as the memory knew it at this time"),
        _LIMIT,
    ),
    read_only=True,
    result="facts",
)

TIMELINE = Operation(
    name="timeline",
    summary="tell what was true of somebody or something, and what happened to it, in the order of time",
    method="timeline",
    parameters=(
        Parameter(name="entity", kind="text", help="any of its names", required=True, positional=True),
        Parameter(name="since", kind="time", help="what held or happened at this time or later"),
        Parameter(name="until", kind="time", help="what held or happened before this time"),
        _LIMIT,
    ),
    read_only=True,
    result="timeline",
)

CONFLICTS = Operation(
    name="conflicts",
    summary="list facts that contradict one another, with no later word to decide",
    method="conflicts",
    read_only=True,
    result="conflicts",
)

MERGE = Operation(
    name="merge",
    summary="say that two names are one person or thing",
    details="Nothing that was said changes, and `undo` takes it back.",
    method="merge",
    parameters=(
        Parameter(name="gone", kind="text", help="one of them", required=True, positional=True),
        Parameter(name="into", kind="text", help="the one whose name both go by then", required=True, positional=True),
    ),
)

SPLIT = Operation(
    name="split",
    summary="say that some names of one are somebody else's",
    details="Nothing that was said changes, and `undo` takes it back.",
    method="split",
    parameters=(
        Parameter(name="entity", kind="text", help="the one that is two", required=True, positional=True),
        Parameter(
            name="names",
            kind="texts",
            help="a name that is the other's; may be given more than once",
            required=True,
            options=("--name",),
        ),
    ),
)

EDITS = Operation(
    name="edits",
    summary="list merges and splits by hand, with the numbers that `undo` takes",
    method="edits",
    read_only=True,
    result="edits",
)

UNDO = Operation(
    name="undo",
    summary="take a merge or split back",
    method="undo",
    parameters=(
        Parameter(
            name="number", kind="integer", help="its number, as `edits` lists it", required=True, positional=True
        ),
    ),
)
