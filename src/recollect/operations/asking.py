"""Operations that answer questions."""

from __future__ import annotations

from recollect.operations.table import ASKING, COUNT_HELP, QUERY, Operation, Parameter

RECALL = Operation(
    name="recall",
    summary="find the events that answer a question, best first",
    method="recall",
    parameters=(
        QUERY,
        Parameter(name="k", kind="count", help=f"{COUNT_HELP} (default: 10)", default=10, options=("-k",)),
        *ASKING,
    ),
    read_only=True,
)

CONTEXT = Operation(
    name="context",
    summary="write a prompt-ready, cited context for a question",
    method="context",
    parameters=(
        QUERY,
        Parameter(name="budget", kind="integer", help="how many tokens at most (default: 1200)", default=1200),
        Parameter(
            name="style",
            kind="text",
            help="plain, or reasoning: with an instruction that fits the question (default: plain)",
            default="plain",
        ),
        Parameter(
            name="lead",
            kind="text",
            help="events, or artifacts: begin with the statements that hold now (default: events)",
            default="events",
        ),
        *ASKING,
    ),
    read_only=True,
)

ASK = Operation(
    name="ask",
    summary="answer a question with a citation, or say that the memory holds no answer",
    method="ask",
    parameters=(
        QUERY,
        Parameter(
            name="budget", kind="integer", help="tokens of context that an LLM is given (default: 1200)", default=1200
        ),
        *ASKING,
    ),
    read_only=True,
)
