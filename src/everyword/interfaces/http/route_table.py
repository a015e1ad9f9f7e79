"""The operations that the service exposes: path, parameters, required permission and thread pool of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_origin, get_type_hints

from everyword.interfaces.operations import API_OPERATIONS, OPERATIONS, Operation, Parameter
from everyword.interfaces.operations.parameters import INTEGER, PATH, TEXT
from everyword.memory import method_named
from everyword.types.api_keys import Permission

PoolName = Literal["asking", "writing", "large", "slow"]

PREFIX = "/v1/"
LISTED_BY_DEFAULT = 100  # entries per page
MOST_LISTED = 1_000
# Operations whose method returns pages with the store's own cursor; routes.py pages other lists.
_PAGE_METHODS = {"events": "admin.page_of_events", "statements": "admin.page_of_statements"}
SPACE = Parameter("space", TEXT, "the space (default: the key's only one, or `default`)")
WING = Parameter("wing", TEXT, "limit to this wing of the space")
CURSOR = Parameter("cursor", TEXT, "the `next` of the page before")
LIMIT = Parameter(
    "limit",
    INTEGER,
    f"entries per page (default: {LISTED_BY_DEFAULT}, at most {MOST_LISTED:,})",
    default=LISTED_BY_DEFAULT,
)
_LIST_TYPES = (list, get_origin(Iterator[int]))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRoute:
    """An operation as the service exposes it."""

    operation: Operation
    parameters: tuple[Parameter, ...]
    needs: Permission
    pool: PoolName
    returns: Any  # the return type of the method
    listed: bool  # the result is a list, sent in pages
    page_method: str | None

    @property
    def path(self) -> str:
        """The URL path."""
        return PREFIX + self.operation.name

    @property
    def methods(self) -> tuple[str, ...]:
        """The HTTP methods: operations that only read also accept GET."""
        return ("GET", "POST") if self.operation.read_only else ("POST",)

    @property
    def all_spaces(self) -> bool:
        """Whether the operation concerns every space at once."""
        return self.operation.scope == "file"


@cache
def operation_routes() -> tuple[OperationRoute, ...]:
    """List the operations that take and return JSON; transfer.py has those that take or return files."""
    return tuple(
        _operation_route(operation)
        for operation in (*OPERATIONS, *API_OPERATIONS)
        if not any(parameter.kind is PATH for parameter in operation.parameters)
    )


def scope_parameters(route: OperationRoute) -> tuple[Parameter, ...]:
    """Return the parameters that choose space and wing; they are in the query for every method."""
    return {"wing": (SPACE, WING), "space": (SPACE,), "file": ()}[route.operation.scope]


def required_permission(operation: Operation) -> Permission:
    """Return what a key must allow: ADMIN for what can't be undone or concerns every space."""
    if operation.destructive or operation.scope == "file":
        return Permission.ADMIN
    return Permission.READ if operation.read_only else Permission.WRITE


def pool_of(operation: Operation) -> PoolName:
    """Choose the thread pool that an operation runs in."""
    if operation.destructive or operation.scope == "file" or operation.progress:
        return "slow"
    return "asking" if operation.read_only else "writing"


def _operation_route(operation: Operation) -> OperationRoute:
    returns = get_type_hints(method_named(operation.method))["return"]
    # Results of other types are not paged: `changes`, for example, has a position of its own.
    listed = operation.read_only and bool(operation.result) and get_origin(returns) in _LIST_TYPES
    parameters = operation.parameters
    if listed:
        parameters = (*(one for one in parameters if one.name not in ("limit", "cursor")), LIMIT, CURSOR)
    return OperationRoute(
        operation=operation,
        parameters=parameters,
        needs=required_permission(operation),
        pool=pool_of(operation),
        returns=returns,
        listed=listed,
        page_method=_PAGE_METHODS.get(operation.name) if listed else None,
    )
