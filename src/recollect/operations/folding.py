"""Operations on the concept graph."""

from __future__ import annotations

from recollect.operations.table import AS_OF, BY, Operation, Parameter

CONCEPTS = Operation(
    name="concepts",
    summary="list what keeps coming up: concepts that three events or more come to",
    method="concepts",
    parameters=(
        Parameter(name="about", kind="text", help="with this word in their label, keys or names alone"),
        AS_OF,
        Parameter(name="limit", kind="integer", help="how many at most"),
    ),
    read_only=True,
    result="concepts",
)

CONCEPT = Operation(
    name="concept",
    summary="show one concept with the events it rests on, its edges and its story",
    method="concept",
    parameters=(Parameter(name="id", kind="text", help="a concept's id", required=True, positional=True), AS_OF),
    read_only=True,
)

FOLD = Operation(
    name="fold",
    summary="fold events that wait into concepts, or tell what that would change",
    details="Events are folded as they are written; some wait after an import, or where folding is off.",
    method="fold",
    parameters=(Parameter(name="dry_run", kind="flag", help="change nothing", default=False),),
    scope="space",
)

JOURNAL = Operation(
    name="journal",
    summary="tell what changed in the concept graph, why, and from which events",
    method="journal",
    parameters=(
        Parameter(name="about", kind="text", help="the id of a concept or an event, for all of its story"),
        Parameter(name="limit", kind="integer", help="how many at most (default: 50)", default=50),
    ),
    read_only=True,
    result="entries",
)

UNFOLD = Operation(
    name="unfold",
    summary="take a change of the concept graph back; it is not made again",
    method="unfold",
    parameters=(
        Parameter(name="id", kind="text", help="an entry of the journal", required=True, positional=True),
        BY,
    ),
)
