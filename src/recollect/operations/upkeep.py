"""Operations that look after a memory."""

from __future__ import annotations

from recollect.operations.table import Operation, Parameter

STATS = Operation(
    name="stats",
    summary="count what a space holds and what the file weighs",
    method="stats",
    parameters=(
        Parameter(
            name="parts", kind="flag", help="also what each part of the file takes (reads all of it)", default=False
        ),
    ),
    scope="space",
    read_only=True,
)

VERIFY = Operation(
    name="verify",
    summary="check the file, and every index against the log",
    method="verify",
    parameters=(
        Parameter(
            name="deep",
            kind="flag",
            help="also derive everything anew beside the file and compare (as long as rebuild)",
            default=False,
        ),
    ),
    scope="file",
    read_only=True,
    progress=True,
)

REBUILD = Operation(
    name="rebuild",
    summary="make every index anew from the log",
    details="The old indexes serve until the new ones are complete.",
    method="rebuild",
    parameters=(
        Parameter(
            name="vectors", kind="flag", help="leave the vectors as they are", default=True, options=("--words-only",)
        ),
    ),
    scope="file",
    progress=True,
    result="rebuilt",
)

SETTLE = Operation(
    name="settle",
    summary="do all work that waits, such as vectors that a failing model owed",
    method="settle",
    parameters=(
        Parameter(
            name="scrub",
            kind="flag",
            help="on a server, also rewrite its tables after something was forgotten, which locks them meanwhile",
            default=False,
        ),
    ),
    scope="file",
    progress=True,
    result="done",
)

BACKUP = Operation(
    name="backup",
    summary="copy the whole file, consistently, while others write",
    method="backup",
    parameters=(
        Parameter(name="path", kind="path", help="a new file; never overwritten", required=True, positional=True),
    ),
    scope="file",
    read_only=True,
    result="written",
)
