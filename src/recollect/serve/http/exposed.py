"""Which operations the service has, where, and what each needs: read from the table, so that nothing drifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_origin, get_type_hints

from recollect.core.keys import Permission
from recollect.memory import Memory
from recollect.operations import OPERATIONS, Operation, Parameter
from recollect.operations.programs import FOR_PROGRAMS

LaneName = Literal["asking", "writing", "large", "slow"]

PREFIX = "/v1/"
LISTED_BY_DEFAULT = 100  # entries of a page
MOST_LISTED = 1_000
# The methods that give a page by a cursor of the store; other lists are cut here.
_PAGES = {"events": "page_of_events", "artifacts": "page_of_artifacts"}
CURSOR = Parameter(name="cursor", kind="text", help="the `next` of the page before")
LIMIT = Parameter(
    name="limit",
    kind="integer",
    help=f"entries of a page (default: {LISTED_BY_DEFAULT}, at most {MOST_LISTED:,})",
    default=LISTED_BY_DEFAULT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """An operation as the service has it."""

    operation: Operation
    parameters: tuple[Parameter, ...]
    needs: Permission
    lane: LaneName
    returns: Any  # the type that the method gives
    listed: bool  # its result is a list, given in pages
    page_method: str | None

    @property
    def path(self) -> str:
        """Tell where it is."""
        return PREFIX + self.operation.name

    @property
    def methods(self) -> tuple[str, ...]:
        """Tell how it is asked for: what only reads, also by a link."""
        return ("GET", "POST") if self.operation.read_only else ("POST",)

    @property
    def whole_file(self) -> bool:
        """Tell whether it is about every space at once."""
        return self.operation.scope == "file"


@cache
def exposed() -> tuple[Exposed, ...]:
    """List what takes and gives JSON; files go their own way (transfer.py)."""
    return tuple(
        _exposed(operation)
        for operation in (*OPERATIONS, *FOR_PROGRAMS)
        if not any(parameter.kind == "path" for parameter in operation.parameters)
    )


def needed_for(operation: Operation) -> Permission:
    """Tell what a key must be allowed: what can't be undone, or is about every space, is for those in charge."""
    if operation.destructive or operation.scope == "file":
        return Permission.ADMIN
    return Permission.READ if operation.read_only else Permission.WRITE


def _exposed(operation: Operation) -> Exposed:
    returns = get_type_hints(getattr(Memory, operation.method))["return"]
    # A handful of jobs or news is no list to page through: `changes` has a position of its own.
    listed = operation.read_only and bool(operation.result) and get_origin(returns) in (list, Iterator, _ITERATOR)
    parameters = operation.parameters
    if listed:
        parameters = (*(one for one in parameters if one.name not in ("limit", "cursor")), LIMIT, CURSOR)
    return Exposed(
        operation=operation,
        parameters=parameters,
        needs=needed_for(operation),
        lane=lane_of(operation),
        returns=returns,
        listed=listed,
        page_method=_PAGES.get(operation.name) if listed else None,
    )


def lane_of(operation: Operation) -> LaneName:
    """Tell which threads an operation runs on."""
    if operation.destructive or operation.scope == "file" or operation.progress:
        return "slow"
    return "asking" if operation.read_only else "writing"


_ITERATOR = get_origin(Iterator[int])
